"""Path: where an expert takes the hand, as legs between poses, and the actions that follow them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from kin4d.kinematics.actions import Actions, differentiate
from kin4d.kinematics.conventions import poses_to_values

RATE = 20.0
"""Actions per second."""
_TURN = 2.0  # rad/s


def grasp_pose(position: np.ndarray, *, yaw: float = 0.0, tilt: float = 0.0) -> np.ndarray:
    """[4, 4] grasp pose at `position` (m) that looks down, closing along y.

    Args:
        position: [3] where the grasp frame's origin goes.
        yaw: Turn about the world's z, rad.
        tilt: How far the approach is raised from straight down towards the direction of `yaw`
            (+x at 0), rad; pi / 2 is level.
    """
    c, s = np.cos(yaw), np.sin(yaw)
    ct, st = np.cos(tilt), np.sin(tilt)
    rotation = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    # Columns: closing axis y, then upwards-and-forwards, then the approach.
    local = np.array([[0, ct, st], [1, 0, 0], [0, st, -ct]])
    pose = np.eye(4)
    pose[:3, :3] = rotation @ local
    pose[:3, 3] = position
    return pose


def above(point: np.ndarray, by: float) -> np.ndarray:
    """[3] m: `by` metres above a point."""
    return np.add(point, (0.0, 0.0, by))


@dataclass(frozen=True, eq=False)
class Segment:
    """Part of a trajectory: to `pose` [4, 4] in `seconds`, with a gripper `opening` from 0 to 1.

    An `even` leg runs at one speed; others start and stop gently.
    """

    pose: np.ndarray
    opening: float
    seconds: float
    even: bool = False


@dataclass(eq=False)
class Trajectory:
    """A hand's trajectory from a `start` pose [4, 4], with the gripper's `opening` by now."""

    start: np.ndarray
    opening: float = 1.0
    legs: list[Segment] = field(default_factory=list)

    @property
    def end(self) -> np.ndarray:
        """The last pose."""
        return self.legs[-1].pose if self.legs else self.start

    def go(self, pose: np.ndarray, *, speed: float = 0.35) -> Trajectory:
        """Move to a pose at `speed` (m/s), starting and stopping gently."""
        here = self.end
        rotation = here[:3, :3].T @ pose[:3, :3]
        angle = float(np.arccos(np.clip((np.trace(rotation) - 1) / 2, -1, 1)))
        direction = float(np.linalg.norm(pose[:3, 3] - here[:3, 3]))
        seconds = max(1.3 * direction / speed, angle / _TURN, 0.15)
        self.legs.append(Segment(pose, self.opening, seconds))
        return self

    def translate(self, by: Sequence[float] | np.ndarray, *, speed: float = 0.35) -> Trajectory:
        """Move by [3] m without rotation."""
        pose = self.end.copy()
        pose[:3, 3] += by
        return self.go(pose, speed=speed)

    def grip(self, opening: float, *, seconds: float = 0.4) -> Trajectory:
        """Open or close on the spot."""
        self.opening = opening
        return self.wait(seconds)

    def wait(self, seconds: float) -> Trajectory:
        """Stay."""
        self.legs.append(Segment(self.end, self.opening, seconds))
        return self

    def follow(self, poses: list[np.ndarray], *, speed: float = 0.25) -> Trajectory:
        """Go through poses without stopping at each."""
        for pose in poses:
            direction = float(np.linalg.norm(pose[:3, 3] - self.end[:3, 3]))
            self.legs.append(Segment(pose, self.opening, max(direction / speed, 1e-3), even=True))
        return self.wait(0.1)

    def actions(self) -> Actions:
        """Pose deltas in the world's axes at `RATE`, with the gripper's opening."""
        poses, opening = self.sample()
        deltas = differentiate(poses, self.start, frame="base")
        return Actions(
            kind="pose_delta",
            values=poses_to_values(deltas, "rotvec"),
            fps=RATE,
            gripper=opening,
            frame="base",
        )

    def sample(self) -> tuple[np.ndarray, np.ndarray]:
        """Poses [T, 4, 4] and openings [T] at `RATE`."""
        from scipy.spatial.transform import Rotation

        poses, openings, here, spare = [], [], self.start, 0.0
        for leg in self.legs:
            pose, opening = leg.pose, leg.opening
            times = np.arange(spare + 1 / RATE, leg.seconds + 1e-9, 1 / RATE)
            spare = (times[-1] if len(times) else spare) - leg.seconds
            share = times / leg.seconds
            share = share if leg.even else share * share * (3 - 2 * share)
            rotation = Rotation.from_matrix(here[:3, :3].T @ pose[:3, :3]).as_rotvec()
            part = np.tile(np.eye(4), (len(share), 1, 1))
            part[:, :3, :3] = (
                here[:3, :3] @ Rotation.from_rotvec(share[:, None] * rotation).as_matrix()
            )
            part[:, :3, 3] = here[:3, 3] + share[:, None] * (pose[:3, 3] - here[:3, 3])
            poses.append(part)
            openings.append(np.full(len(share), opening))
            here = pose
        return np.concatenate(poses), np.concatenate(openings)
