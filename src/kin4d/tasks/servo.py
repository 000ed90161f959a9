"""Servo targets: from actions on the hand to coordinates of the arm."""

from __future__ import annotations

import numpy as np

from kin4d.kinematics.actions import Actions, integrate
from kin4d.kinematics.arms import Arm
from kin4d.kinematics.conventions import values_to_poses
from kin4d.kinematics.ik import track_poses

_TOLERANCE = (1e-4, 1e-3)
_MAX_STEP = 0.25


def servo_targets(
    arm: Arm, start: np.ndarray, actions: Actions, *, pose: np.ndarray | None = None
) -> tuple[np.ndarray, float]:
    """Coordinates [T, k] that carry out pose deltas, each solved from the one before.

    Args:
        arm: The robot.
        start: [k] where it stands.
        actions: Pose deltas in the world's axes, with the gripper's opening.
        pose: [4, 4] commanded pose that the deltas start from; by default the one at `start`.

    Returns:
        The coordinates, and by how much (m, or rad / 10) the worst of them misses its pose: what
        is out of reach is approached as far as the arm goes.
    """
    deltas = values_to_poses(actions.values, actions.rotation)
    poses = integrate(deltas, arm.grasp_pose(start) if pose is None else pose, frame=actions.frame)
    found = track_poses(
        arm.body,
        poses,
        q_start=start,
        posture=arm.posture,
        tolerance=_TOLERANCE,
        max_step=_MAX_STEP,
    )
    q = found.q.numpy().copy()
    assert actions.gripper is not None
    q[:, arm.grip] = arm.closed + actions.gripper * (arm.opened - arm.closed)
    missed = max(float(found.position_error.max()), float(found.rotation_error.max()) / 10)
    return q, missed
