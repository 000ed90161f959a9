"""Environments behind a server: the same episodes, and what goes wrong on the way."""

import threading
import urllib.request
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from websockets.sync.server import serve

from kin4d.cli import main
from kin4d.envs import MUJOCO, SCENE
from kin4d.envs.chunk_env import WorldError
from kin4d.envs.env import make_env, make_task_env
from kin4d.envs.env_server import EnvServer
from kin4d.envs.remote_env import RemoteEnv
from kin4d.errors import InputError
from kin4d.policies.array_messages import pack_message, unpack_message
from kin4d.policies.evaluate import evaluate_policies, run_episode
from kin4d.policies.policy import PolicyError
from kin4d.policies.scripted import ScriptedPolicy
from kin4d.policies.server import PolicyServer
from kin4d.policies.websocket_policy import WebsocketPolicy

SEED = 920_000_000
REST = np.tile([0, 0, 0, 0, 0, 0, 1.0], (4, 1))


@pytest.fixture(scope="module")
def server() -> Iterator[EnvServer]:
    with EnvServer(MUJOCO, port=0) as running:
        yield running


def test_an_episode_is_the_same_as_without_a_server(server: EnvServer) -> None:
    near, far = make_task_env(MUJOCO, task="push"), RemoteEnv(server.address, task="push")
    assert (far.remote, far.observation_space) == (MUJOCO, near.observation_space)
    found = []
    for env in (near, far):
        observation, info = env.reset(seed=SEED)
        assert info["scene_seed"] == SEED
        first = env.policy_observation(observation)
        observation, reward, done, cut, info = env.step_chunk(2 * REST)
        found.append((first, observation, reward, done, cut, info))
    (first, after, *ends), (remote_first, remote_after, *remote_ends) = found
    assert ends == remote_ends
    assert ends[-1]["clipped_actions"] == 4
    for key, value in first.items():
        np.testing.assert_array_equal(value, remote_first[key])
    np.testing.assert_array_equal(after["pointmap"], remote_after["pointmap"])
    far.close()


def test_check_env_is_clean(server: EnvServer) -> None:
    env = RemoteEnv(server.address, task="reach", max_steps=3, render_mode="rgb_array")
    check_env(env, skip_close_check=True)
    image = env.render()
    assert image is not None
    assert image.shape == (64, 96, 3)
    env.close()


def test_connections_have_environments_of_their_own(server: EnvServer) -> None:
    vector: Any = make_env(2, env=server.address, task="press_button", max_steps=2)
    first, _ = vector.reset(seed=[SEED, SEED + 1])
    assert not np.array_equal(first["depth"][0], first["depth"][1])
    vector.close()


def test_policies_are_judged_over_the_network(server: EnvServer) -> None:
    with EnvServer(SCENE, port=0) as second:
        worlds = [server.address, second.address]
        outcomes = evaluate_policies(
            {"expert": ScriptedPolicy()}, envs=worlds, tasks=["reach"], episodes=1, seed=SEED
        )
    assert [(one.env, one.success, one.error) for one in outcomes] == [
        (server.address, True, ""),
        (second.address, True, ""),
    ]


def test_a_server_that_dies_ends_the_episode_and_is_found_again() -> None:
    with EnvServer(MUJOCO, port=0) as first:
        env = RemoteEnv(first.address, connect_timeout=1.0, task="reach")
        env.reset(seed=SEED)
    with pytest.raises(WorldError) as caught:
        env.step_chunk(REST)
    assert caught.value.reason == "disconnected"
    outcome = run_episode(env, ScriptedPolicy(), seed=SEED, name="expert", world="remote")
    assert (outcome.success, outcome.error) == (False, "disconnected")
    with EnvServer(MUJOCO, port=first.port):
        env.reset(seed=SEED)
        assert env.step_chunk(REST)[-1]["steps"] == 4
        env.close()


def test_requests_that_make_no_sense(server: EnvServer) -> None:
    env = RemoteEnv(server.address, task="reach")
    with pytest.raises(InputError, match="reset"):
        env.step_chunk(REST)
    env.reset(seed=SEED)
    with pytest.raises(PolicyError):
        env.step_chunk(np.full((1, 7), np.nan))
    for message, match in (
        ({"endpoint": "explode"}, "no such endpoint"),
        ({"endpoint": "reset"}, "endpoint make"),
        ({"endpoint": "make", "weights": "x"}, "cannot choose"),
        ({"endpoint": "make", "height": 10**6}, "1 to 1024"),
        ({"endpoint": "make", "task": "juggle"}, "no such task"),
    ):
        if not env._client.is_connected or message["endpoint"] == "reset":
            env._client.close()
            env._client.connect()
        with pytest.raises(WorldError, match=match):
            env._client.ask(message)
    env.close()


@pytest.mark.parametrize(
    "answer", [{}, {"observation": {"depth": np.zeros(3)}}, 5, {"observation": 1, "info": {}}]
)
def test_answers_that_make_no_sense(answer: Any) -> None:
    metadata = {"serves": "environment", "env": MUJOCO, "height": 64, "width": 96}

    def wrong(connection) -> None:
        connection.send(pack_message(metadata))
        for data in connection:
            made = unpack_message(data)["endpoint"] == "make"
            connection.send(pack_message({} if made else answer))

    with serve(wrong, "127.0.0.1", 0) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        env = RemoteEnv(f"ws://127.0.0.1:{running.socket.getsockname()[1]}", task="reach")
        with pytest.raises(WorldError) as caught:
            env.reset(seed=SEED)
        assert caught.value.reason == "shape"
        env.close()


def test_time_out_keys_and_too_many_connections() -> None:
    with EnvServer(MUJOCO, port=0, api_key="secret", max_connections=1) as running:
        with pytest.raises(WorldError, match="refused"):
            RemoteEnv(running.address)
        env = RemoteEnv(running.address, api_key="secret", task="reach")
        with pytest.raises(WorldError, match="503"):
            RemoteEnv(running.address, api_key="secret")
        env._client.timeout = 1e-6
        with pytest.raises(WorldError) as caught:
            env.reset(seed=SEED)
        assert caught.value.reason == "timeout"
        env.close()
        with urllib.request.urlopen(f"http://127.0.0.1:{running.port}/healthz") as answer:
            assert answer.status == 200


def test_a_policy_server_is_not_an_environment_and_the_other_way_round(server: EnvServer) -> None:
    with (
        PolicyServer(lambda observation: REST, port=0) as policies,
        pytest.raises(WorldError, match="does not serve an environment"),
    ):
        RemoteEnv(policies.address)
    with pytest.raises(InputError, match="which observations"):
        WebsocketPolicy(server.address)


def test_two_servers_on_one_port(server: EnvServer, capsys: pytest.CaptureFixture) -> None:
    assert main(["serve-env", "--port", str(server.port)]) == 2
    assert "cannot listen" in capsys.readouterr().err
    assert main(["serve-env", "--env", "kin4d/Dreams-v0"]) == 2
    assert "no such environment" in capsys.readouterr().err
