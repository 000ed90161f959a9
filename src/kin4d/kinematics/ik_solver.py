"""Levenberg-Marquardt on one chain, within its joint limits, in compiled code.

The error is the pose's own, metres of position and radians of rotation, so what is minimised is
what is reported. Joints at a limit that the error pushes outwards are kept there (an active set)
and every trial is clamped, so no iterate ever leaves the limits.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from kin4d.kinematics.chain import chain_fk, pose_error


class SolverSettings(NamedTuple):
    """Numbers of a solve, as compiled code takes them; see `IkConfig`.

    Attributes:
        position_tolerance: m.
        rotation_tolerance: rad.
        iterations: Of Levenberg-Marquardt, at most, from each start.
        metres_per_radian: Position error that weighs as much as one radian.
        damping: Of the first iteration.
        posture_steps: Steps towards the posture, at most.
        posture_gain: Share of the remaining distance that each of them goes.
    """

    position_tolerance: float
    rotation_tolerance: float
    iterations: int
    metres_per_radian: float
    damping: float
    posture_steps: int
    posture_gain: float


@numba.njit(cache=True, error_model="numpy")
def solve_pose(chain, q, target, lower, upper, settings, starts, posture):
    """Move q [n] in place to `target` [3, 4], from itself or else from each of starts [R, n].

    Stops at the first success; where none succeeds q becomes the closest attempt. Full turns
    that a restart adds are removed. Then q moves towards the posture [n]; see `nullspace_relax`.

    Returns:
        Position error (m), rotation error (rad), iterations used.
    """
    first, best = q.copy(), q.copy()
    metres, radians, used = levenberg_marquardt(
        chain, q, target, lower, upper, settings, settings.iterations
    )
    least, attempt = metres + settings.metres_per_radian * radians, 0
    best[:] = q
    while not _within(metres, radians, settings) and attempt < len(starts):
        q[:] = starts[attempt]
        position, rotation, extra = levenberg_marquardt(
            chain, q, target, lower, upper, settings, settings.iterations
        )
        attempt, used = attempt + 1, used + extra
        error = position + settings.metres_per_radian * rotation
        if error < least:
            least, metres, radians = error, position, rotation
            best[:] = q
    q[:] = best
    if attempt > 0:
        _unwind(chain, q, first)
    if settings.posture_steps > 0:
        metres, radians, extra = nullspace_relax(chain, q, target, lower, upper, settings, posture)
        used += extra
    return metres, radians, used


@numba.njit(cache=True, error_model="numpy")
def levenberg_marquardt(chain, q, target, lower, upper, settings, iterations):
    """Move q [n] in place towards `target` [3, 4], within lower and upper [n].

    Returns:
        Position error (m), rotation error (rad), iterations used.
    """
    n = len(q)
    weight = np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    weight[3:] = settings.metres_per_radian**2
    pose, error, trial_error = np.empty((3, 4)), np.empty(6), np.empty(6)
    jacobian, trial_jacobian = np.empty((6, n)), np.empty((6, n))
    gradient, step, trial = np.empty(n), np.empty(n), np.empty(n)
    normal, factor = np.empty((n, n)), np.empty((n, n))
    free = np.empty(n, np.bool_)
    chain_fk(chain, q, pose, jacobian)
    pose_error(pose, target, error)
    cost = _cost(error, weight)
    damping, used = settings.damping, 0
    while used < iterations and not _within(_position(error), _rotation(error), settings):
        used += 1
        downhill = 0.0
        for i in range(n):
            gradient[i] = 0.0
            for r in range(6):
                gradient[i] += jacobian[r, i] * weight[r] * error[r]
            for j in range(i + 1):
                normal[i, j] = 0.0
                for r in range(6):
                    normal[i, j] += jacobian[r, i] * weight[r] * jacobian[r, j]
            free[i] = (q[i] > lower[i] or gradient[i] > 0) and (q[i] < upper[i] or gradient[i] < 0)
            if free[i]:
                downhill += gradient[i] ** 2
        if downhill < 1e-12 * cost:
            break
        change, trial_cost = np.inf, np.inf
        while trial_cost >= cost and change > 1e-9:
            _solve(normal, gradient, free, damping, factor, step)
            change = 0.0
            for i in range(n):
                trial[i] = min(max(q[i] + step[i], lower[i]), upper[i])
                change = max(change, abs(trial[i] - q[i]))
            chain_fk(chain, trial, pose, trial_jacobian)
            pose_error(pose, target, trial_error)
            trial_cost = _cost(trial_error, weight)
            if trial_cost >= cost:
                damping = max(4.0 * damping, 1e-6)
        if trial_cost >= cost:
            break
        q[:] = trial
        error, trial_error = trial_error, error
        jacobian, trial_jacobian = trial_jacobian, jacobian
        cost = trial_cost
        damping = 0.2 * damping
    return _position(error), _rotation(error), used


@numba.njit(cache=True, error_model="numpy")
def nullspace_relax(chain, q, target, lower, upper, settings, posture):
    """Move q [n] in place towards `posture` [n] through configurations that reach `target`.

    Each step goes `posture_gain` of the distance that the null space of the Jacobian allows; where
    it loses the target or gets no nearer to the posture, a smaller one is tried.

    Returns:
        As `levenberg_marquardt`.
    """
    n = len(q)
    pose, error = np.empty((3, 4)), np.empty(6)
    jacobian, normal, factor = np.empty((6, n)), np.empty((6, 6)), np.empty((6, 6))
    task, load, every = np.empty(6), np.empty(6), np.ones(6, np.bool_)
    slide, trial, free = np.empty(n), np.empty(n), np.empty(n, np.bool_)
    chain_fk(chain, q, pose, jacobian)
    pose_error(pose, target, error)
    metres, radians, used = _position(error), _rotation(error), 0
    if not _within(metres, radians, settings):
        return metres, radians, used
    for _ in range(settings.posture_steps):
        chain_fk(chain, q, pose, jacobian)
        free[:] = True
        blocked = True
        while blocked:
            blocked = False
            for r in range(6):
                load[r] = 0.0
                for i in range(n):
                    if free[i]:
                        load[r] += jacobian[r, i] * (posture[i] - q[i])
                for s in range(r + 1):
                    normal[r, s] = 0.0
                    for i in range(n):
                        if free[i]:
                            normal[r, s] += jacobian[r, i] * jacobian[s, i]
            _solve(normal, load, every, 1e-9, factor, task)
            for i in range(n):
                slide[i] = 0.0
                if free[i]:
                    slide[i] = posture[i] - q[i]
                    for r in range(6):
                        slide[i] -= jacobian[r, i] * task[r]
                    below = q[i] <= lower[i] and slide[i] < 0
                    if below or (q[i] >= upper[i] and slide[i] > 0):
                        free[i], blocked = False, True
        distance = _distance(q, posture)
        moved, part = False, settings.posture_gain
        while not moved and part > 0.02 * settings.posture_gain:
            for i in range(n):
                trial[i] = min(max(q[i] + part * slide[i], lower[i]), upper[i])
            position, rotation, extra = levenberg_marquardt(
                chain, trial, target, lower, upper, settings, 10
            )
            used += extra
            nearer = _distance(trial, posture) < distance - 1e-9
            moved = nearer and _within(position, rotation, settings)
            part *= 0.5
        if not moved:
            break
        q[:] = trial
        metres, radians = position, rotation
        if distance - _distance(q, posture) < 1e-6:
            break
    return metres, radians, used


@numba.njit(cache=True, error_model="numpy")
def _unwind(chain, q, near):
    """Remove full turns from q [n] in place, where that comes nearer to `near` [n]."""
    for i in range(len(q)):
        unwound = q[i] - 2 * np.pi * np.round((q[i] - near[i]) / (2 * np.pi))
        if chain.periodic[i] and chain.lower[i] <= unwound <= chain.upper[i]:
            q[i] = unwound


@numba.njit(cache=True, error_model="numpy")
def _solve(normal, gradient, free, damping, factor, step):
    """step = (normal + damping)^-1 gradient over the free rows, by Cholesky; zero elsewhere."""
    n = len(step)
    for i in range(n):
        for j in range(i + 1):
            total = normal[i, j] if free[i] and free[j] else 0.0
            if i == j:
                total = total + damping if free[i] else 1.0
            for m in range(j):
                total -= factor[i, m] * factor[j, m]
            if i == j:
                factor[i, i] = np.sqrt(max(total, 1e-30))
            else:
                factor[i, j] = total / factor[j, j]
    for i in range(n):
        total = gradient[i] if free[i] else 0.0
        for m in range(i):
            total -= factor[i, m] * step[m]
        step[i] = total / factor[i, i]
    for i in range(n - 1, -1, -1):
        total = step[i]
        for m in range(i + 1, n):
            total -= factor[m, i] * step[m]
        step[i] = total / factor[i, i]


@numba.njit(cache=True, error_model="numpy")
def _cost(error, weight):
    total = 0.0
    for r in range(6):
        total += weight[r] * error[r] ** 2
    return total


@numba.njit(cache=True, error_model="numpy")
def _position(error):
    return np.sqrt(error[0] ** 2 + error[1] ** 2 + error[2] ** 2)


@numba.njit(cache=True, error_model="numpy")
def _rotation(error):
    return np.sqrt(error[3] ** 2 + error[4] ** 2 + error[5] ** 2)


@numba.njit(cache=True, error_model="numpy")
def _within(metres, radians, settings):
    return metres <= settings.position_tolerance and radians <= settings.rotation_tolerance


@numba.njit(cache=True, error_model="numpy")
def _distance(q, posture):
    total = 0.0
    for i in range(len(q)):
        total += (q[i] - posture[i]) ** 2
    return np.sqrt(total)
