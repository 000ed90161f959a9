"""Mass matrices: small symmetric systems, compiled."""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True, error_model="numpy")
def factor_spd(matrix, factor):
    """Write a lower triangle L [k, k], L^T L a symmetric matrix; False if it is not positive.

    From the last row to the first: where coordinates are those of a tree, parents first, what is
    zero in the matrix stays zero (Featherstone, "Rigid Body Dynamics Algorithms", 2008, 6.5), and
    is skipped. Complex symmetric matrices whose real part is positive are factored likewise.
    """
    k = len(matrix)
    for i in range(k):
        for j in range(i + 1):
            factor[i, j] = matrix[i, j]
    for m in range(k - 1, -1, -1):
        row = factor[m]
        if not row[m].real > 0:
            return False
        row[m] = np.sqrt(row[m])
        for i in range(m):
            row[i] /= row[m]
        for i in range(m):
            ratio = row[i]
            if ratio != 0.0:
                other = factor[i]
                for j in range(i + 1):
                    other[j] -= ratio * row[j]
    return True


@numba.njit(cache=True, error_model="numpy")
def solve_factored(factor, right, out):
    """Write the solution [k] for the matrix that `factor_spd` factored."""
    k = len(right)
    out[:] = right
    for i in range(k - 1, -1, -1):
        out[i] /= factor[i, i]
        for j in range(i):
            out[j] -= factor[i, j] * out[i]
    for i in range(k):
        total = out[i]
        for j in range(i):
            total -= factor[i, j] * out[j]
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
    factor, half = np.empty((k, k)), np.zeros((k, k))
    if not factor_spd(mass + share * stiffness, factor):
        return False
    # The inverse of the factor, row by row: row i is a combination of those before it.
    for i in range(k):
        row = half[i]
        for m in range(i):
            ratio = factor[i, m]
            if ratio != 0.0:
                before = half[m]
                for j in range(m + 1):
                    row[j] -= ratio * before[j]
        row[i] = 1.0
        for j in range(i + 1):
            row[j] /= factor[i, i]
    out[:] = half @ half.T
    return True


@numba.njit(cache=True, error_model="numpy")
def apply_damping(mass, p, damping, decay, seconds):
    """Momentum [k] after a force -C dq/dt for some seconds t, C = `damping` + `decay` M symmetric.

    exp(-X) with X = t M^-1 C, as 1 / (1 + X + X^2 / 2): of second order, and right for t C -> inf.
    By partial fractions that is twice the imaginary part of 1 / (X + 1 - i).
    """
    k = len(p)
    if not factor_spd(mass, np.empty((k, k))):
        return p
    matrix = seconds * damping + (seconds * decay + 1.0 - 1.0j) * mass
    factor, velocity = np.empty_like(matrix), np.empty(k, np.complex128)
    factor_spd(matrix, factor)
    solve_factored(factor, p.astype(np.complex128), velocity)
    return 2.0 * (mass @ np.ascontiguousarray(velocity.imag))
