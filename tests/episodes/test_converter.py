"""Recordings become episodes in metres, or say what they lack."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from made_episode import CAMERA, made_episode

from kin4d.bodies.robot.registry import load_robot
from kin4d.episodes.converter import RecordingConverter
from kin4d.episodes.recording import CameraStream, Recording
from kin4d.errors import InputError
from kin4d.geometry.camera import Camera
from kin4d.kinematics.actions import Actions


@cache
def arm():
    return load_robot("kin4d_arm")


def recording(*, frames: int = 97, fps: float = 20.0, camera=CAMERA, **changes) -> Recording:
    """What a camera and a logger at twice its rate recorded of `made_episode`."""
    episode = made_episode(frames=frames)
    q = np.linspace(episode.joints[0], episode.joints[-1], 2 * frames - 1)
    names = episode.joint_names
    state = Actions(kind="joint", values=q, fps=2 * fps, names=names)
    motions = {"state_joint": state, "action_joint": state}
    view = CameraStream.of(episode.video.rgb, fps=fps, camera=camera)
    said = {"name": "r1", "motions": motions, "views": {"front": view}, "robot": "kin4d_arm"}
    return Recording(**{**said, "language": "wave", "licence": "MIT", **changes})


def test_mask_and_geometry_of_the_robot_are_exact() -> None:
    episode = RecordingConverter().episode(recording(), arm())
    expected = made_episode(frames=97)
    assert (len(episode), episode.fps) == (49, pytest.approx(10.0))
    np.testing.assert_array_equal(episode.video.rgb, expected.video.rgb[::2])
    np.testing.assert_array_equal(episode.robot_mask, expected.robot_mask[::2])
    there = episode.robot_mask
    np.testing.assert_allclose(episode.video.xyz[there], expected.video.xyz[::2][there], atol=1e-5)
    assert np.isnan(episode.video.xyz[~there]).all()
    np.testing.assert_allclose(episode.joints, expected.joints[::2], atol=1e-9)
    # Commands are in the rows they lead to: one row of the log later.
    np.testing.assert_allclose(episode.actions.values[1:], recording().motions["action_joint"]
                               .values[3::4], atol=1e-9)  # fmt: skip
    assert (episode.language, episode.licence) == ("wave", "MIT")
    assert episode.flags == ("robot geometry only",)
    assert episode.meta["motion_overlap"] > 0.8


def test_a_wrong_camera_is_noticed() -> None:
    wrong = Camera.look_at((0.9, 0.9, 0.7), (0.1, 0.0, 0.2), fov=50, width=48, height=32)
    episode = RecordingConverter(camera=wrong).episode(recording(), arm())
    assert "camera doubtful" in episode.flags
    assert episode.meta["motion_overlap"] < 0.3


def test_networks_add_what_is_asked_of_them() -> None:
    class Depth:
        kind = "metric"

        def __call__(self, rgb):
            return made_episode(frames=97).video.xyz[::2, ..., 2] / 7

    class Masks:
        def __call__(self, rgb, boxes):
            assert np.isfinite(boxes).all()
            return np.ones(rgb.shape[:3], bool)

    chosen = RecordingConverter(depth=Depth(), mask=Masks(), caption=lambda rgb: "an arm")
    episode = chosen.episode(recording(language=""), arm())
    np.testing.assert_allclose(episode.video.xyz, made_episode(frames=97).video.xyz[::2], atol=1e-4)
    assert episode.robot_mask.all()
    assert episode.language == "an arm"
    assert episode.flags == ("mask by network",)


def test_pictures_and_camera_are_resized_together() -> None:
    episode = RecordingConverter(size=(24, 16)).episode(recording(), arm())
    assert episode.video.rgb.shape == (49, 16, 24, 3)
    assert (episode.video.camera.width, episode.video.camera.height) == (24, 16)
    with pytest.raises(InputError, match="another shape"):
        RecordingConverter(camera=CAMERA.resized(32, 32)).episode(recording(), arm())


def test_short_videos_are_stretched_and_say_so() -> None:
    episode = RecordingConverter().episode(recording(frames=20), arm())
    assert len(episode) == 49
    assert "stretched" in episode.flags
    one = CameraStream(
        read=lambda: (np.zeros((1, 32, 48, 3), np.uint8), np.zeros(1)), camera=CAMERA
    )
    with pytest.raises(InputError, match="too few frames"):
        RecordingConverter().episode(recording(views={"front": one}), arm())


def test_a_variable_frame_rate_is_followed_by_time() -> None:
    rgb = made_episode(frames=97).video.rgb
    kept = np.sort(np.random.default_rng(0).permutation(97)[:70])
    kept[[0, -1]] = 0, 96
    view = CameraStream(read=lambda: (rgb[kept], kept / 20), camera=CAMERA)
    episode = RecordingConverter().episode(recording(views={"front": view}), arm())
    # Joints and mask are those of the frames that were taken.
    there = made_episode(frames=97)
    for picture, joints in zip(episode.video.rgb, episode.joints, strict=True):
        frame = int(np.abs(there.joints - joints).sum(1).argmin())
        assert frame in kept
        assert (picture == there.video.rgb[frame]).all()
    gap = CameraStream(read=lambda: (rgb[:80], np.r_[np.arange(79) / 20, 9.0]), camera=CAMERA)
    with pytest.raises(InputError, match="frames are missing between"):
        RecordingConverter().episode(recording(views={"front": gap}), arm())


def test_what_is_missing_is_said() -> None:
    with pytest.raises(InputError, match=r"missing calibration.*kin4d calibrate kin4d_arm"):
        RecordingConverter().episode(recording(camera=None), arm())
    with pytest.raises(InputError, match="does not name its robot"):
        RecordingConverter().load(recording(robot=""))
    with pytest.raises(InputError, match="has no video"):
        RecordingConverter().episode(recording(views={}), arm())
    action = recording().motions["action_joint"]
    with pytest.raises(InputError, match="no measured motion"):
        RecordingConverter().episode(recording(motions={"action_joint": action}), arm())
    short = replace(action, values=action.values[:20])
    with pytest.raises(InputError, match="longer than the motion"):
        RecordingConverter().episode(recording(motions={"state_joint": short}), arm())
    away = replace(CAMERA, pose=CAMERA.pose @ np.diag([-1.0, 1, -1, 1]))
    with pytest.raises(InputError, match="robot out of view"):
        RecordingConverter(camera=away).episode(recording(), arm())
