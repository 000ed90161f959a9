"""Kernels of `LowRankKinematics`: linear combinations of features of q, and a floating root."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from kin4d.kinematics.compiled.features import QuadraticFeatures, coefficients
from kin4d.kinematics.compiled.rotation import root_pose


class LowRankData(NamedTuple):
    """Points are mean + basis c(q).

    Attributes:
        first: 6 if a floating root comes before the body's coordinates, else 0.
        features: c(q) [r].
        lump_shift: [N] how far lumps of mass follow the root's translation; none unless floating.
        lump_mean: [N, 3] their positions at c = 0.
        lump_basis: [N, 3, r] how they move with c.
    """

    first: int
    features: QuadraticFeatures
    lump_shift: np.ndarray
    lump_mean: np.ndarray
    lump_basis: np.ndarray


@numba.njit(cache=True, error_model="numpy")
def low_rank_embed(data, q, y, jacobian, with_jacobian):
    """Write y: c itself, or where the lumps are if the body floats."""
    c, slope = coefficients(data.features, q[data.first :], with_jacobian)
    if data.first == 0:
        y[:] = c
        if with_jacobian:
            jacobian[:] = slope
        return
    rotation, angular = np.empty((3, 3)), np.empty((3, 3))
    root_pose(q, rotation, angular)
    carried, carried_slope = low_rank_points(
        data.lump_shift, data.lump_mean, data.lump_basis, c, slope, rotation, angular, q,
        with_jacobian,
    )  # fmt: skip
    y[:] = carried.reshape(-1)
    if with_jacobian:
        jacobian[:] = carried_slope.reshape(jacobian.shape)


@numba.njit(cache=True, error_model="numpy")
def low_rank_points(shift, mean, basis, c, slope, rotation, angular, q, with_jacobian):
    """R (mean + basis c) + shift t [N, 3] and its Jacobian [N, 3, 6 + k] (empty unless wanted)."""
    count, k = len(mean), slope.shape[1]
    out = np.empty((count, 3))
    jacobian = np.zeros((count if with_jacobian else 0, 3, 6 + k))
    inner, moved = np.empty(3), np.empty((3, k))
    for p in range(count):
        for r in range(3):
            inner[r] = mean[p, r]
            for j in range(len(c)):
                inner[r] += basis[p, r, j] * c[j]
        x = rotation @ inner
        for r in range(3):
            out[p, r] = x[r] + shift[p] * q[r]
        if with_jacobian:
            moved[:] = 0.0
            for r in range(3):
                for j in range(len(c)):
                    weight = basis[p, r, j]
                    for i in range(k):
                        moved[r, i] += weight * slope[j, i]
            for col in range(3):
                jacobian[p, col, col] = shift[p]
                ax, ay, az = angular[0, col], angular[1, col], angular[2, col]
                jacobian[p, 0, 3 + col] = ay * x[2] - az * x[1]
                jacobian[p, 1, 3 + col] = az * x[0] - ax * x[2]
                jacobian[p, 2, 3 + col] = ax * x[1] - ay * x[0]
            for r in range(3):
                for i in range(k):
                    total = 0.0
                    for m in range(3):
                        total += rotation[r, m] * moved[m, i]
                    jacobian[p, r, 6 + i] = total
    return out, jacobian
