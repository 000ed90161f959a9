"""The conservative part of a step: discrete Euler-Lagrange with chord kinetic energy, compiled.

One chord step from (q0, p0) to (q1, p1), y = y(q) the embedding of `PointMap`, J = dy/dq:

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

OK, NO_SOLUTION, TOO_CURVED, TOO_SUDDEN = 0, 1, 2, 3
_MOST_STEPS = 40  # of Newton's method
_YOSHIDA = 1.0 / (2.0 - 2.0 ** (1.0 / 3.0))
# How carefully, see `chord_step`. The error of second order is far larger than what it leaves of a
# solution; for fourth order soft limits set in too suddenly, and light parts turn too sharply.
SECOND, _FOURTH = (1e-13, np.inf, 0.15), (1e-24, 3e-6, 0.05)


@numba.njit(cache=True, error_model="numpy")
def _pull_back(jacobian, covector, out):
    out[:] = 0.0
    for r in range(len(covector)):
        for i in range(len(out)):
            out[i] += jacobian[r, i] * covector[r]


@numba.njit(cache=True, error_model="numpy")
def _slope_at_middle(q0, q1, pull, stiffness, limits, h, slope, normal):
    """Write dW [k] between q0 and q1; whether soft limits act, which is added to `normal`."""
    limited = False
    for i in range(len(q0)):
        total = -pull[i]
        for j in range(len(q0)):
            total += stiffness[i, j] * 0.5 * (q0[j] + q1[j])
        first, second = barrier_slope(
            0.5 * (q0[i] + q1[i]), limits[i, 0], limits[i, 1], limits[i, 2], limits[i, 3]
        )
        slope[i] = total + first
        if second != 0.0:
            normal[i, i] += 0.25 * h * h * second
            limited = True
    return limited


@numba.njit(cache=True, error_model="numpy")
def _broyden(steps, images, known, step):
    """Correct a step [k] in place by what the `known` ones before it have taught; how many remain.

    Broyden's rank-one updates in the form that keeps steps only (Kelley, "Iterative Methods for
    Linear and Nonlinear Equations", 1995, section 7.3), in the metric: `images` are metric @ steps.
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
def chord_step(data, start, h, weight, pull, stiffness, limits, care, end):
    """One chord step of length h from `start` into `end`, both (q, p, y, J, G).

    Args:
        data: What `embed_into` takes.
        start: q [k], p [k], y [n], J [n, k], G = J^T J [k, k].
        h: Seconds; may be negative.
        weight: [n] constant covector on y.
        pull: [k] and stiffness [k, k] of W = q.K q/2 - pull.q.
        stiffness: See pull.
        limits: [k, 4] lower, upper, stiffness and softness of soft limits.
        care: What may be left of the way to the solution, squared; and the energy that soft limits
            may take or give, of the kinetic one, and the ratio of a chord's height to its length,
            before the step is too long to follow the motion.
        end: Arrays for the same at the end; results are written here.

    Returns:
        OK, NO_SOLUTION, TOO_CURVED, or TOO_SUDDEN if soft limits are the reason.
    """
    q0, p0, y0, jacobian0, gram = start
    q1, p1, y1, jacobian1, gram1 = end
    exact, uneven, bent = care
    n, k = jacobian0.shape
    half = np.empty(k)
    _pull_back(jacobian0, weight, half)
    for i in range(k):
        half[i] = p0[i] + 0.5 * h * half[i]
    step, residual, slope = np.empty(k), np.empty(k), np.empty(k)
    stiff, factor = np.empty((k, k)), np.empty((k, k))
    for i in range(k):
        for j in range(k):
            stiff[i, j] = gram[i, j] + 0.25 * h * h * stiffness[i, j]
    normal, is_factored = stiff.copy(), False
    q1[:] = q0
    y1[:] = y0
    size = 0.0
    for r in range(n):
        size += y0[r] * y0[r]
    previous = np.inf
    converged = False
    steps, images, known = np.empty((_MOST_STEPS, k)), np.empty((_MOST_STEPS, k)), 0
    for turn in range(_MOST_STEPS):
        if turn:  # it starts at q0, where y is known
            embed_into(data, q1, y1, jacobian1, False)
        limited = _slope_at_middle(q0, q1, pull, stiffness, limits, h, slope, normal)
        if limited or not is_factored:
            if not factor_spd(normal, factor):
                return NO_SOLUTION
            is_factored = not limited
        if limited:
            normal[:] = stiff
            known = 0
        for i in range(k):
            residual[i] = h * half[i] - 0.5 * h * h * slope[i]
        way = 0.0
        for r in range(n):
            chord = y1[r] - y0[r]
            way += chord * chord
            for i in range(k):
                residual[i] -= jacobian0[r, i] * chord
        solve_factored(factor, residual, step)
        known = _broyden(steps, images, known, step)
        moved = 0.0
        for i in range(k):
            q1[i] += step[i]
            image = 0.0
            for j in range(k):
                image += gram[i, j] * step[j]
            steps[known, i], images[known, i] = step[i], image
            moved += step[i] * image
        known += 1
        if not np.isfinite(moved):
            return NO_SOLUTION
        # Lengths squared: what is asked for, or what rounding leaves of y; maps that are sums of
        # many features round more, which shows in steps that are tiny and do not shrink. What is
        # left after this step is to it at most as it is to the one before.
        stalled = moved > 0.3 * previous and moved < 1e-20 * size
        left = moved * min(1.0, moved / previous) if previous < np.inf else moved
        if stalled or left <= exact * way + 1e-31 * size:
            converged = True
            break
        if moved > 4 * previous:
            return NO_SOLUTION
        previous = moved
    if not converged:
        return NO_SOLUTION
    embed_into(data, q1, y1, jacobian1, True)
    gram1[:] = mass_matrix(jacobian1)
    _slope_at_middle(q0, q1, pull, stiffness, limits, h, slope, normal)
    way, height, gain = 0.0, 0.0, 0.0
    # What is left of the first equation is added to the second: momentum is not lost with it.
    for i in range(k):
        p1[i] = half[i] - h * slope[i]
    for r in range(n):
        chord = y1[r] - y0[r]
        turned = 0.0
        for i in range(k):
            turned += (jacobian1[r, i] - jacobian0[r, i]) * (q1[i] - q0[i])
            p1[i] += (jacobian1[r, i] - jacobian0[r, i]) * chord / h
            p1[i] += jacobian1[r, i] * 0.5 * h * weight[r]
        way += chord * chord
        height += 0.25 * turned * turned
    for i in range(k):
        first, _ = barrier_slope(
            0.5 * (q0[i] + q1[i]), limits[i, 0], limits[i, 1], limits[i, 2], limits[i, 3]
        )
        gain -= first * (q1[i] - q0[i])
    gain += barrier_energy(q1, limits) - barrier_energy(q0, limits)
    if way > 1e-20 * size:
        if abs(gain) * h * h > 0.5 * uneven * way:
            return TOO_SUDDEN
        if height > bent * bent * way:
            return TOO_CURVED
    return OK


@numba.njit(cache=True, error_model="numpy")
def variational_step(data, start, h, weight, pull, stiffness, limits, order):
    """A chord step (order 2) or three of Yoshida's (order 4): status and where it ends."""
    acting = (weight, pull, stiffness, limits)
    end = _like(start)
    if order == 2:
        return chord_step(data, start, h, *acting, SECOND, end), end
    middle = _like(start)
    outer, inner = _YOSHIDA * h, (1.0 - 2.0 * _YOSHIDA) * h
    status = chord_step(data, start, outer, *acting, _FOURTH, end)
    if status == OK:
        status = chord_step(data, end, inner, *acting, _FOURTH, middle)
    if status == OK:
        status = chord_step(data, middle, outer, *acting, _FOURTH, end)
    return status, end


@numba.njit(cache=True, error_model="numpy")
def _like(start):
    n, k = start[3].shape
    return np.empty(k), np.empty(k), np.empty(n), np.empty((n, k)), np.empty((k, k))
