"""Near misses, swapped actions and spoiled robots: who is right, and by how much."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from pushed_block import FRAMES, pushed_block

from kin4d.benchmarks.world.causality import Swap, causality, swap, swappable
from kin4d.benchmarks.world.metrics import WorldMetrics
from kin4d.benchmarks.world.near_misses import decisive_pair, grasps, outcomes, pair_numbers
from kin4d.benchmarks.world.regions import copied
from kin4d.benchmarks.world.robustness import (
    DROPPED,
    PERTURBATIONS,
    SHIFT,
    TURN,
    drop_frames,
    jitter_robot,
    rotate_camera,
    shift_robot,
)
from kin4d.kinematics.actions import Actions
from kin4d.world.observation import Observation


@pytest.fixture(scope="module")
def observation() -> Observation:
    return WorldMetrics(pushed_block()).observation


def test_outcomes_are_right_if_predicted_so_and_wrong_if_not() -> None:
    hit, miss = pushed_block(speed=2), pushed_block(speed=0)
    pair = decisive_pair(hit, miss)
    assert pair is not None
    assert pair.part == 0
    assert outcomes(pair, (hit.video, miss.video)) == (True, True)
    assert outcomes(pair, (miss.video, hit.video)) == (False, False)
    # Who always says that nothing moves is right about misses alone.
    still = [copied(WorldMetrics(one).observation) for one in (hit, miss)]
    assert outcomes(pair, still) == (False, True)


def test_pairs_that_end_alike_are_left_out() -> None:
    assert decisive_pair(pushed_block(speed=2), pushed_block(speed=2)) is None


@pytest.mark.parametrize(
    ("gripper", "grasped"),
    [(None, False), ([0.0, 0.0, 0.0], False), ([0.3, 0.3, 0.3], False), ([0.75, 0.0, 0.8], True)],
)
def test_who_closes_the_gripper_on_the_way_grasps(gripper, grasped: bool) -> None:
    episode = pushed_block()
    predicted = None if gripper is None else np.resize(gripper, FRAMES)
    values = np.zeros((FRAMES, 6))
    actions = Actions(kind="pose_delta", values=values, fps=episode.fps, gripper=predicted)
    assert grasps(replace(episode, actions=actions)) == grasped
    assert not grasps(replace(episode, actions=None))


def test_pairs_are_found_by_task_arm_and_seed() -> None:
    kinds = ["near_hit", "near_miss", "near_hit", "expert", "near_miss"]
    seeds = [1, 1, 2, 1, 3]
    lines = [
        {"task": "lift", "robot": "kin4d_arm", "seed": seed, "meta": {"kind": kind}}
        for seed, kind in zip(seeds, kinds, strict=True)
    ]
    assert pair_numbers(lines, range(5)) == [(0, 1)]
    assert pair_numbers(lines, [0, 2]) == []


def test_swapped_actions_must_change_what_happens() -> None:
    change = Swap(pushed_block(speed=2), pushed_block(speed=0))
    way = 2 * (FRAMES - 1)
    right = causality(change, (change.own.video, change.other.video))
    assert right["off"] == pytest.approx(0, abs=1e-3)
    assert right["predicted"] == pytest.approx(way, abs=1e-3)
    assert right["true"] == pytest.approx(way, abs=1e-3)
    assert right["cosine"] > 0.8
    # Deaf to actions: the block goes its usual way.
    deaf = causality(change, (change.own.video, change.own.video))
    assert deaf["predicted"] == 0
    assert deaf["off"] == pytest.approx(way, abs=1e-3)


def test_only_experts_with_things_that_move_are_swapped() -> None:
    expert = {"meta": {"kind": "expert"}, "task": "push"}
    moving, still = pushed_block(**expert), pushed_block(1, speed=0, **expert)
    noisy = pushed_block(2, meta={"kind": "noisy"}, task="push")
    assert swappable([moving, noisy, still]) == [(moving, still)]


@pytest.mark.slow
def test_a_scene_with_its_own_actions_is_the_episode() -> None:
    pytest.importorskip("mujoco")
    from kin4d.tasks.record import EpisodeSpec, make_episode

    push, depth_offset = (
        make_episode(EpisodeSpec(task=task, seed=910_000_001)) for task in ("push", "lift")
    )
    same = swap(push, push).other
    assert np.abs(same.video.rgb.astype(int) - push.video.rgb).max() == 0
    other = swap(push, depth_offset).other
    assert (other.video.rgb[0] == push.video.rgb[0]).all()
    assert (other.video.rgb[-1] != push.video.rgb[-1]).any()


def test_dropout_takes_its_share(observation: Observation) -> None:
    spoiled = drop_frames(observation, np.random.default_rng(0))
    before, after = observation.robot.mask > 0, spoiled.robot.mask > 0
    assert not (after & ~before).any()
    assert 1 - after.sum() / before.sum() == pytest.approx(DROPPED, abs=0.03)
    assert np.isnan(spoiled.robot.xyz[before & ~after]).all()
    assert spoiled.robot_points.shape == observation.robot_points.shape


def test_noise_is_in_points_and_not_in_the_picture(observation: Observation) -> None:
    spoiled = jitter_robot(observation, np.random.default_rng(0))
    assert (spoiled.robot.mask == observation.robot.mask).all()
    assert 0.003 < np.std(spoiled.robot_points - observation.robot_points) < 0.007


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_shift_moves_pixels_and_points_alike(observation: Observation, seed: int) -> None:
    spoiled = shift_robot(observation, np.random.default_rng(seed))
    way = _pixels(spoiled) - _pixels(observation)
    assert np.allclose(way, way[0, 0], atol=1e-2)
    assert np.abs(way[0, 0]).max() == pytest.approx(SHIFT, abs=1e-2)
    right, down = np.rint(way[0, 0]).astype(int)
    moved = np.roll(observation.robot.mask, (down, right), (1, 2))
    inner = np.s_[:, SHIFT:-SHIFT, SHIFT:-SHIFT]
    assert (spoiled.robot.mask[inner] == moved[inner]).all()


def test_rotation_turns_about_the_middle(observation: Observation) -> None:
    spoiled = rotate_camera(observation, np.random.default_rng(0))
    centre = observation.camera.K[:2, 2]
    before, after = _pixels(observation) - centre, _pixels(spoiled) - centre
    assert np.allclose(np.linalg.norm(before, axis=-1), np.linalg.norm(after, axis=-1), atol=1e-2)
    angle = np.degrees(np.arctan2(*after[..., ::-1].T) - np.arctan2(*before[..., ::-1].T))
    assert np.allclose(np.abs((angle + 180) % 360 - 180), TURN, atol=1e-2)


def test_spoilers_keep_what_is_known_of_the_first_frame(observation: Observation) -> None:
    for perturb in PERTURBATIONS.values():
        spoiled = perturb(observation, np.random.default_rng(0))
        assert spoiled.image is observation.image
        assert spoiled.robot.rgb.dtype == np.uint8


def _pixels(observation: Observation) -> np.ndarray:
    return replace(observation.camera, pose=np.eye(4)).project(observation.robot_points)[0]
