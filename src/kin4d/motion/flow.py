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

from kin4d.motion.maps.embed import embed_into

OK, NO_SOLUTION, TOO_CURVED = 0, 1, 2
_LARGE = 500  # Entries of a Jacobian above which a library multiplies it faster than loops.
_MOST_STEPS = 40  # of Newton's method
_YOSHIDA = 1.0 / (2.0 - 2.0 ** (1.0 / 3.0))
# How carefully, see `chord_step`. The error of second order is far larger than what it leaves of a
# solution; for fourth order soft limits set in too suddenly, and light parts turn too sharply.
SECOND, _FOURTH = (1e-18, np.inf, 0.15), (1e-24, 3e-6, 0.05)


@numba.njit(cache=True, error_model="numpy")
def barrier_slope(q, lower, upper, stiffness, softness):
    """First and second derivative of a soft limit's potential at q; zero inside the limits.

    A spring (`stiffness`) beyond each limit that sets in over a distance `softness`, so smoothly
    that steps of fourth order keep their order: V'' = stiffness P(3, x), P the regularised gamma
    function, x = 3 s / softness, s the way beyond.
    """
    if q < lower:
        first, second = _set_in(3.0 * (lower - q) / softness)
        return -stiffness * softness / 3.0 * first, stiffness * second
    if q > upper:
        first, second = _set_in(3.0 * (q - upper) / softness)
        return stiffness * softness / 3.0 * first, stiffness * second
    return 0.0, 0.0


@numba.njit(cache=True, error_model="numpy")
def _set_in(x):
    """Integral of P(3, x) from 0, and P(3, x)."""
    fade = np.exp(-x)
    return x - 3.0 + fade * (3.0 + x * (2.0 + 0.5 * x)), 1.0 - fade * (1.0 + x * (1.0 + 0.5 * x))


@numba.njit(cache=True, error_model="numpy")
def barrier_energy(q, limits):
    """Potential of all soft limits [k, 4] at q [k], whose derivatives `barrier_slope` gives."""
    stored = 0.0
    for i in range(len(q)):
        lower, upper, stiffness, softness = limits[i]
        if q[i] < lower or q[i] > upper:
            x = 3.0 * max(lower - q[i], q[i] - upper) / softness
            left = np.exp(-x) * (6.0 + x * (3.0 + 0.5 * x))
            stored += stiffness * (softness / 3.0) ** 2 * (6.0 + x * (0.5 * x - 3.0) - left)
    return stored


@numba.njit(cache=True, error_model="numpy")
def _factor(matrix, factor):
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
def _solve_factored(factor, right, out):
    """Write the solution [k] for the matrix that `_factor` took apart."""
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
    if not _factor(matrix, factor):
        return False
    _solve_factored(factor, right, out)
    return True


@numba.njit(cache=True, error_model="numpy")
def write_inverse(jacobian, stiffness, share, out):
    """Write the inverse [k, k] of J^T J + share * stiffness; False if there is none."""
    matrix = metric(jacobian)
    k = len(matrix)
    for i in range(k):
        for j in range(k):
            matrix[i, j] += share * stiffness[i, j]
    factor, unit, column = np.empty((k, k)), np.zeros(k), np.empty(k)
    if not _factor(matrix, factor):
        return False
    for i in range(k):
        unit[:] = 0.0
        unit[i] = 1.0
        _solve_factored(factor, unit, column)
        out[:, i] = column
    return True


@numba.njit(cache=True, error_model="numpy")
def metric(jacobian):
    """J^T J [k, k], with a trace of ridge so that it can always be factored."""
    n, k = jacobian.shape
    if n * k > _LARGE:
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
def rates(jacobian, p):
    """dq/dt [k] of momentum p; not finite where the metric cannot be inverted."""
    out = np.empty(len(p))
    if not solve_spd(metric(jacobian), p, out):
        out[:] = np.nan
    return out


@numba.njit(cache=True, error_model="numpy")
def damped(jacobian, p, damping):
    """Momentum [k] after a force -C dq/dt for a time t, `damping` = t C.

    exp(-X) with X = t G^-1 C, as 1 / (1 + X + X^2 / 2): of second order, and right for t C -> inf.
    """
    k = len(p)
    gram = metric(jacobian)
    factor, rate, column, ratio = np.empty((k, k)), np.empty(k), np.empty(k), np.empty((k, k))
    if not _factor(gram, factor):
        return p
    _solve_factored(factor, p, rate)
    for i in range(k):
        _solve_factored(factor, damping[:, i], column)
        ratio[:, i] = column
    return gram @ np.linalg.solve(np.eye(k) + ratio + 0.5 * (ratio @ ratio), rate)


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
def chord_step(data, start, h, weight, pull, stiffness, limits, care, q1, p1, y1, jacobian1):
    """One chord step of length h from start = (q, p, y, J) into (q1, p1, y1, J1).

    Args:
        data: What `embed_into` takes.
        start: q [k], p [k], y [n], J [n, k].
        h: Seconds; may be negative.
        weight: [n] constant covector on y.
        pull: [k] and stiffness [k, k] of W = q.K q/2 - pull.q.
        stiffness: See pull.
        limits: [k, 4] lower, upper, stiffness and softness of soft limits.
        care: What may be left of the way to the solution, squared; and the energy that soft limits
            may take or give, of the kinetic one, and the ratio of a chord's height to its length,
            before the step is too long to follow the motion.
        q1: Results are written here and in the following.
        p1: [k].
        y1: [n].
        jacobian1: [n, k].

    Returns:
        OK, NO_SOLUTION or TOO_CURVED.
    """
    q0, p0, y0, jacobian0 = start
    exact, uneven, bent = care
    n, k = jacobian0.shape
    gram = metric(jacobian0)
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
            if not _factor(normal, factor):
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
        _solve_factored(factor, residual, step)
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
    _slope_at_middle(q0, q1, pull, stiffness, limits, h, slope, normal)
    way, height, gain = 0.0, 0.0, 0.0
    p1[:] = 0.0
    for r in range(n):
        chord = y1[r] - y0[r]
        tangent = 0.0
        for i in range(k):
            tangent += jacobian0[r, i] * (q1[i] - q0[i])
            p1[i] += jacobian1[r, i] * (chord / h + 0.5 * h * weight[r])
        way += chord * chord
        height += (chord - tangent) ** 2
    for i in range(k):
        p1[i] -= 0.5 * h * slope[i]
        first, _ = barrier_slope(
            0.5 * (q0[i] + q1[i]), limits[i, 0], limits[i, 1], limits[i, 2], limits[i, 3]
        )
        gain -= first * (q1[i] - q0[i])
    gain += barrier_energy(q1, limits) - barrier_energy(q0, limits)
    curved = height > bent * bent * way or abs(gain) * h * h > 0.5 * uneven * way
    if curved and way > 1e-20 * size:
        return TOO_CURVED
    return OK


@numba.njit(cache=True, error_model="numpy")
def flow(data, start, h, weight, pull, stiffness, limits, order):
    """A chord step (order 2) or three of Yoshida's (order 4): status, q1, p1, y1, J1."""
    n, k = start[3].shape
    q1, p1, y1, jacobian1 = np.empty(k), np.empty(k), np.empty(n), np.empty((n, k))
    if order == 2:
        status = chord_step(
            data, start, h, weight, pull, stiffness, limits, SECOND, q1, p1, y1, jacobian1
        )
        return status, q1, p1, y1, jacobian1
    q2, p2, y2, jacobian2 = np.empty(k), np.empty(k), np.empty(n), np.empty((n, k))
    outer, inner = _YOSHIDA * h, (1.0 - 2.0 * _YOSHIDA) * h
    status = chord_step(
        data, start, outer, weight, pull, stiffness, limits, _FOURTH, q1, p1, y1, jacobian1
    )
    if status == OK:
        middle = (q1, p1, y1, jacobian1)
        status = chord_step(
            data, middle, inner, weight, pull, stiffness, limits, _FOURTH, q2, p2, y2, jacobian2
        )
    if status == OK:
        middle = (q2, p2, y2, jacobian2)
        status = chord_step(
            data, middle, outer, weight, pull, stiffness, limits, _FOURTH, q1, p1, y1, jacobian1
        )
    return status, q1, p1, y1, jacobian1
