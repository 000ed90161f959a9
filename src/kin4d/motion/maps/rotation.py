"""Rotation vectors in compiled code: a floating root's pose and how it turns."""

from __future__ import annotations

import numba
import numpy as np

LOOSE = {"reassoc", "contract", "nsz"}  # sums in any order, so that they are vectorised


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


@numba.njit(cache=True, error_model="numpy", fastmath=LOOSE)
def write_rooted(out, weight, x, y, z, inner, rotation, turning):
    """Write weight * d(t + R p)/dq [3, 6 + k] of a point whose R p is (x, y, z) and dp/dq `inner`.

    `turning` [3, 3] is the root's, see `root_pose`.
    """
    for c in range(3):
        out[0, c], out[1, c], out[2, c] = 0.0, 0.0, 0.0
        out[c, c] = weight
        a, b, d = weight * turning[0, c], weight * turning[1, c], weight * turning[2, c]
        out[0, 3 + c] = b * z - d * y
        out[1, 3 + c] = d * x - a * z
        out[2, 3 + c] = a * y - b * x
    for r in range(3):
        a, b, d = weight * rotation[r, 0], weight * rotation[r, 1], weight * rotation[r, 2]
        for c in range(inner.shape[1]):
            out[r, 6 + c] = a * inner[0, c] + b * inner[1, c] + d * inner[2, c]


@numba.njit(cache=True, error_model="numpy", fastmath=LOOSE)
def root_or_world(first, q):
    """Rotation [3, 3], `turning` [3, 3] and origin [3] of the root; the world's if it is fixed."""
    rotation, turning, origin = np.eye(3), np.zeros((3, 3)), np.zeros(3)
    if first:
        root_pose(q, rotation, turning)
        origin[:] = q[:3]
    return rotation, turning, origin


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
