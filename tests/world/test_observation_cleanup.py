"""Alignment: a misplaced robot is moved back; one that fits is left alone."""

from dataclasses import replace

import numpy as np
import pytest

from kin4d.errors import InputError
from kin4d.world.observation import with_robot_offset
from kin4d.world.observation_cleanup import align_robot, fill_holes, rigidify_tracks

pytest.importorskip("mujoco")


@pytest.fixture(scope="module")
def observation():
    from kin4d.tasks.record import EpisodeSpec, make_episode
    from kin4d.world.episode_observation import episode_observation

    return episode_observation(make_episode(EpisodeSpec(task="reach", seed=3), frames=5))


def _misaligned(observation, *, right=0.0, down=0.0, degrees=0.0):
    """The observation with its robot shifted and rolled in the image."""
    intrinsics = observation.camera.K
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    middle = np.array([[1, 0, intrinsics[0, 2]], [0, 1, intrinsics[1, 2]], [0, 0, 1]])
    roll = middle @ np.array([[c, -s, right], [s, c, down], [0, 0, 1]]) @ np.linalg.inv(middle)
    return with_robot_offset(observation, np.linalg.inv(intrinsics) @ roll @ intrinsics)


@pytest.mark.parametrize("error", [{"right": 5}, {"down": -4}, {"degrees": 5}, {"right": -3.3}])
def test_a_misplaced_robot_is_moved_back(observation, error):
    shifted = _misaligned(observation, **error)
    before = np.abs(shifted.robot_points - observation.robot_points).mean()
    after = np.abs(align_robot(shifted).robot_points - observation.robot_points).mean()
    assert after < 0.25 * before
    assert (align_robot(shifted).robot.mask == observation.robot.mask).mean() > 0.98


def test_a_robot_that_fits_is_left_alone(observation):
    assert align_robot(observation) is observation
    rng = np.random.default_rng(0)
    noisy = observation.robot.xyz + rng.normal(0, 0.005, observation.robot.xyz.shape)
    noisy = replace(observation, robot=replace(observation.robot, xyz=noisy.astype(np.float32)))
    assert align_robot(noisy) is noisy


def test_a_robot_at_the_image_border_is_moved_back(observation):
    """Most of it leaves the image when shifted, or enters it when moved back."""
    seen = np.argwhere(observation.robot.mask[0] > 0)
    down = 6 if seen[:, 0].mean() < observation.camera.height / 2 else -6
    for shifted in (
        _misaligned(observation, down=down),
        _misaligned(observation, down=-down, right=3, degrees=-4),
    ):
        after = np.linalg.norm(
            align_robot(shifted).robot_points - observation.robot_points, axis=-1
        )
        assert after.mean() < 0.003


def test_noise_of_tracked_points_is_reduced(observation):
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 0.005, observation.robot_points.shape).astype(np.float32)
    noisy = replace(observation, robot_points=observation.robot_points + noise)
    after = np.linalg.norm(
        rigidify_tracks(noisy).robot_points - observation.robot_points, axis=-1
    ).mean()
    # Each link's shape is estimated from five frames only, so some noise remains.
    assert after < 0.5 * np.linalg.norm(noise, axis=-1).mean()
    assert rigidify_tracks(observation) is observation
    unknown = replace(noisy, link=None)
    assert rigidify_tracks(unknown) is unknown


def test_without_depth_or_model_nothing_is_changed(observation):
    without_depth = replace(
        _misaligned(observation, right=5), xyz=np.full_like(observation.xyz, np.nan)
    )
    assert align_robot(without_depth) is without_depth
    without_model = replace(_misaligned(observation, right=5), actor=None)
    assert align_robot(without_model) is without_model
    with pytest.raises(InputError, match="cannot be moved"):
        with_robot_offset(without_model, np.eye(3))


def test_single_missing_pixels_are_filled(observation):
    robot = observation.robot
    missing = (np.random.default_rng(0).random(robot.mask.shape) < 0.05) & (robot.mask > 0)
    error = replace(
        robot,
        rgb=np.where(missing[..., None], 0, robot.rgb).astype(np.uint8),
        xyz=np.where(missing[..., None], np.nan, robot.xyz).astype(np.float32),
        mask=np.where(missing, 0, robot.mask).astype(np.uint8),
    )
    found = fill_holes(replace(observation, robot=error)).robot
    filled = missing & (found.mask > 0)
    assert filled.sum() > 0.6 * missing.sum()  # pixels at the robot's edge are not filled
    assert np.median(np.abs(found.xyz[filled] - robot.xyz[filled])) < 0.005
    kept = (robot.mask > 0) & ~missing
    np.testing.assert_array_equal(found.rgb[kept], robot.rgb[kept])
    unchanged = fill_holes(observation).robot.mask
    assert (unchanged != robot.mask).mean() < 1e-3
