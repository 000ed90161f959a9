"""ServoControl: turns an environment's actions into servo targets, chunk after chunk."""

from __future__ import annotations

import numpy as np

from kin4d.errors import InputError
from kin4d.kinematics.actions import Actions, integrate
from kin4d.kinematics.arms import Arm
from kin4d.kinematics.conventions import values_to_poses
from kin4d.policies.policy import CONTROLS
from kin4d.tasks.servo import servo_targets
from kin4d.tasks.trajectory import RATE

MAX_TRANSLATION, MAX_ROTATION, MAX_VELOCITY = 0.05, 0.5, 3.0
"""Largest m and rad per action, and rad/s of a joint."""


class ServoControl:
    """The targets that an arm has been given so far.

    Args:
        arm: The robot.
        q: [k] where it stands.
        control: "pose_delta": actions are [x, y, z, rx, ry, rz, opening], the change of the grasp
            frame's pose in world axes (m, and a rotation vector in rad) and the gripper's opening
            from 0 (closed) to 1. "joint_velocity": rad/s of each joint, and the opening.

    Attributes:
        pose: [4, 4] of the grasp frame as commanded so far.
    """

    def __init__(self, arm: Arm, q: np.ndarray, control: str) -> None:
        self.arm, self.q, self.control = arm, q, control
        self.pose = arm.grasp_pose(q)

    def targets(self, actions: np.ndarray) -> np.ndarray:
        """[H, k] coordinates that carry out actions [H, D], after all earlier ones."""
        arm = self.arm
        if self.control == "pose_delta":
            chunk = Actions(
                kind="pose_delta",
                values=actions[:, :6],
                fps=RATE,
                gripper=actions[:, 6],
                frame="base",
            )
            q, _ = servo_targets(arm, self.q, chunk, pose=self.pose)
            deltas = values_to_poses(chunk.values, chunk.rotation)
            self.pose = integrate(deltas, self.pose, frame=chunk.frame)[-1]
        else:
            q = np.tile(self.q, (len(actions), 1))
            columns, limits = list(arm.columns), arm.body.limits.numpy()
            for t, velocity in enumerate(actions[:, :-1]):
                before = q[max(t - 1, 0), columns]
                q[t, columns] = np.clip(before + velocity / RATE, *limits[columns].T)
            q[:, arm.grip] = arm.closed + actions[:, -1] * (arm.opened - arm.closed)
            self.pose = arm.grasp_pose(q[-1])
        self.q = q[-1]
        return q


def action_bounds(arm: Arm, control: str) -> tuple[np.ndarray, np.ndarray]:
    """Smallest and largest action [D], float32."""
    if control not in CONTROLS:
        raise InputError("control of an environment", value=control, allowed=", ".join(CONTROLS))
    if control == "pose_delta":
        high = [MAX_TRANSLATION] * 3 + [MAX_ROTATION] * 3
    else:
        high = [MAX_VELOCITY] * len(arm.columns)
    return np.array([*(-x for x in high), 0], np.float32), np.array([*high, 1], np.float32)
