"""The conservative part of a step: discrete Euler-Lagrange with chord kinetic energy, compiled.

One chord step from (q0, p0) to (q1, p1), y = y(q) the embedding of `CompiledKinematics`, J = dy/dq:

    p0 = J(q0)^T (y1 - y0) / h  -  h/2 J(q0)^T w  +  h/2 dW(m)
    p1 = J(q1)^T (y1 - y0) / h  +  h/2 J(q1)^T w  -  h/2 dW(m),       m = (q0 + q1) / 2

with w a constant weight on y (gravity) and W(q) a potential of the coordinates (elasticity, soft
limits) taken at the midpoint, so that stiff ones stay stable. Both equations derive from one
discrete Lagrangian: the step is symplectic, symmetric and of second order; three of them with
Yoshida's lengths (Phys. Lett. A 150, 1990) make one of fourth order. Only first derivatives occur.
"""

from __future__ import annotations

import numba
import numpy as np

from kin4d.dynamics.barrier import barrier_energy, barrier_slope
from kin4d.dynamics.small_linalg import factor_spd, mass_matrix, solve_factored
from kin4d.kinematics.compiled.embed import embed_into

OK, NO_SOLUTION, CURVATURE_TOO_HIGH, LIMIT_STEP_TOO_LONG = 0, 1, 2, 3
_MAX_NEWTON_STEPS = 40
_MAX_LIMIT_CHANGE = 0.3  # of a diagonal element, above which the matrix is factored again


@numba.njit(cache=True, error_model="numpy")
def _pull_back(jacobian, covector, out):
    out[:] = 0.0
    for r in range(len(covector)):
        for i in range(len(out)):
            out[i] += jacobian[r, i] * covector[r]


@numba.njit(cache=True, error_model="numpy")
def _slope_at_midpoint(q0, q1, constant_force, stiffness, limits, slope, second):
    """Write dW [k] between q0 and q1, and the second derivatives [k] of soft limits there."""
    for i in range(len(q0)):
        total = -constant_force[i]
        for j in range(len(q0)):
            total += stiffness[i, j] * 0.5 * (q0[j] + q1[j])
        first, second[i] = barrier_slope(
            0.5 * (q0[i] + q1[i]), limits[i, 0], limits[i, 1], limits[i, 2], limits[i, 3]
        )
        slope[i] = total + first


@numba.njit(cache=True, error_model="numpy")
def _limits_changed(normal, second, factored, h):
    """Whether the second derivatives of soft limits, and those of when `normal` was factored,
    differ so much that steps would converge slowly."""
    for i in range(len(second)):
        change = 0.25 * h * h * abs(second[i] - factored[i])
        if change > _MAX_LIMIT_CHANGE * (normal[i, i] + 0.25 * h * h * factored[i]):
            return True
    return False


@numba.njit(cache=True, error_model="numpy")
def _broyden(steps, images, known, step):
    """Correct a step [k] in place by the `known` ones before it; how many of them remain in use.

    Broyden's rank-one updates in the form that keeps steps only (Kelley, "Iterative Methods for
    Linear and Nonlinear Equations", 1995, section 7.3), in the mass metric: `images` are M @ steps.
    """
    k = len(step)
    for t in range(known):
        along, length = 0.0, 0.0
        for i in range(k):
            along += images[t, i] * step[i]
            length += images[t, i] * steps[t, i]
        if t + 1 == known:
            rest = 1.0 - along / length
            if not rest > 0.3:
                return 0
            for i in range(k):
                step[i] /= rest
        else:
            for i in range(k):
                step[i] += steps[t + 1, i] * along / length
    return known


@numba.njit(cache=True, error_model="numpy")
def chord_step(data, start, h, weight, constant_force, stiffness, limits, tolerances, end):
    """One chord step of length h from `start` into `end`, both (q, p, y, J, M).

    Args:
        data: What `embed_into` takes.
        start: q [k], p [k], y [n], J [n, k], M = J^T J [k, k].
        h: Seconds; may be negative.
        weight: [n] constant covector on y.
        constant_force: [k] f and stiffness [k, k] K of W = q.K q/2 - f.q.
        stiffness: See constant_force.
        limits: [k, 4] lower, upper, stiffness and softness of soft limits.
        tolerances: See `ChordTolerances`.
        end: Arrays for the same at the end; results are written here.

    Returns:
        OK, NO_SOLUTION, CURVATURE_TOO_HIGH, or LIMIT_STEP_TOO_LONG if soft limits are the reason.
    """
    q0, p0, y0, jacobian0, mass0 = start
    q1, p1, y1, jacobian1, mass1 = end
    exact, max_limit_energy, max_curvature = tolerances
    n, k = jacobian0.shape
    half = np.empty(k)
    _pull_back(jacobian0, weight, half)
    for i in range(k):
        half[i] = p0[i] + 0.5 * h * half[i]
    step, residual, slope = np.empty(k), np.empty(k), np.empty(k)
    stiff, factor = np.empty((k, k)), np.empty((k, k))
    for i in range(k):
        for j in range(k):
            stiff[i, j] = mass0[i, j] + 0.25 * h * h * stiffness[i, j]
    normal, second, factored = stiff.copy(), np.empty(k), np.zeros(k)
    q1[:] = q0
    y1[:] = y0
    size = 0.0
    for r in range(n):
        size += y0[r] * y0[r]
    previous = np.inf
    converged = False
    steps, images, known = np.empty((_MAX_NEWTON_STEPS, k)), np.empty((_MAX_NEWTON_STEPS, k)), 0
    for iteration in range(_MAX_NEWTON_STEPS):
        if iteration:  # it starts at q0, where y is known
            embed_into(data, q1, y1, jacobian1, False)
        _slope_at_midpoint(q0, q1, constant_force, stiffness, limits, slope, second)
        if iteration == 0 or _limits_changed(stiff, second, factored, h):
            for i in range(k):
                factored[i] = second[i]
                normal[i, i] = stiff[i, i] + 0.25 * h * h * second[i]
            if not factor_spd(normal, factor):
                return NO_SOLUTION
            known = 0
        for i in range(k):
            residual[i] = h * half[i] - 0.5 * h * h * slope[i]
        squared_length = 0.0
        for r in range(n):
            chord = y1[r] - y0[r]
            squared_length += chord * chord
            for i in range(k):
                residual[i] -= jacobian0[r, i] * chord
        solve_factored(factor, residual, step)
        known = _broyden(steps, images, known, step)
        moved = 0.0
        for i in range(k):
            q1[i] += step[i]
            image = 0.0
            for j in range(k):
                image += mass0[i, j] * step[j]
            steps[known, i], images[known, i] = step[i], image
            moved += step[i] * image
        known += 1
        if not np.isfinite(moved):
            return NO_SOLUTION
        # Lengths squared: the tolerance, or what rounding leaves of y; maps that are sums of
        # many features round more, which shows in steps that are tiny and do not shrink. What is
        # left after this step is to it at most as it is to the one before.
        stalled = moved > 0.3 * previous and moved < 1e-20 * size
        left = moved * min(1.0, moved / previous) if previous < np.inf else moved
        if stalled or left <= exact * squared_length + 1e-31 * size:
            converged = True
            break
        if moved > 4 * previous:
            return NO_SOLUTION
        previous = moved
    if not converged:
        return NO_SOLUTION
    embed_into(data, q1, y1, jacobian1, True)
    mass1[:] = mass_matrix(jacobian1)
    _slope_at_midpoint(q0, q1, constant_force, stiffness, limits, slope, second)
    squared_length, height, gain = 0.0, 0.0, 0.0
    # What is left of the first equation is added to the second: momentum is not lost with it.
    for i in range(k):
        p1[i] = half[i] - h * slope[i]
    for r in range(n):
        chord = y1[r] - y0[r]
        bend = 0.0
        for i in range(k):
            bend += (jacobian1[r, i] - jacobian0[r, i]) * (q1[i] - q0[i])
            p1[i] += (jacobian1[r, i] - jacobian0[r, i]) * chord / h
            p1[i] += jacobian1[r, i] * 0.5 * h * weight[r]
        squared_length += chord * chord
        height += 0.25 * bend * bend
    for i in range(k):
        first, _ = barrier_slope(
            0.5 * (q0[i] + q1[i]), limits[i, 0], limits[i, 1], limits[i, 2], limits[i, 3]
        )
        gain -= first * (q1[i] - q0[i])
    gain += barrier_energy(q1, limits) - barrier_energy(q0, limits)
    if squared_length > 1e-20 * size:
        if abs(gain) * h * h > 0.5 * max_limit_energy * squared_length:
            return LIMIT_STEP_TOO_LONG
        if height > max_curvature * max_curvature * squared_length:
            return CURVATURE_TOO_HIGH
    return OK


@numba.njit(cache=True, error_model="numpy")
def variational_step(data, start, h, weight, constant_force, stiffness, limits, tolerances, order):
    """A chord step (order 2) or three of Yoshida's (order 4): status, and where it ends."""
    acting = (weight, constant_force, stiffness, limits)
    end = _like(start)
    if order == 2:
        return chord_step(data, start, h, *acting, tolerances, end), end
    middle = _like(start)
    share = 1.0 / (2.0 - 2.0 ** (1.0 / 3.0))
    outer, inner = share * h, (1.0 - 2.0 * share) * h
    status = chord_step(data, start, outer, *acting, tolerances, end)
    if status == OK:
        status = chord_step(data, end, inner, *acting, tolerances, middle)
    if status == OK:
        status = chord_step(data, middle, outer, *acting, tolerances, end)
    return status, end


@numba.njit(cache=True, error_model="numpy")
def _like(start):
    n, k = start[3].shape
    return np.empty(k), np.empty(k), np.empty(n), np.empty((n, k)), np.empty((k, k))
