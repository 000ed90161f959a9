"""Policies that are trained here: demonstrations, three kinds, weights that load."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from kin4d.cli import main
from kin4d.envs import MUJOCO
from kin4d.envs.env import make_task_env
from kin4d.errors import InputError
from kin4d.policies.evaluate import run_episode
from kin4d.policies.learned.config import KINDS, PolicyConfig
from kin4d.policies.learned.demonstrations import (
    Demonstrations,
    PathFollower,
    task_demonstrations,
)
from kin4d.policies.learned.inputs import body_states, image_points, prompt_words
from kin4d.policies.learned.learned_policy import LearnedPolicy
from kin4d.policies.learned.train import train_policy
from kin4d.policies.load import load_policy
from kin4d.policies.policy import PolicyError
from kin4d.training.checkpoint import load_tensors, save_tensors
from kin4d.training.loop import TrainConfig

SEED = 920_000_000


@cache
def demonstrations() -> Demonstrations:
    return task_demonstrations("reach", 4, images=True)


def config_of(data: Demonstrations, **changes: Any) -> PolicyConfig:
    return PolicyConfig(
        proprioception=data.proprioception.shape[1],
        bodies=data.bodies.shape[1],
        horizon=data.actions.shape[1],
        **{"width": 64, **changes},
    )


def test_a_follower_goes_back_to_its_path_and_along_it() -> None:
    poses = np.tile(np.eye(4), (10, 1, 1))
    poses[:, 0, 3] = 0.01 * np.arange(1, 11)
    follower = PathFollower(poses, np.linspace(1, 0, 10))
    off = np.eye(4)
    off[1, 3] = 0.05
    actions, after = follower.plan(off, 0, 20)
    np.testing.assert_allclose(actions[:, :3].sum(0), [0.1, -0.05, 0], atol=1e-9)
    assert np.linalg.norm(actions[:, :3], axis=1).max() <= 0.03 + 1e-9
    assert (after, actions[0, 6], actions[-1, 6]) == (0, 1.0, 0.0)
    on_path, after = follower.plan(np.eye(4), 0, 10)
    np.testing.assert_allclose(on_path[:, 0], 0.01, atol=1e-9)
    assert after == 1


def test_demonstrations_are_kept_chosen_and_joined(tmp_path: Path) -> None:
    made = demonstrations()
    assert made.demo.max() == 3
    assert len(made.rgb) == len(made.points) == len(made.seen) > 20
    kept = task_demonstrations("reach", 4, images=True, cache=tmp_path)
    again = task_demonstrations("reach", 4, images=False, cache=tmp_path)  # reads the same file
    assert len(list(tmp_path.iterdir())) == 1
    for one in (kept, again):
        np.testing.assert_array_equal(one.actions, made.actions)
    some = made.of_demos([1, 3])
    both = Demonstrations.join([some, made])
    assert len(both) == len(some) + len(made)
    for chosen in (some, both):
        moments = np.random.default_rng(0).integers(len(chosen.seen), size=5)
        for number in moments:
            row = chosen.bodies[chosen.seen[number]]
            match = np.flatnonzero((made.bodies == row).all(1))
            image = np.flatnonzero(made.seen == match[0])[0]
            np.testing.assert_array_equal(chosen.rgb[number], made.rgb[image])


def test_what_policies_read_of_observations() -> None:
    env = make_task_env(MUJOCO, task="reach")
    seen = env.policy_observation(env.reset(seed=SEED)[0])
    state = body_states(seen)
    target = env.scene.reset().body("target").xpos  # type: ignore[attr-defined]
    np.testing.assert_allclose(state[:3], target, atol=1e-6)
    np.testing.assert_allclose(state[45:48], target - seen["observation/eef_pose"][:3], atol=1e-6)
    rgb, points = image_points(seen)
    assert rgb.shape == points.shape == (32, 48, 3)
    on_table = np.abs(points[..., 2].astype(float)) < 2e-3
    assert 0.2 < on_table.mean() < 0.95  # z is up: much of what is seen is the table
    assert prompt_words("Push it").sum() == 2
    np.testing.assert_array_equal(prompt_words("push IT"), prompt_words("it push"))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("observations", ["states", "images"])
def test_every_kind_learns_saves_and_acts(kind: str, observations: str, tmp_path: Path) -> None:
    data = demonstrations()
    config = config_of(data, kind=kind, observations=observations)
    errors = []
    for steps in (1, 40):
        plan = TrainConfig(steps=steps, lr=2e-3, warmup_steps=1, ema_decay=0.0)
        network = train_policy(data, tmp_path, config=config, train_config=plan)
        with torch.no_grad():
            errors.append(_error(network, data, observations))
    assert errors[1] < 0.85 * errors[0]
    policy = load_policy(str(tmp_path))
    assert isinstance(policy, LearnedPolicy)
    env = make_task_env(MUJOCO, task="reach")
    seen = env.policy_observation(env.reset(seed=SEED)[0])
    actions = policy(seen)
    assert actions.shape == (8, 7)
    policy.reset()
    np.testing.assert_array_equal(policy(seen), actions)
    with pytest.raises(PolicyError, match="another robot"):
        policy({**seen, "observation/joint_position": np.zeros(9)})


def _error(network: Any, data: Demonstrations, observations: str) -> float:
    from kin4d.policies.learned.networks import PolicyInputs

    rows = data.seen[:32]
    own, prompt = torch.from_numpy(data.proprioception[rows]), torch.from_numpy(data.prompt[rows])
    if observations == "images":
        pictures = torch.from_numpy(data.rgb[:32]), torch.from_numpy(data.points[:32])
        inputs = PolicyInputs(own, prompt, None, *pictures)
    else:
        inputs = PolicyInputs(own, prompt, torch.from_numpy(data.bodies[rows]))
    generator = torch.Generator().manual_seed(0)
    found = network.act(inputs, generator) - torch.from_numpy(data.actions[rows])
    return float((found[..., :6] / network.high[:6]).abs().mean())


def test_a_cloned_policy_reaches(tmp_path: Path) -> None:
    data = demonstrations().of_demos([0])
    plan = TrainConfig(steps=400, lr=2e-3, ema_decay=0.9)
    train_policy(data, tmp_path, config=config_of(data), train_config=plan)
    env = make_task_env(MUJOCO, task="reach", max_steps=60)
    policy = LearnedPolicy(tmp_path)
    outcome = run_episode(env, policy, seed=700_000_000, name="bc", world=MUJOCO)
    assert (outcome.success, outcome.error) == (True, "")


def test_the_command_trains_and_judges(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    out, cache = tmp_path / "run", tmp_path / "cache"
    words = ["train", "policy", "-o", str(out), "--tasks", "reach", "--demos", "2", "--pool", "3"]
    assert main([*words, "--cache", str(cache), "--steps", "3", "--kind", "act"]) == 0
    assert "million parameters" in capsys.readouterr().out
    words = ["evaluate-policy", "--policy", str(out), "--env", MUJOCO, "--tasks", "reach"]
    assert main([*words, "--episodes", "1", "--max-steps", "16"]) == 0
    assert " of 1" in capsys.readouterr().out
    words = ["train", "policy", "-o", str(out), "--tasks", "reach", "--demos", "9", "--pool", "3"]
    assert main(words) == 2
    assert "at most the pool" in capsys.readouterr().err


def test_wrong_weights_and_configs(tmp_path: Path) -> None:
    data = demonstrations()
    plan = TrainConfig(steps=1)
    train_policy(data, tmp_path, config=config_of(data), train_config=plan)
    file = tmp_path / "weights.safetensors"
    tensors, metadata = load_tensors(file)
    metadata["config"]["kind"] = "telepathy"
    save_tensors(tmp_path / "kind.safetensors", tensors, metadata)
    with pytest.raises(InputError, match="kind of a policy"):
        LearnedPolicy(tmp_path / "kind.safetensors")
    metadata["config"] |= {"kind": "bc", "width": 10**7}
    save_tensors(tmp_path / "wide.safetensors", tensors, metadata)
    with pytest.raises(InputError):
        LearnedPolicy(tmp_path / "wide.safetensors")
    with pytest.raises(InputError, match="carries out"):
        PolicyConfig(executed=20)
    with pytest.raises(InputError, match="no such weights"):
        LearnedPolicy("nowhere")
