"""Gripper commands on a robot's own finger joints."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from kin4d.bodies.articulated import ArticulatedBody
from kin4d.bodies.joint import Joint
from kin4d.errors import InputError
from kin4d.kinematics.chain import link_or_default


def gripper_coordinates(
    body: ArticulatedBody, opening: np.ndarray, *, link: str | None, unit: str
) -> tuple[list[int], Tensor]:
    """Which coordinates are the gripper's, and their values [T, g] for an opening [T].

    The gripper's joints are those of links that stand on the arm's last moving link. The limit at
    which the fingers are further apart is the open one.

    Args:
        body: The robot.
        opening: [T] in `unit`.
        link: The arm's last link; by default the robot's end effector.
        unit: "fraction" (0 closed to 1 open, between each joint's limits) or "metres" between
            sliding fingers, counted from closed and shared evenly.
    """
    fingers = finger_joints(body, link)
    columns, closed, opened = _ends(body, fingers)
    if not columns:
        raise InputError(
            f"actions command a gripper, but '{body.name}' has no gripper joints "
            "with limits on its last link",
            hint="use a robot with a gripper, or actions without one",
        )
    amount = torch.from_numpy(opening)[:, None]
    if unit == "fraction":
        return columns, closed + amount * (opened - closed)
    if any(joint.kind != "prismatic" for joint in fingers):
        raise InputError(
            f"the gripper of '{body.name}' has revolute joints, so its opening is not in metres",
            allowed="gripper_unit='fraction'",
        )
    travel = torch.minimum(amount / len(fingers), (opened - closed).abs())
    return columns, closed + travel * (opened - closed).sign()


def gripper_opening(
    body: ArticulatedBody, q: np.ndarray, *, link: str | None = None
) -> np.ndarray | None:
    """[T] opening of the gripper at coordinates q [T, k], 0 closed to 1; None without a gripper.

    The inverse of `gripper_coordinates`; of several fingers, the mean.
    """
    columns, closed, opened = _ends(body, finger_joints(body, link))
    if not columns:
        return None
    return ((torch.from_numpy(q)[:, columns] - closed) / (opened - closed)).mean(1).numpy()


def finger_joints(body: ArticulatedBody, link: str | None) -> list[Joint]:
    """The joints of links that stand on the last moving link above `link`, mimics included."""
    path = body.joints_above(link_or_default(body, link))
    moving = [i for i in path if body.joints[i].kind != "fixed"]
    return [
        joint
        for i, joint in enumerate(body.joints)
        if joint.kind != "fixed"
        and i not in path
        and set(moving[-1:]) <= set(body.joints_above(joint.child))
    ]


def _ends(body: ArticulatedBody, fingers: list[Joint]) -> tuple[list[int], Tensor, Tensor]:
    """The gripper's coordinates and their values closed and open; none if one has no limits."""
    columns = [body.coordinates.index(joint.name) for joint in fingers if joint.mimic is None]
    limits = body.limits[columns]
    if not columns or not torch.isfinite(limits).all():
        return [], limits[:, 0], limits[:, 1]
    upwards = torch.tensor([_opens_upwards(body, fingers, column) for column in columns])
    closed = torch.where(upwards, limits[:, 0], limits[:, 1])
    return columns, closed, torch.where(upwards, limits[:, 1], limits[:, 0])


def _opens_upwards(body: ArticulatedBody, fingers: list[Joint], column: int) -> bool:
    """Whether the fingers are further apart at a coordinate's upper limit than at its lower."""
    links = [body.link_index(joint.child) for joint in fingers]
    centres = torch.zeros(len(links), 4, dtype=torch.float64)
    centres[:, 3] = 1
    for row, i in zip(centres, links, strict=True):
        mesh = body.links[i].mesh
        if mesh is not None:
            row[:3] = torch.from_numpy(mesh.vertices.mean(0))
    ends = body.q0.repeat(2, 1)
    ends[:, column] = body.limits[column]
    with torch.no_grad():
        points = (body.link_poses(ends)[:, links] @ centres[:, :, None])[:, :, :3, 0]
    spread = (points - points.mean(1, keepdim=True)).norm(dim=-1).sum(1)
    return bool(spread[1] >= spread[0])
