"""Rotation vectors in compiled code: a floating root's pose and its derivative."""

from __future__ import annotations

from math import factorial

import numba
import numpy as np

LOOSE = {"reassoc", "contract", "nsz"}  # sums in any order, so that they are vectorised


_TERMS = 10  # of the series below: they leave less than 1e-16 for angles of up to _SMALL
_SMALL = 1.2
_SINE, _COSINE, _REST = (
    tuple((-1) ** n / factorial(2 * n + more) for n in range(_TERMS)) for more in (1, 2, 3)
)


@numba.njit(cache=True, error_model="numpy", fastmath=LOOSE)
def root_pose(q, rotation, angular):
    """Write the rotation [3, 3] of the rotation vector q[3:6] and, column by column in `angular`
    [3, 3], the angular velocity (rad/s, world axes) per unit rate of each of its components."""
    write_rotation(q[3], q[4], q[5], rotation, angular)


@numba.njit(cache=True, error_model="numpy", fastmath=LOOSE)
def write_rotation(x, y, z, rotation, angular):
    """`root_pose` of a rotation vector (x, y, z)."""
    squared = x * x + y * y + z * z
    if squared < _SMALL * _SMALL:
        # sin(t) / t, (1 - cos(t)) / t^2 and (t - sin(t)) / t^3 as series in t^2.
        a, b, c = 0.0, 0.0, 0.0
        for n in range(_TERMS - 1, -1, -1):
            a, b, c = a * squared + _SINE[n], b * squared + _COSINE[n], c * squared + _REST[n]
    else:
        angle = np.sqrt(squared)
        a = np.sin(angle) / angle
        b = (1.0 - np.cos(angle)) / squared
        c = (1.0 - a) / squared
    _write_mixed(rotation, x, y, z, a, b, 1.0 - b * squared)
    _write_mixed(angular, x, y, z, b, c, 1.0 - c * squared)


@numba.njit(cache=True, error_model="numpy", fastmath=LOOSE)
def _write_mixed(out, x, y, z, skew, outer, unit):
    """Write skew [v]x + outer v v^T + unit 1 for v = (x, y, z)."""
    out[0, 0], out[1, 1], out[2, 2] = (
        unit + outer * x * x,
        unit + outer * y * y,
        unit + outer * z * z,
    )
    a, b, c = outer * x * y, outer * x * z, outer * y * z
    out[0, 1], out[1, 0] = a - skew * z, a + skew * z
    out[0, 2], out[2, 0] = b + skew * y, b - skew * y
    out[1, 2], out[2, 1] = c - skew * x, c + skew * x


@numba.njit(cache=True, error_model="numpy", fastmath=LOOSE)
def write_root_transform(out, weight, x, y, z, inner, rotation, angular):
    """Write weight * d(t + R p)/dq [3, 6 + k] of a point whose R p is (x, y, z) and dp/dq `inner`.

    `angular` [3, 3] is the root's, see `root_pose`.
    """
    for c in range(3):
        out[0, c], out[1, c], out[2, c] = 0.0, 0.0, 0.0
        out[c, c] = weight
        a, b, d = weight * angular[0, c], weight * angular[1, c], weight * angular[2, c]
        out[0, 3 + c] = b * z - d * y
        out[1, 3 + c] = d * x - a * z
        out[2, 3 + c] = a * y - b * x
    for r in range(3):
        a, b, d = weight * rotation[r, 0], weight * rotation[r, 1], weight * rotation[r, 2]
        for c in range(inner.shape[1]):
            out[r, 6 + c] = a * inner[0, c] + b * inner[1, c] + d * inner[2, c]


@numba.njit(cache=True, error_model="numpy", fastmath=LOOSE)
def root_or_world(first, q):
    """Rotation [3, 3], `angular` [3, 3] and origin [3] of the root; the world's if it is fixed."""
    rotation, angular, origin = np.eye(3), np.zeros((3, 3)), np.zeros(3)
    if first:
        root_pose(q, rotation, angular)
        origin[:] = q[:3]
    return rotation, angular, origin


def rewrap_rotvec(q: np.ndarray) -> np.ndarray | None:
    """The same pose by the shorter rotation vector, or None if q[3:6] is within pi.

    The chart is singular at 2 pi; a little beyond pi the opposite direction is as
    good, so a tumbling body never comes near the singularity.
    """
    angle = float(np.sqrt(q[3] * q[3] + q[4] * q[4] + q[5] * q[5]))
    if angle <= 3.3:
        return None
    out = q.copy()
    out[3:6] *= 1.0 - 2 * np.pi * np.round(angle / (2 * np.pi)) / angle
    return out
