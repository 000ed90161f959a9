"""Grippers on arms."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from kin4d.bodies import Joint, Link, Mimic, RobotBody, remove_link
from kin4d.bodies.robot.attach import attach as mount
from kin4d.errors import InputError
from kin4d.geometry.primitives import box


@pytest.fixture
def gripper() -> RobotBody:
    """Two fingers; one has a name that the arm uses too."""
    size = box((0.01, 0.01, 0.05))
    options = {"kind": "prismatic", "parent": "palm", "limits": (0.0, 0.05)}
    return RobotBody(
        [Link("palm", size), Link("left", size), Link("gripper", size), Link("tcp")],
        [
            Joint(name="grip", child="left", axis=np.array([0, 1.0, 0]), **options),
            Joint(
                name="other",
                child="gripper",
                axis=np.array([0, -1.0, 0]),
                mimic=Mimic.linear("grip"),
                **options,
            ),
            Joint(name="tool", kind="fixed", parent="palm", child="tcp"),
        ],
        q0={"grip": 0.02},
        name="claw",
    )


def test_pruned_arm_lost_its_hand(kin4d_arm) -> None:
    arm = remove_link(kin4d_arm, "gripper")
    assert arm.coordinates == kin4d_arm.coordinates[:-2]
    assert arm.end_effector == "hand"
    assert {link.name for link in arm.links} == {link.name for link in kin4d_arm.links} - {
        *("gripper", "finger_left", "finger_right", "tcp")
    }
    with pytest.raises(InputError, match="nothing would be left"):
        remove_link(kin4d_arm, "base")
    with pytest.raises(InputError, match="no link 'x'"):
        remove_link(kin4d_arm, "x")


def test_mounted_gripper_moves_with_the_arm(kin4d_arm, gripper) -> None:
    arm = remove_link(kin4d_arm, "finger_right")
    pose = np.eye(4)
    pose[:3, 3] = 0.1, 0.2, 0.3
    robot = mount(arm, gripper, link="hand", pose=pose)
    assert robot.coordinates == (*arm.coordinates, "claw/grip")
    assert robot.end_effector == "claw/tcp"
    assert robot.q0[-1].item() == pytest.approx(0.02)
    q = robot.q0 + 0.1
    q[-1] = 0.01
    poses = robot.link_poses(q)
    flange = arm.link_poses(q[:-1])[arm.link_index("hand")]
    inside = gripper.link_poses(q[-1:])
    for name, own in (("claw/gripper", "gripper"), ("left", "left")):
        expected = flange @ torch.from_numpy(pose) @ inside[gripper.link_index(own)]
        assert torch.allclose(poses[robot.link_index(name)], expected, atol=1e-12)
    assert len(robot.rest.faces) == len(arm.rest.faces) + len(gripper.rest.faces)


def test_mounting_on_nothing_is_refused(kin4d_arm, gripper) -> None:
    with pytest.raises(InputError, match="no link 'elbow'"):
        mount(kin4d_arm, gripper, link="elbow")
