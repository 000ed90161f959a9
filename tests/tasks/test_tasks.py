"""Tasks: the same seed gives the same scene, experts do what is asked, faults make them fail."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("mujoco")

from kin4d.errors import InputError
from kin4d.kinematics.arms import ARMS, load_arm
from kin4d.tasks.perturbations import FAR, HALVINGS, SIGMAS, near_miss, noisy_expert, shifted_expert
from kin4d.tasks.simulate import simulate_task
from kin4d.tasks.task import TASKS, named_task


@pytest.mark.parametrize("name", TASKS)
def test_expert_succeeds(name: str) -> None:
    scene = TASKS[name].build(7)
    assert not scene.success(scene.reset())
    rollout = simulate_task(scene, TASKS[name].expert(scene))
    assert rollout.success
    assert rollout.q.shape == (49, len(scene.arm.body.coordinates))
    assert np.isfinite(rollout.poses).all()


def test_there_are_enough_tasks_and_arms() -> None:
    assert len(TASKS) >= 8
    assert len(ARMS) >= 3


def test_same_seed_same_scene_and_outcome() -> None:
    rollouts = []
    for _ in range(2):
        scene = TASKS["stack"].build(3)
        rollouts.append(simulate_task(scene, TASKS["stack"].expert(scene)))
    assert np.array_equal(rollouts[0].q, rollouts[1].q)
    assert np.array_equal(rollouts[0].poses, rollouts[1].poses)
    other = TASKS["stack"].build(4)
    assert not np.array_equal(other.start, TASKS["stack"].build(3).start)


def test_recorded_joints_are_where_mujoco_has_the_links() -> None:
    scene = TASKS["lift"].build(1)
    rollout = simulate_task(scene, TASKS["lift"].expert(scene))
    grasp = scene.arm.grasp_pose(rollout.q)
    index = scene.model.body(f"arm/{scene.arm.body.end_effector}").id
    assert np.abs(grasp - rollout.poses[:, index]).max() < 1e-6


def test_grasp_holds_by_friction_alone() -> None:
    scene = TASKS["lift"].build(2)
    assert not any(kind == 1 for kind in scene.model.eq_type)  # no weld
    rollout = simulate_task(scene, TASKS["lift"].expert(scene))
    body = scene.model.body("object").id
    hand = scene.arm.grasp_pose(rollout.q)[:, :3, 3]
    held = rollout.poses[-8:, body, :3, 3] - hand[-8:]
    assert np.ptp(held, axis=0).max() < 5e-3


def scene_gripper(scene) -> list[float]:
    return np.asarray(scene.spec.trajectory.actions().gripper).tolist()


def test_noise_leaves_the_gripper_alone_and_breaks_the_task() -> None:
    task = TASKS["lift"]
    scenes = [task.build(seed) for seed in range(4)]
    done = {}
    for sigma in (SIGMAS[0], SIGMAS[-1]):
        runs = []
        for seed, scene in enumerate(scenes):
            actions = noisy_expert(task.expert(scene), sigma, np.random.default_rng(seed))
            assert np.asarray(actions.gripper).tolist() == scene_gripper(scene)
            runs.append(simulate_task(scene, actions, frames=2).success)
        done[sigma] = sum(runs)
    assert done[SIGMAS[0]] >= 3
    assert done[SIGMAS[-1]] == 0


def test_near_miss_offsets_are_close() -> None:
    task = TASKS["lift"]
    scene = task.build(5)
    actions = task.expert(scene)
    found = near_miss(scene, actions, np.random.default_rng(0))
    assert found is not None
    assert np.linalg.norm(found.hit - found.miss) == pytest.approx(FAR / 2**HALVINGS)
    assert simulate_task(scene, shifted_expert(actions, found.hit)).success
    assert not simulate_task(scene, shifted_expert(actions, found.miss)).success


def test_arm_boxes_cover_hand_and_fingers() -> None:
    arm = load_arm("kin4d_arm")
    assert 0.07 < arm.width < 0.09
    assert 0.005 < arm.tip < 0.03
    assert len(arm.touch) == 3
    assert len(arm.body.rest.faces) < 6000


def test_unknown_names_are_answered_with_the_known() -> None:
    with pytest.raises(InputError, match="open_drawer"):
        named_task("juggle")
    with pytest.raises(InputError, match="kin4d_arm"):
        load_arm("crane")
