"""Registration: a robot that was told off its place is put back; one that fits is left alone."""

from dataclasses import replace

import numpy as np
import pytest

from kin4d.errors import InputError
from kin4d.world.alignment import align_robot, fill_holes, rigidify_tracks
from kin4d.world.observation import with_robot_offset

pytest.importorskip("mujoco")


@pytest.fixture(scope="module")
def situation():
    from kin4d.tasks.record import EpisodeSpec, make_episode
    from kin4d.world.object_world.batches import episode_observation

    return episode_observation(make_episode(EpisodeSpec(task="reach", seed=3), frames=5))


def _off(situation, *, right=0.0, down=0.0, degrees=0.0):
    """The situation with its robot told that far from its place in the picture."""
    intrinsics = situation.camera.K
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    middle = np.array([[1, 0, intrinsics[0, 2]], [0, 1, intrinsics[1, 2]], [0, 0, 1]])
    roll = middle @ np.array([[c, -s, right], [s, c, down], [0, 0, 1]]) @ np.linalg.inv(middle)
    return with_robot_offset(situation, np.linalg.inv(intrinsics) @ roll @ intrinsics)


@pytest.mark.parametrize("spoilt", [{"right": 5}, {"down": -4}, {"degrees": 5}, {"right": -3.3}])
def test_a_robot_told_off_its_place_is_put_back(situation, spoilt):
    told = _off(situation, **spoilt)
    before = np.abs(told.track - situation.track).mean()
    after = np.abs(align_robot(told).track - situation.track).mean()
    assert after < 0.25 * before
    assert (align_robot(told).robot.mask == situation.robot.mask).mean() > 0.98


def test_a_robot_that_fits_is_left_alone(situation):
    assert align_robot(situation) is situation
    dice = np.random.default_rng(0)
    noisy = situation.robot.xyz + dice.normal(0, 0.005, situation.robot.xyz.shape)
    noisy = replace(situation, robot=replace(situation.robot, xyz=noisy.astype(np.float32)))
    assert align_robot(noisy) is noisy


def test_a_robot_in_a_corner_of_the_picture_is_put_back(situation):
    """Most of it leaves the picture where it is told to be, or enters it on the way back."""
    seen = np.argwhere(situation.robot.mask[0] > 0)
    down = 6 if seen[:, 0].mean() < situation.camera.height / 2 else -6
    for told in (_off(situation, down=down), _off(situation, down=-down, right=3, degrees=-4)):
        after = np.linalg.norm(align_robot(told).track - situation.track, axis=-1)
        assert after.mean() < 0.003


def test_noise_of_tracked_points_is_taken_back(situation):
    dice = np.random.default_rng(0)
    off = dice.normal(0, 0.005, situation.track.shape).astype(np.float32)
    noisy = replace(situation, track=situation.track + off)
    after = np.linalg.norm(rigidify_tracks(noisy).track - situation.track, axis=-1).mean()
    # Of the shape of each link, seen in five frames, some noise is left.
    assert after < 0.5 * np.linalg.norm(off, axis=-1).mean()
    assert rigidify_tracks(situation) is situation
    unknown = replace(noisy, link=None)
    assert rigidify_tracks(unknown) is unknown


def test_without_geometry_or_model_nothing_can_be_told(situation):
    blind = replace(_off(situation, right=5), xyz=np.full_like(situation.xyz, np.nan))
    assert align_robot(blind) is blind
    nameless = replace(_off(situation, right=5), actor=None)
    assert align_robot(nameless) is nameless
    with pytest.raises(InputError, match="model"):
        with_robot_offset(nameless, np.eye(3))


def test_single_pixels_that_are_missing_are_filled(situation):
    robot = situation.robot
    gone = (np.random.default_rng(0).random(robot.mask.shape) < 0.05) & (robot.mask > 0)
    spoilt = replace(
        robot,
        rgb=np.where(gone[..., None], 0, robot.rgb).astype(np.uint8),
        xyz=np.where(gone[..., None], np.nan, robot.xyz).astype(np.float32),
        mask=np.where(gone, 0, robot.mask).astype(np.uint8),
    )
    found = fill_holes(replace(situation, robot=spoilt)).robot
    back = gone & (found.mask > 0)
    assert back.sum() > 0.6 * gone.sum()  # those at the robot's edge are not
    assert np.median(np.abs(found.xyz[back] - robot.xyz[back])) < 0.005
    kept = (robot.mask > 0) & ~gone
    np.testing.assert_array_equal(found.rgb[kept], robot.rgb[kept])
    whole = fill_holes(situation).robot.mask
    assert (whole != robot.mask).mean() < 1e-3
