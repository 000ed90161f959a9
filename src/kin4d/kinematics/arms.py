"""Arm: a robot prepared for tasks: coarse meshes, collision boxes, one grasp frame.

All arms share a frame of the grasp: z points out of the hand, x from finger to finger, the origin
is between the finger pads. The world's origin is the middle of the workspace, on the table; the
robot stands at -x and faces +x.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

import numpy as np
import torch

from kin4d.bodies.articulated_base import Link
from kin4d.bodies.joint import Joint
from kin4d.bodies.robot.attach import attach
from kin4d.bodies.robot.registry import load_robot
from kin4d.bodies.robot.robot_body import RobotBody
from kin4d.errors import InputError
from kin4d.geometry.decimate import decimate
from kin4d.kinematics.grippers import finger_joints
from kin4d.kinematics.ik import solve_ik

GRASP = "grasp"
_SLABS = 5
_FEW_FACES, _LINK_CELL, _HAND_CELL = 150, 0.014, 0.006


@dataclass(frozen=True, kw_only=True)
class _ArmSpec:
    """How an arm is put together.

    Attributes:
        robot: Its name for `load_robot`.
        distance: Metres from its base to the middle of the workspace.
        posture: Preferred coordinates of the arm's joints.
        flange: Link to mount the shipped gripper on, for an arm that comes without one.
        grasp_angle: Angle (rad) about z from the end effector's frame to the grasp frame.
    """

    robot: str
    distance: float
    posture: tuple[float, ...]
    flange: str | None = None
    grasp_angle: float = 0.0


_SPECS = {
    "kin4d_arm": _ArmSpec(
        robot="kin4d_arm", distance=0.34, posture=(0, -0.1, 1.7, 0, 1.5, 0), grasp_angle=np.pi
    ),
    "panda": _ArmSpec(
        robot="panda",
        distance=0.48,
        posture=(0, -0.2, 0, -2.4, 0, 2.2, 0.785),
        grasp_angle=np.pi / 2,
    ),
    "xarm7": _ArmSpec(
        robot="xarm7", distance=0.42, posture=(0, 0, 0, 1.2, 0, 1.2, 0), flange="link_eef"
    ),
    "ur5": _ArmSpec(
        robot="ur5", distance=0.50, posture=(0, -1.6, 2.0, -2.0, -1.57, 0), flange="tool0"
    ),
}
ARMS = tuple(_SPECS)
"""Names of the arms tasks can be done with; all but the first need the extra [robots]."""


@dataclass(frozen=True, eq=False, kw_only=True)
class WorkspaceBox:
    """A box fixed to a link: `centre` [3] and half `size` [3], m, in axes `rotation` [3, 3]."""

    centre: np.ndarray
    size: np.ndarray
    rotation: np.ndarray


@dataclass(frozen=True, eq=False, kw_only=True)
class Arm:
    """A robot prepared for tasks.

    Attributes:
        name: One of `ARMS`.
        body: The robot, standing where it works; its end effector is the grasp frame.
        posture: [k] preferred coordinates.
        columns: Coordinates that move the hand.
        fingers: Names of the finger joints.
        grip: Coordinate of the gripper.
        closed: Value of the gripper's coordinate when closed (m).
        opened: The same when open.
        width: Metres between the pads when open.
        tip: Metres from the grasp frame's origin to the fingers' ends.
        touch: Collision boxes of the links that touch objects: hand and fingers.
    """

    name: str
    body: RobotBody
    posture: np.ndarray
    columns: tuple[int, ...]
    fingers: tuple[str, ...]
    grip: int
    closed: float
    opened: float
    width: float
    tip: float
    touch: dict[str, tuple[WorkspaceBox, ...]]

    def coordinates(self, target: np.ndarray, opening: float = 1.0) -> np.ndarray:
        """[k] coordinates near the posture that put the grasp frame at `target` [4, 4]."""
        found = solve_ik(self.body, target, posture=self.posture, q_start=self.posture)
        q = found.q.numpy().copy()
        q[self.grip] = self.closed + opening * (self.opened - self.closed)
        return q

    def opening(self, q: np.ndarray) -> float:
        """Of the gripper at q [k]: 0 closed to 1 open."""
        return float((q[self.grip] - self.closed) / (self.opened - self.closed))

    def grasp_pose(self, q: np.ndarray) -> np.ndarray:
        """[..., 4, 4] world pose of the grasp frame at q [..., k]."""
        with torch.no_grad():
            poses = self.body.link_poses(torch.as_tensor(q, dtype=torch.float64))
        return poses[..., self.body.end_effector_index, :, :].numpy()


@cache
def load_arm(name: str) -> Arm:
    """An arm by name; loaded and coarsened once per process."""
    if name not in _SPECS:
        raise InputError("there is no arm of this name", value=name, allowed=", ".join(ARMS))
    spec = _SPECS[name]
    whole = load_robot(spec.robot)
    if spec.flange is not None:
        whole = attach(whole, _shipped_gripper(), link=spec.flange)
    joints = finger_joints(whole, None)
    leader = next(joint for joint in joints if joint.mimic is None)
    hand = leader.parent
    frame = np.eye(4)
    frame[:2, :2] = [
        [np.cos(spec.grasp_angle), -np.sin(spec.grasp_angle)],
        [np.sin(spec.grasp_angle), np.cos(spec.grasp_angle)],
    ]
    grasp = Joint(name=GRASP, kind="fixed", parent=whole.end_effector, child=GRASP, origin=frame)
    moving = {joint.child for joint in joints}
    links = [_coarse(link, fine=link.name == hand or link.name in moving) for link in whole.links]
    root = np.eye(4)
    root[0, 3] = -spec.distance
    body = RobotBody(
        [*links, Link(GRASP)],
        [*whole.joints, grasp],
        q0=dict(zip(whole.coordinates, whole.q0.tolist(), strict=True)),
        root=root,
        name=name,
        end_effector=GRASP,
    )
    grip = body.coordinates.index(leader.name)
    columns = tuple(i for i in range(len(body.coordinates)) if i != grip)
    posture = body.q0.numpy().copy()
    posture[list(columns)] = spec.posture
    low, high = body.limits[grip].tolist()
    posture[grip] = high
    touch = {link: _slabs(body, link, posture) for link in (hand, *sorted(moving))}
    tip, width = _reach(body, posture, sorted(moving))
    return Arm(
        name=name,
        body=body,
        posture=posture,
        columns=columns,
        fingers=tuple(joint.name for joint in joints),
        grip=grip,
        closed=low,
        opened=high,
        width=width,
        tip=tip,
        touch=touch,
    )


def _shipped_gripper() -> RobotBody:
    """The shipped arm's gripper as a robot of its own, standing on its flange."""
    arm = load_robot("kin4d_arm")
    kept = {"gripper", "finger_left", "finger_right", "tcp"}
    return RobotBody(
        [link for link in arm.links if link.name in kept],
        [joint for joint in arm.joints if joint.parent == "gripper"],
        q0={"grip": float(arm.limits[-1, 1])},
        name="gripper",
        end_effector="tcp",
    )


def _coarse(link: Link, *, fine: bool) -> Link:
    if link.mesh is None or len(link.mesh.faces) < _FEW_FACES:
        return link
    return replace(link, mesh=decimate(link.mesh, _HAND_CELL if fine else _LINK_CELL))


def _in_grasp(body: RobotBody, link: str, q: np.ndarray) -> np.ndarray:
    """[4, 4] from a link's frame to the grasp frame."""
    with torch.no_grad():
        poses = body.link_poses(torch.from_numpy(q)).numpy()
    return np.linalg.inv(poses[body.end_effector_index]) @ poses[body.link_index(link)]


def _slabs(body: RobotBody, link: str, q: np.ndarray) -> tuple[WorkspaceBox, ...]:
    """Boxes around a link's mesh, cut into slabs along the grasp's approach."""
    mesh = body.links[body.link_index(link)].mesh
    if mesh is None:
        return ()
    to_grasp = _in_grasp(body, link, q)
    points = mesh.vertices @ to_grasp[:3, :3].T + to_grasp[:3, 3]
    corners = points[mesh.faces]
    low, high = corners[:, :, 2].min(1), corners[:, :, 2].max(1)
    edges = np.linspace(points[:, 2].min(), points[:, 2].max(), _SLABS + 1)
    boxes = []
    for start, end in pairwise(edges):
        crossing = corners[(low < end - 1e-9) & (high > start + 1e-9)].reshape(-1, 3)
        if len(crossing) == 0:
            continue
        near, far = crossing.min(0), crossing.max(0)
        near[2], far[2] = start, end
        back = to_grasp[:3, :3].T
        boxes.append(
            WorkspaceBox(
                centre=back @ ((near + far) / 2 - to_grasp[:3, 3]),
                size=np.maximum((far - near) / 2, 1e-3),
                rotation=back,
            )
        )
    return tuple(boxes)


def _reach(body: RobotBody, q: np.ndarray, fingers: list[str]) -> tuple[float, float]:
    """How far the fingers reach past the grasp frame, and how far apart they are at q, m."""
    ends, inner = [], []
    for link in fingers:
        mesh = body.links[body.link_index(link)].mesh
        assert mesh is not None
        to_grasp = _in_grasp(body, link, q)
        points = mesh.vertices @ to_grasp[:3, :3].T + to_grasp[:3, 3]
        ends.append(points[:, 2].max())
        inner.append(np.abs(points[points[:, 2] > -0.02, 0]).min())
    return float(max(ends)), float(sum(inner))
