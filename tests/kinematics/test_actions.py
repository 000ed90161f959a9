from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from kin4d.errors import InputError
from kin4d.kinematics.actions import Actions, differentiate, integrate

GOOD = {"kind": "joint", "values": np.zeros((5, 7)), "fps": 15.0}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kind": "torque"}, "joint, joint_delta, pose, pose_delta"),
        ({"frame": "camera"}, "base, tool"),
        ({"gripper_unit": "inches"}, "fraction, metres"),
        ({"fps": 0.0}, "fps"),
        ({"fps": "fast"}, "fps"),
        ({"fps": np.ones(5)}, "fps"),
        ({"values": np.zeros((5, 7), complex)}, "complex"),
        ({"names": tuple("abcdefa")}, "the same joint"),
        ({"values": np.zeros(7)}, r"\[T >= 1, n\]"),
        ({"values": np.zeros((0, 7))}, r"\[T >= 1, n\]"),
        ({"values": [["a"]]}, "array of numbers"),
        ({"values": np.where(np.arange(35).reshape(5, 7) == 16, np.nan, 0)}, "row 2, column 2"),
        ({"kind": "pose"}, "x, y, z, rx, ry, rz"),
        ({"kind": "pose", "rotation": "axis"}, "unknown rotation convention"),
        ({"names": ("a", "b")}, "2 joint names for 7 columns"),
        ({"gripper": np.zeros(4)}, "one number per action"),
        ({"gripper": [0, 0, np.inf, 0, 0]}, "row 2"),
        ({"gripper": [0, 0, 0, 1.5, 0]}, "row 3"),
    ],
)
def test_bad_actions_say_what_is_wrong(change, words) -> None:
    with pytest.raises(InputError, match=words):
        Actions(**{**GOOD, **change})


def test_gripper_columns_are_flattened() -> None:
    assert Actions(**GOOD, gripper=np.ones((5, 1))).gripper.shape == (5,)


@pytest.mark.parametrize("frame", ["base", "tool"])
def test_deltas_lead_through_the_poses_they_were_taken_from(frame) -> None:
    rng = np.random.default_rng(0)
    poses = np.tile(np.eye(4), (10, 1, 1))
    poses[:, :3, :3] = Rotation.random(10, rng=rng).as_matrix()
    poses[:, :3, 3] = rng.normal(size=(10, 3))
    deltas = differentiate(poses[1:], poses[0], frame=frame)
    np.testing.assert_allclose(integrate(deltas, poses[0], frame=frame), poses[1:], atol=1e-12)


def test_what_the_frames_mean() -> None:
    start = np.eye(4)
    start[:3, :3] = Rotation.from_euler("z", np.pi / 2).as_matrix()
    start[:3, 3] = 1.0, 2.0, 3.0
    step = np.eye(4)
    step[0, 3] = 0.1
    np.testing.assert_allclose(integrate(step[None], start, frame="base")[0, :3, 3], [1.1, 2, 3])
    np.testing.assert_allclose(integrate(step[None], start, frame="tool")[0, :3, 3], [1, 2.1, 3])
    turn = np.eye(4)
    turn[:3, :3] = Rotation.from_euler("x", 0.3).as_matrix()
    for frame, expected in (("base", turn @ start), ("tool", start @ turn)):
        turned = integrate(turn[None], start, frame=frame)[0]
        np.testing.assert_allclose(turned[:3, :3], expected[:3, :3], atol=1e-12)
        np.testing.assert_allclose(turned[:3, 3], start[:3, 3])  # about the tool's own origin
