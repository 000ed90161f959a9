"""A seven-joint arm with a two-finger gripper, small enough to read."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from kin4d.bodies.articulated_base import Link
from kin4d.bodies.joint import Joint, Mimic
from kin4d.bodies.robot.robot_body import RobotBody
from kin4d.geometry.primitives import box

# Axis, step from the joint before (m) and limits (rad).
_ARM = [
    ("z", (0, 0, 0.3), (-2.9, 2.9)),
    ("y", (0, 0, 0.1), (-1.8, 1.8)),
    ("z", (0, 0, 0.3), (-2.9, 2.9)),
    ("y", (0.05, 0, 0.05), (-3.0, -0.1)),
    ("z", (-0.05, 0, 0.35), (-2.9, 2.9)),
    ("y", (0, 0, 0.05), (-0.1, 3.7)),
    ("z", (0.08, 0, 0.1), (-2.9, 2.9)),
]
_AXES = {"y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


def _shift(x: float, y: float, z: float) -> np.ndarray:
    matrix = np.eye(4)
    matrix[:3, 3] = x, y, z
    return matrix


@pytest.fixture(scope="session")
def arm() -> RobotBody:
    links = [Link("base", box((0.1, 0.1, 0.1)))]
    joints = []
    for i, (axis, step, limits) in enumerate(_ARM):
        links.append(Link(f"link{i + 1}", box((0.05, 0.05, 0.1))))
        joints.append(
            Joint(
                name=f"joint{i + 1}",
                kind="revolute",
                parent=links[-2].name,
                child=links[-1].name,
                origin=_shift(*step),
                axis=np.array(_AXES[axis]),
                limits=limits,
            )
        )
    links += [Link("tool"), *(Link(side, box((0.01, 0.01, 0.04))) for side in ("left", "right"))]
    joints.append(
        Joint(name="mount", kind="fixed", parent="link7", child="tool", origin=_shift(0, 0, 0.15))
    )
    for side, sign, mimic in (("left", 1.0, None), ("right", -1.0, Mimic.linear("left"))):
        joints.append(
            Joint(
                name=side,
                kind="prismatic",
                parent="link7",
                child=side,
                origin=_shift(0, 0, 0.1),
                axis=np.array([0.0, sign, 0.0]),
                limits=(0.0, 0.04),
                mimic=mimic,
            )
        )
    root = _shift(0.2, -0.1, 0.5)
    root[:2, :2] = [[0, -1], [1, 0]]
    rest = {"joint2": 0.4, "joint4": -1.8, "joint6": 2.2}
    return RobotBody(links, joints, q0=rest, root=root, name="arm", end_effector="tool")


@pytest.fixture(scope="session")
def wave(arm: RobotBody) -> torch.Tensor:
    """[49, k] a smooth motion well within the limits, the gripper held."""
    time = torch.linspace(0, 1, 49, dtype=torch.float64)[:, None]
    size = torch.tensor([0.6, 0.3, 0.4, 0.4, 0.5, 0.4, 0.6, 0.0], dtype=torch.float64)
    phase = torch.arange(8, dtype=torch.float64)
    return arm.q0 + size * ((2 * torch.pi * time + phase).sin() - phase.sin())
