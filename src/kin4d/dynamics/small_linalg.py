"""Mass matrices: small symmetric systems, compiled."""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True, error_model="numpy")
def factor_spd(matrix, factor):
    """Write the Cholesky factor [k, k] of a symmetric matrix; False if it is not positive."""
    k = len(matrix)
    for i in range(k):
        for j in range(i + 1):
            total = matrix[i, j]
            for m in range(j):
                total -= factor[i, m] * factor[j, m]
            if i == j:
                if not total > 0:
                    return False
                factor[i, i] = np.sqrt(total)
            else:
                factor[i, j] = total / factor[j, j]
    return True


@numba.njit(cache=True, error_model="numpy")
def solve_factored(factor, right, out):
    """Write the solution [k] for the matrix that `factor_spd` factored."""
    k = len(right)
    for i in range(k):
        total = right[i]
        for m in range(i):
            total -= factor[i, m] * out[m]
        out[i] = total / factor[i, i]
    for i in range(k - 1, -1, -1):
        total = out[i]
        for m in range(i + 1, k):
            total -= factor[m, i] * out[m]
        out[i] = total / factor[i, i]


@numba.njit(cache=True, error_model="numpy")
def solve_spd(matrix, right, out):
    """Write the solution [k] of a symmetric positive definite system; False if it is not one."""
    factor = np.empty(matrix.shape)
    if not factor_spd(matrix, factor):
        return False
    solve_factored(factor, right, out)
    return True


@numba.njit(cache=True, error_model="numpy")
def mass_matrix(jacobian):
    """J^T J [k, k], with a trace of ridge so that it can always be factored."""
    n, k = jacobian.shape
    if n * k > 500:  # BLAS is faster than loops from here on
        out = jacobian.T @ jacobian
    else:
        out = np.zeros((k, k))
        for r in range(n):
            for i in range(k):
                a = jacobian[r, i]
                if a != 0.0:
                    for j in range(i + 1):
                        out[i, j] += a * jacobian[r, j]
    for i in range(k):
        out[i, i] *= 1.0 + 1e-13
        for j in range(i):
            out[j, i] = out[i, j]
    return out


@numba.njit(cache=True, error_model="numpy")
def velocity_from_momentum(mass, p):
    """dq/dt [k] of momentum p; not finite where the mass matrix [k, k] is singular."""
    out = np.empty(len(p))
    if not solve_spd(mass, p, out):
        out[:] = np.nan
    return out


@numba.njit(cache=True, error_model="numpy")
def write_inverse(mass, stiffness, share, out):
    """Write the inverse [k, k] of mass + share * stiffness; False if there is none."""
    k = len(mass)
    matrix, factor, unit, column = np.empty((k, k)), np.empty((k, k)), np.zeros(k), np.empty(k)
    for i in range(k):
        for j in range(k):
            matrix[i, j] = mass[i, j] + share * stiffness[i, j]
    if not factor_spd(matrix, factor):
        return False
    for i in range(k):
        unit[:] = 0.0
        unit[i] = 1.0
        solve_factored(factor, unit, column)
        out[:, i] = column
    return True


@numba.njit(cache=True, error_model="numpy")
def apply_damping(mass, p, damping, decay, seconds):
    """Momentum [k] after a force -C dq/dt for some seconds t, C = `damping` + `decay` M symmetric.

    exp(-X) with X = t M^-1 C, as 1 / (1 + X + X^2 / 2): of second order, and right for t C -> inf.
    """
    k = len(p)
    factor, column, out = np.empty((k, k)), np.empty(k), np.empty(k)
    drag, ratio, total = np.empty((k, k)), np.empty((k, k)), np.empty((k, k))
    if not factor_spd(mass, factor):
        return p
    for i in range(k):
        for j in range(k):
            drag[i, j] = seconds * (damping[i, j] + decay * mass[i, j])
    for i in range(k):
        solve_factored(factor, drag[i], column)
        ratio[i] = column
    for i in range(k):
        for j in range(k):
            total[i, j] = mass[i, j] + drag[i, j]
            for m in range(k):
                total[i, j] += 0.5 * drag[i, m] * ratio[j, m]
    if not solve_spd(total, p, column):
        return p
    for i in range(k):
        out[i] = 0.0
        for j in range(k):
            out[i] += mass[i, j] * column[j]
    return out
