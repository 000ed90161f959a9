"""ImaginedState: the state of a task, read from the geometry that a world model imagines.

The task itself says what its bodies are: where they are at the start, and which pixels of the first
frame show them. From then on, only imagined geometry is read. A body moves as the part of the world
model's output that lies where the body was seen; nothing is known that the output does not show.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial import KDTree

from kin4d.tasks.task_scene import TaskScene
from kin4d.world.object_world.model import PartMotion

_NEAR = 0.015  # m from a body's points within which pixels of its part are
_LEAST = 4  # pixels that must show a body


@dataclass(frozen=True, eq=False)
class TrackedBody:
    """A body of the task.

    Attributes:
        points: [N, 3] m, camera frame: its surface, as far as the first frame shows it.
        pose: [4, 4] in the world.
    """

    points: np.ndarray
    pose: np.ndarray

    def moved(self, motion: np.ndarray, camera_pose: np.ndarray) -> TrackedBody:
        """The same after a motion [4, 4] in the camera frame."""
        world = camera_pose @ motion @ np.linalg.inv(camera_pose)
        points = self.points @ motion[:3, :3].T + motion[:3, 3]
        return replace(self, points=points, pose=world @ self.pose)


class BodyTracker:
    """Follows bodies by the parts of a world model that lie where they were seen.

    Args:
        bodies: Where they are in the first frame.
        xyz: [H, W, 3] m: geometry of that frame.
        camera_pose: [4, 4] of the camera in the world.
    """

    def __init__(
        self, bodies: Mapping[str, TrackedBody], xyz: np.ndarray, camera_pose: np.ndarray
    ) -> None:
        self._bodies, self._xyz, self._camera_pose = bodies, xyz, camera_pose
        self._part_of: dict[str, int | None] | None = None

    def follow(self, parts: PartMotion) -> list[dict[str, TrackedBody]]:
        """The bodies in each frame of a motion since the first frame."""
        if self._part_of is None:
            shown = (parts.part >= 0) & np.isfinite(self._xyz).all(-1)
            tree = KDTree(self._xyz[shown]) if shown.any() else None
            self._part_of = {
                name: None if tree is None else _part_of(body, tree, parts.part[shown])
                for name, body in self._bodies.items()
            }
        still, part_of = np.eye(4), self._part_of
        return [
            {
                name: body.moved(
                    still if part_of[name] is None else motions[part_of[name]], self._camera_pose
                )
                for name, body in self._bodies.items()
            }
            for motions in parts.motions
        ]


def _part_of(body: TrackedBody, tree: KDTree, part_of_point: np.ndarray) -> int | None:
    """The part that lies where a body is seen; None if there is none."""
    if len(body.points) < _LEAST:
        return None
    distance, nearest = tree.query(body.points, distance_upper_bound=_NEAR)
    found = part_of_point[np.asarray(nearest)[np.isfinite(distance)]]
    # A part that touches only an edge of the body is another one.
    if len(found) < max(_LEAST, len(body.points) // 10):
        return None
    counts = np.bincount(found)
    return int(counts.argmax())


class ImaginedState:
    """What success tests ask (see `TaskState`), of imagined geometry.

    Args:
        scene: The task; only its definition is used.
        first: The bodies at the start.
        bodies: The bodies now.
        q: [k] coordinates of the arm now: its motion is exact.
    """

    def __init__(
        self,
        scene: TaskScene,
        first: Mapping[str, TrackedBody],
        bodies: Mapping[str, TrackedBody],
        q: np.ndarray,
    ) -> None:
        self._scene, self._first, self._bodies, self._q = scene, first, bodies, q

    def pose(self, name: str) -> np.ndarray:
        """[4, 4] world pose of a body."""
        return self._bodies[name].pose

    def position(self, name: str) -> np.ndarray:
        """[3] m: where a body's frame is."""
        return self.pose(name)[:3, 3]

    def joint(self, name: str) -> float:
        """Value of a fixture's joint, rad or m: how its part has moved along or about the axis."""
        before, now = (
            np.linalg.inv(bodies[f"{name}/base"].pose) @ bodies[f"{name}/part"].pose
            for bodies in (self._first, self._bodies)
        )
        motion = np.linalg.inv(before) @ now
        joint, model = self._scene.model.joint(name), self._scene.model
        axis = model.jnt_axis[joint.id]
        if model.jnt_type[joint.id] == _HINGE:
            value = _rotation_about(motion[:3, :3], axis)
        else:
            value = float(motion[:3, 3] @ axis)
        return self._scene.values[name] + value

    @property
    def grasp(self) -> np.ndarray:
        """[3] m: where the grasp frame's origin is."""
        return self._scene.arm.grasp_pose(self._q)[:3, 3]

    @property
    def opening(self) -> float:
        """Commanded opening of the gripper: 0 closed to 1 open."""
        return self._scene.arm.opening(self._q)


_HINGE = 3  # mjtJoint.mjJNT_HINGE


def _rotation_about(rotation: np.ndarray, axis: np.ndarray) -> float:
    """rad from -pi to pi: the share of a rotation [3, 3] that is about a unit axis [3]."""
    from scipy.spatial.transform import Rotation

    *vector, scalar = Rotation.from_matrix(rotation).as_quat()
    angle = 2 * np.arctan2(float(np.dot(vector, axis)), scalar)
    return float((angle + np.pi) % (2 * np.pi) - np.pi)
