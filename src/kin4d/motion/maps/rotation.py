"""Rotation vectors in compiled code: a floating root's pose and how it turns."""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True, error_model="numpy")
def root_pose(q, rotation, turning):
    """Write the rotation [3, 3] of the rotation vector q[3:6] and, column by column in `turning`
    [3, 3], the angular velocity (rad/s, world axes) per unit rate of each of its components."""
    x, y, z = q[3], q[4], q[5]
    squared = x * x + y * y + z * z
    if squared < 1e-8:
        a = 1.0 - squared / 6
        b = 0.5 - squared / 24
        c = 1.0 / 6 - squared / 120
    else:
        angle = np.sqrt(squared)
        a = np.sin(angle) / angle
        b = (1.0 - np.cos(angle)) / squared
        c = (1.0 - a) / squared
    for r in range(3):
        for s in range(3):
            outer = q[3 + r] * q[3 + s]
            rotation[r, s] = b * outer
            turning[r, s] = c * outer
        rotation[r, r] += 1.0 - b * squared
        turning[r, r] += 1.0 - c * squared
    for matrix, factor in ((rotation, a), (turning, b)):
        matrix[0, 1] -= factor * z
        matrix[1, 0] += factor * z
        matrix[0, 2] += factor * y
        matrix[2, 0] -= factor * y
        matrix[1, 2] -= factor * x
        matrix[2, 1] += factor * x


def recharted(q: np.ndarray) -> np.ndarray | None:
    """The same pose by the shorter rotation vector, or None if q[3:6] is within half a turn.

    The chart is singular at a whole turn; a little beyond half a turn the other way round is as
    good, so a tumbling body never comes near the singularity.
    """
    angle = float(np.sqrt(q[3] * q[3] + q[4] * q[4] + q[5] * q[5]))
    if angle <= 3.3:
        return None
    out = q.copy()
    out[3:6] *= 1.0 - 2 * np.pi * np.round(angle / (2 * np.pi)) / angle
    return out
