"""Actions: the commands of a robot, frame by frame, in any of the usual forms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kin4d.errors import InputError
from kin4d.kinematics.conventions import rotation_columns

KINDS = ("joint", "joint_delta", "pose", "pose_delta")
FRAMES = ("base", "tool")
GRIPPER_UNITS = ("fraction", "metres")


@dataclass(frozen=True, eq=False, kw_only=True)
class Actions:
    """T actions. Row t leads to the state shown in frame t.

    Attributes:
        kind: "joint" (joint values), "joint_delta" (their changes), "pose" (end-effector pose in
            the robot's base frame) or "pose_delta" (its change).
        values: [T, n] float64. Joints: rad or m, one column per joint. Poses: x, y, z (m), then
            the rotation in the convention's numbers.
        fps: Actions per second.
        gripper: [T] opening, or None if it is not commanded.
        gripper_unit: "fraction" (0 closed to 1 open) or "metres" between the fingers.
        rotation: Convention of pose values; see `kin4d.kinematics.conventions`.
        frame: Axes of pose deltas. "base": the robot's axes; the tool rotates about its own origin.
            "tool": the tool's own axes before the change.
        link: The link that poses describe; None for the robot's end effector.
        names: Joint name of each column, or None for the robot's own order.
    """

    kind: str
    values: np.ndarray
    fps: float
    gripper: np.ndarray | None = None
    gripper_unit: str = "fraction"
    rotation: str = "rotvec"
    frame: str = "base"
    link: str | None = None
    names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for name, allowed in (("kind", KINDS), ("frame", FRAMES), ("gripper_unit", GRIPPER_UNITS)):
            if getattr(self, name) not in allowed:
                raise InputError(
                    f"unknown {name} of actions",
                    value=getattr(self, name),
                    allowed=", ".join(allowed),
                )
        fps = _numbers(self.fps, "fps of actions")
        if fps.ndim or not (np.isfinite(fps) and fps > 0):
            raise InputError("fps of actions must be one positive number", value=self.fps)
        object.__setattr__(self, "fps", float(fps))
        values = _numbers(self.values, "actions")
        if values.ndim != 2 or len(values) == 0:
            raise InputError("actions are [T >= 1, n] numbers", value=values.shape)
        _check_finite(values, "actions")
        object.__setattr__(self, "values", values)
        if self.is_pose:
            columns = ("x", "y", "z", *rotation_columns(self.rotation))
            if values.shape[1] != len(columns):
                raise InputError(
                    f"'{self.kind}' actions with rotation '{self.rotation}' have "
                    f"{len(columns)} columns",
                    value=values.shape[1],
                    allowed=", ".join(columns) + "; the gripper goes in 'gripper'",
                )
        elif self.names is not None and len(self.names) != values.shape[1]:
            raise InputError(
                f"{len(self.names)} joint names for {values.shape[1]} columns of actions",
                value=self.names,
            )
        elif self.names is not None and len(set(self.names)) < len(self.names):
            raise InputError("two columns of actions command the same joint", value=self.names)
        if self.gripper is not None:
            object.__setattr__(self, "gripper", _gripper(self.gripper, len(values), self))

    @property
    def is_pose(self) -> bool:
        """Whether values are end-effector poses rather than joint values."""
        return self.kind.startswith("pose")

    @property
    def is_delta(self) -> bool:
        """Whether values are changes."""
        return self.kind.endswith("delta")

    def __len__(self) -> int:
        return len(self.values)


def integrate(deltas: np.ndarray, start: np.ndarray, *, frame: str) -> np.ndarray:
    """Poses [T, 4, 4] reached from `start` [4, 4] by pose deltas [T, 4, 4]; see `Actions.frame`."""
    poses = np.empty_like(deltas)
    pose = start
    for t, delta in enumerate(deltas):
        if frame == "tool":
            pose = pose @ delta
        else:
            moved = np.eye(4)
            moved[:3, :3] = delta[:3, :3] @ pose[:3, :3]
            moved[:3, 3] = pose[:3, 3] + delta[:3, 3]
            pose = moved
        poses[t] = pose
    return poses


def differentiate(poses: np.ndarray, start: np.ndarray, *, frame: str) -> np.ndarray:
    """Inverse of `integrate`: the deltas [T, 4, 4] that lead from `start` through `poses`."""
    before = np.concatenate([start[None], poses[:-1]])
    if frame == "tool":
        return np.linalg.inv(before) @ poses
    deltas = np.tile(np.eye(4), (len(poses), 1, 1))
    deltas[:, :3, :3] = poses[:, :3, :3] @ before[:, :3, :3].swapaxes(1, 2)
    deltas[:, :3, 3] = poses[:, :3, 3] - before[:, :3, 3]
    return deltas


def _gripper(gripper: np.ndarray, frames: int, actions: Actions) -> np.ndarray:
    gripper = _numbers(gripper, "gripper")
    gripper = gripper[:, 0] if gripper.ndim == 2 and gripper.shape[1] == 1 else gripper
    if gripper.shape != (frames,):
        raise InputError(
            "gripper has one number per action", value=gripper.shape, allowed=f"[{frames}]"
        )
    _check_finite(gripper[:, None], "gripper")
    top = 1.0 if actions.gripper_unit == "fraction" else np.inf
    bad = np.flatnonzero((gripper < -1e-6) | (gripper > top + 1e-6))
    if len(bad):
        raise InputError(
            f"gripper opening out of range in row {bad[0]}",
            value=float(gripper[bad[0]]),
            allowed=f"0 to {top:g} ({actions.gripper_unit})",
        )
    return gripper.clip(0.0, top)


def _numbers(values: np.ndarray | float, what: str) -> np.ndarray:
    try:
        values = np.asarray(values)
        if np.iscomplexobj(values):
            raise ValueError("they are complex")
        return np.array(values, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} must be an array of numbers: {error}") from None


def _check_finite(values: np.ndarray, what: str) -> None:
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        row, column = bad[0]
        raise InputError(
            f"{what} hold NaN or infinite values: first in row {row}, column {column}",
            value=float(values[row, column]),
        )
