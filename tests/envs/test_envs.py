"""Environments: same spaces and starts, LeRobot's conventions, seeds, chunks and bad actions."""

import warnings
from dataclasses import replace
from functools import cache, partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from kin4d.dynamics.compiled_actor import DivergedStep
from kin4d.dynamics.simulator import Simulator
from kin4d.envs import ENVS, IMAGINED, MUJOCO, SCENE
from kin4d.envs.env import make_env
from kin4d.envs.imagined_env import ImaginedEnv
from kin4d.envs.mujoco_env import MujocoEnv
from kin4d.envs.scene_env import SceneEnv
from kin4d.errors import InputError
from kin4d.policies.evaluate import run_episode
from kin4d.policies.scripted import ScriptedPolicy
from kin4d.tasks.simulate import simulate_task
from kin4d.tasks.task import named_task
from kin4d.world.model import load_world_model

SEED = 920_000_000


@cache
def world_model() -> Any:
    return load_world_model("tiny")


def make(env: str, **options) -> Any:
    if env == IMAGINED:
        options["weights"] = world_model()
    return gymnasium.make(env, **options).unwrapped


def run_expert(env: Any, *, seed: int = SEED, horizon: int = 8) -> dict:
    policy = ScriptedPolicy(horizon=horizon)
    observation, info = env.reset(seed=seed)
    over = False
    while not over:
        actions = policy(env.policy_observation(observation))
        observation, _, done, cut, info = env.step_chunk(actions)
        over = done or cut
    return info


@pytest.mark.parametrize("env", ENVS)
def test_check_env_is_clean(env: str) -> None:
    made = make(env, render_mode="rgb_array", max_steps=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        check_env(made)
    assert made.render().shape == (64, 96, 3)


@pytest.mark.parametrize("other", [IMAGINED, SCENE])
def test_all_have_the_same_spaces_tasks_and_starts(other: str) -> None:
    truth, env = make(MUJOCO, task="push"), make(other, task="push")
    assert truth.observation_space == env.observation_space
    assert truth.action_space == env.action_space
    (first, _), (same, _) = truth.reset(seed=SEED), env.reset(seed=SEED)
    assert truth.task_description == env.task_description
    assert truth.task_description.startswith("push the ")
    for name in ("depth", "pointmap", "agent_pos", "eef_pose", "camera_pose", "environment_state"):
        np.testing.assert_array_equal(first[name], same[name])
    np.testing.assert_array_equal(first["pixels"]["front"], same["pixels"]["front"])
    assert not np.array_equal(truth.reset(seed=SEED + 1)[0]["depth"], first["depth"])
    assert not hasattr(env, "_data")  # no simulator runs beside it


def test_the_truth_is_the_simulation_of_tasks() -> None:
    env = make(MUJOCO, task="lift")
    info = run_expert(env)
    assert info["is_success"]
    actions = named_task("lift").expert(env.scene)
    assert actions.gripper is not None
    done = slice(0, info["steps"])
    actions = replace(actions, values=actions.values[done], gripper=actions.gripper[done])
    expected = simulate_task(env.scene, actions, frames=2)
    assert expected.success
    np.testing.assert_allclose(env._look()[2], expected.q[-1], atol=1e-9)


def test_an_expert_lifts_in_imagination_too_and_resting_does_not() -> None:
    env = make(IMAGINED, task="lift", max_steps=48)
    assert run_expert(env)["is_success"]
    env.reset(seed=SEED)
    rest = np.tile([0, 0, 0, 0, 0, 0, 1.0], (48, 1))
    *_, done, cut, info = env.step_chunk(rest)
    assert (done, cut, info["steps"], info["clipped_actions"]) == (False, True, 48, 0)


@pytest.mark.parametrize("task", ["lift", "push", "open_drawer", "close_lid"])
def test_experts_do_tasks_in_our_mechanics(task: str) -> None:
    env = make(SCENE, task=task)
    info = run_expert(env)
    assert info["is_success"]
    truth = make(MUJOCO, task=task)
    assert abs(run_expert(truth)["steps"] - info["steps"]) <= 4
    env.reset(seed=SEED)
    env.step_chunk(np.tile([0, 0, 0, 0, 0, 0, 1.0], (20, 1)))
    start, now = (
        env._mechanics.body_poses(s) for s in (env._simulator.initial_state(), env._state)
    )
    assert np.abs(now - start).max() < 1e-3  # left alone, everything stays where it is


def test_mechanics_that_fail_end_the_episode_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    env = make(SCENE, task="reach")

    def diverge(state: Any) -> Any:
        raise DivergedStep("momentum of 'object' is not finite")

    policy = ScriptedPolicy()
    env.reset(seed=SEED)
    monkeypatch.setattr(Simulator, "step", lambda self, state: diverge(state))
    outcome = run_episode(env, policy, seed=SEED, name="expert", world=SCENE)
    assert (outcome.success, outcome.error) == (False, "diverged")
    assert "momentum" in outcome.message


def test_imagination_does_not_depend_on_how_actions_are_cut() -> None:
    expert = named_task("lift").expert(named_task("lift").build(SEED))
    assert expert.gripper is not None
    actions = np.concatenate([expert.values, expert.gripper[:, None]], 1)[:7]
    env, seen = make(IMAGINED, task="lift", window=3), []
    for cuts in ([7], [2, 3, 2]):
        env.reset(seed=SEED)
        for chunk in np.split(actions, np.cumsum(cuts)[:-1]):
            observation, *_ = env.step_chunk(chunk)
        seen.append(observation)
    whole, cut = seen
    np.testing.assert_array_equal(whole["pixels"]["front"], cut["pixels"]["front"])
    np.testing.assert_array_equal(whole["pointmap"], cut["pointmap"])


def test_actions_outside_the_space_are_clipped_and_counted() -> None:
    env = make(MUJOCO, task="lift")
    env.reset(seed=SEED)
    wild = np.tile([0, 0, 1.0, 0, 0, 0, 1.0], (3, 1))
    wild[0, 2] = 0.05
    _, _, _, _, info = env.step_chunk(wild)
    assert info["clipped_actions"] == 2
    *_, info = env.step(np.array([0, 0, 0, 0, 0, 0, 1.5]))
    assert info["clipped_actions"] == 3


def test_joint_velocities_move_the_joints() -> None:
    env = make(MUJOCO, task="lift", control="joint_velocity")
    before, _ = env.reset(seed=SEED)
    action = np.zeros(env.action_space.shape)
    action[0], action[-1] = 1.0, 1.0
    after, *_ = env.step_chunk(np.tile(action, (10, 1)))
    moved = after["agent_pos"] - before["agent_pos"]
    assert moved[0] == pytest.approx(0.5, abs=0.05)
    assert np.abs(moved[1:]).max() < 0.05


@pytest.mark.parametrize(
    "action", [np.full(7, np.nan), np.zeros(6), np.full(7, np.inf), np.zeros((2, 2, 7))]
)
def test_useless_actions_are_errors(action: np.ndarray) -> None:
    env = make(MUJOCO, task="lift")
    with pytest.raises(InputError, match="reset"):
        env.step(np.zeros(7))
    env.reset(seed=SEED)
    with pytest.raises(InputError, match="action"):
        env.step(action)


@pytest.mark.parametrize(
    ("env", "options"),
    [
        (MUJOCO, {"task": "juggle"}),
        (MUJOCO, {"arm": "tentacle"}),
        (MUJOCO, {"control": "thoughts"}),
        (MUJOCO, {"render_mode": "human"}),
        (MUJOCO, {"max_steps": 0}),
        (IMAGINED, {"window": 0}),
        (SCENE, {"width": 0}),
        (IMAGINED, {"height": 128}),
    ],
)
def test_wrong_options(env: str, options: dict) -> None:
    kinds: dict[str, Any] = {MUJOCO: MujocoEnv, SCENE: SceneEnv}
    kind = kinds.get(env, partial(ImaginedEnv, weights=world_model()))
    with pytest.raises(InputError):
        kind(**options)


def test_a_model_that_does_not_say_how_parts_move_is_refused() -> None:
    with pytest.raises(InputError, match="success cannot be read"):
        gymnasium.make(IMAGINED, weights=object())


def test_vectors_are_seeded_and_follow_lerobot() -> None:
    vector: Any = make_env(2, task="press_button", max_steps=2)
    first, _ = vector.reset(seed=[SEED, SEED + 1])
    assert first["pixels"]["front"].shape == (2, 64, 96, 3)
    assert vector.call("_max_episode_steps")[0] == 2
    assert all(text.startswith("press the ") for text in vector.call("task_description"))
    rest = np.zeros(vector.action_space.shape)
    vector.step(rest)
    *_, truncated, info = vector.step(rest)
    assert truncated.all()
    assert info["final_info"]["is_success"].tolist() == [False, False]
    again, _ = vector.reset(seed=[SEED, SEED + 1])
    np.testing.assert_array_equal(first["pointmap"], again["pointmap"])
    vector.close()
    for options in ({"n_envs": 0}, {"env": "kin4d/Dreams-v0"}):
        with pytest.raises(InputError):
            make_env(**options)


@pytest.mark.slow
def test_environments_in_processes() -> None:
    vector: Any = make_env(2, use_async_envs=True, env=IMAGINED, task="reach", max_steps=2)
    vector.reset(seed=[SEED, SEED + 1])
    _, _, _, truncated, _ = vector.step(np.zeros(vector.action_space.shape))
    assert not truncated.any()
    vector.close()
