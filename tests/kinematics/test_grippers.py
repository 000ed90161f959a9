from __future__ import annotations

import numpy as np
import pytest
import torch

from kin4d.bodies import slider_chain
from kin4d.bodies.articulated_base import Link
from kin4d.bodies.joint import Joint
from kin4d.bodies.robot.robot_body import RobotBody
from kin4d.errors import InputError
from kin4d.geometry.primitives import box
from kin4d.kinematics.actions import Actions
from kin4d.kinematics.control import actions_to_q
from kin4d.kinematics.grippers import finger_joints, gripper_coordinates


def claw(*, flip: bool, kind: str = "prismatic") -> RobotBody:
    """A wrist with two fingers of their own; flipped, they open downwards."""
    block = box((0.02, 0.02, 0.02))
    joints = [Joint(name="wrist", kind="revolute", parent="base", child="hand")]
    for side, sign in (("left", 1.0), ("right", -1.0)):
        origin = np.eye(4)
        origin[:3, 3] = 0.1, 0.03 * sign, 0.0
        axis = np.array([0, sign, 0]) if kind == "prismatic" else np.array([0, 0, sign])
        joints.append(
            Joint(
                name=side,
                kind=kind,
                parent="hand",
                child=side,
                origin=origin,
                axis=-axis if flip else axis,
                limits=(-0.02, 0.0) if flip else (0.0, 0.02),
            )
        )
    tip = box((0.02, 0.02, 0.02)).transformed(
        np.array([[1.0, 0, 0, 0.05], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    )
    links = [Link("base", block), Link("hand", block), Link("left", tip), Link("right", tip)]
    return RobotBody(links, joints, end_effector="hand")


@pytest.mark.parametrize("kind", ["prismatic", "revolute"])
@pytest.mark.parametrize("flip", [False, True])
def test_open_is_where_the_fingers_are_apart(flip, kind) -> None:
    body = claw(flip=flip, kind=kind)
    columns, values = gripper_coordinates(
        body, np.array([0.0, 0.5, 1.0]), link=None, unit="fraction"
    )
    assert [body.coordinates[i] for i in columns] == ["left", "right"]
    sign = -1 if flip else 1
    torch.testing.assert_close(
        values, sign * torch.tensor([[0.0, 0.0], [0.01, 0.01], [0.02, 0.02]], dtype=torch.float64)
    )


def test_metres_are_shared_between_the_fingers(arm) -> None:
    _, values = gripper_coordinates(
        claw(flip=False), np.array([0.03, 9.0]), link=None, unit="metres"
    )
    torch.testing.assert_close(values[0], torch.full((2,), 0.015, dtype=torch.float64))
    torch.testing.assert_close(values[1], torch.full((2,), 0.02, dtype=torch.float64))
    # One coordinate, two fingers: the second mimics.
    columns, values = gripper_coordinates(arm, np.array([0.03]), link=None, unit="metres")
    assert columns == [7]
    torch.testing.assert_close(values, torch.full((1, 1), 0.015, dtype=torch.float64))


def test_actions_drive_the_gripper(arm) -> None:
    opening = np.linspace(0, 1, 5)
    actions = Actions(kind="joint", values=np.zeros((5, 7)), fps=15, gripper=opening)
    q, _ = actions_to_q(actions, arm)
    torch.testing.assert_close(q[:, 7], torch.tensor(0.04 * opening))
    assert [joint.name for joint in finger_joints(arm, "tool")] == ["left", "right"]


def test_a_robot_without_gripper_says_so() -> None:
    with pytest.raises(InputError, match="no gripper joints"):
        gripper_coordinates(slider_chain(), np.ones(2), link="tray3", unit="fraction")
    with pytest.raises(InputError, match="revolute joints, so its opening is not in metres"):
        gripper_coordinates(claw(flip=False, kind="revolute"), np.ones(2), link=None, unit="metres")
