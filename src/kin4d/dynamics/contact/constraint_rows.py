"""Constraints of one step or instant, one row each, written into plain arrays."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from kin4d.dynamics.contact.impulses import CONTACT, LIMIT, MOTOR, contact_frames


class ConstraintArrays(NamedTuple):
    """N constraints on K coordinates.

    Attributes:
        kind: [N], see `solve_impulses` for what they mean.
        jacobian: [N, 3, K].
        velocity: [N, 3] without impulses, m/s.
        target: [N, 3] m/s.
        friction: [N] Coulomb's coefficient; of motors the largest impulse, N s or N m s.
        bounce: [N] m/s with which the two sides have to separate.
        impulse: [N, 3] N s, a guess before `solve_impulses`, which replaces it.
    """

    kind: np.ndarray
    jacobian: np.ndarray
    velocity: np.ndarray
    target: np.ndarray
    friction: np.ndarray
    bounce: np.ndarray
    impulse: np.ndarray


def empty_constraints(count: int, width: int) -> ConstraintArrays:
    """`count` constraints on `width` coordinates, to be written."""
    return ConstraintArrays(
        kind=np.zeros(count, np.int64),
        jacobian=np.zeros((count, 3, width)),
        velocity=np.zeros((count, 3)),
        target=np.zeros((count, 3)),
        friction=np.zeros(count),
        bounce=np.zeros(count),
        impulse=np.zeros((count, 3)),
    )


class ContactSides(NamedTuple):
    """Jacobians of the two sides of N contacts, in the columns of all coordinates.

    Attributes:
        one: [N, 3, k] Jacobians of the first side; k is 0 if it stands still.
        at_one: Its first column.
        other: [N, 3, k] of the second side.
        at_other: Its first column.
    """

    one: np.ndarray
    at_one: int
    other: np.ndarray
    at_other: int


@numba.njit(cache=True, error_model="numpy")
def _begin_contact(table, at, c, frame, sides, friction, guess):
    """Write kind, Jacobian, friction and first guess of contact c of `sides` into row `at`."""
    row = table.jacobian[at]
    row[:] = 0.0
    for a in range(3):
        table.impulse[at, a] = guess[a]
        for r in range(3):
            weight = frame[a, r]
            for i in range(sides.one.shape[2]):
                row[a, sides.at_one + i] += weight * sides.one[c, r, i]
            for i in range(sides.other.shape[2]):
                row[a, sides.at_other + i] -= weight * sides.other[c, r, i]
    table.kind[at], table.friction[at] = CONTACT, friction
    return row


@numba.njit(cache=True, error_model="numpy")
def position_rows(
    table, first, sides, index, gap, normal, warm_start, surface, start, end, displacement,
    velocity_change, velocities, h,
):  # fmt: skip
    """Contacts over a step.

    Args:
        table: They are written here, from row `first` on.
        first: See table.
        sides: Jacobians at the start of the step.
        index: [N] surface points of the first side.
        gap: [N] m at the end of the step.
        normal: [N, 3].
        warm_start: [C, 3] N s that acted last.
        surface: Friction, restitution, and m/s at most at which overlap is let out.
        start: [N, 3] m those points at the start of the step, if the first side moves.
        end: [S, 3] m all its surface points at the end.
        displacement: [K] of the coordinates.
        velocity_change: [K] the part of their mean velocity due to impulses found so far.
        velocities: [K] of the coordinates at the start of the step.
        h: Seconds.
    """
    friction, restitution, recovery = surface
    slow, frames = 4 * 9.81 * h, contact_frames(normal)
    own = sides.one.shape[2]
    for c in range(len(index)):
        at = first + c
        row = _begin_contact(table, at, c, frames[c], sides, friction, warm_start[index[c]])
        velocity, target = table.velocity[at], table.target[at]
        for a in range(3):
            # The first side's displacement is exact, that of the other linear.
            total = 0.0
            for i in range(len(displacement)):
                if i < sides.at_one or i >= sides.at_one + own:
                    total += row[a, i] * displacement[i]
            if own:
                for r in range(3):
                    total += frames[c, a, r] * (end[index[c], r] - start[c, r])
            velocity[a] = total / h
            target[a] = 0.0
        before, begun = gap[c] - h * velocity[0], 0.0
        for i in range(len(displacement)):
            begun += row[0, i] * velocities[i]
            for a in range(3):
                velocity[a] -= row[a, i] * velocity_change[i]
        after = before + h * velocity[0]
        if before > 0:
            target[0] = -before / h
        else:
            target[0] = min(-0.2 * before / h, recovery)
        # Normal speed at the moment of contact, between those at both ends of the step.
        share = min(max(before / max(before - after, 1e-30), 0.0), 1.0)
        speed = begun + share * 2.0 * (velocity[0] - begun)
        table.bounce[at] = -restitution * speed if speed < -slow else 0.0


@numba.njit(cache=True, error_model="numpy")
def velocity_rows(table, first, sides, index, normal, warm_start, friction, bounce, velocities):
    """Contacts at one instant that have to separate at `bounce` [N] (m/s); see `position_rows`."""
    frames = contact_frames(normal)
    for c in range(len(index)):
        at = first + c
        row = _begin_contact(table, at, c, frames[c], sides, friction, warm_start[index[c]])
        for a in range(3):
            total = 0.0
            for i in range(len(velocities)):
                total += row[a, i] * velocities[i]
            table.velocity[at, a], table.target[at, a] = total, 0.0
        table.target[at, 0] = bounce[c]


@numba.njit(cache=True, error_model="numpy")
def active_limits(q, limits, near, before):
    """Coordinates [N] and sides [N] (0 lower, 1 upper) of hard limits [k, 3] nearer than `near`,
    and of those active `before` [2, k]; and all of them as [2, k]."""
    hit, side, found = np.empty(2 * len(q), np.int64), np.empty(2 * len(q), np.int64), 0
    active = before.copy()
    for s in range(2):
        for i in range(len(q)):
            gap = q[i] - limits[i, 0] if s == 0 else limits[i, 1] - q[i]
            active[s, i] = active[s, i] or gap < near
            if active[s, i]:
                hit[found], side[found] = i, s
                found += 1
    return hit[:found].copy(), side[:found].copy(), active


@numba.njit(cache=True, error_model="numpy")
def _begin_limit(table, at, column, sign):
    table.jacobian[at] = 0.0
    table.jacobian[at, 0, column] = sign
    table.velocity[at] = 0.0
    table.target[at] = 0.0
    table.impulse[at] = 0.0
    table.kind[at], table.friction[at] = LIMIT, 0.0


@numba.njit(cache=True, error_model="numpy")
def limit_rows(
    table, first, hit, side, limits, start, end, velocity_change, velocities, column, h, back
):
    """Coordinates at hard limits over a step.

    Args:
        table: They are written here, from row `first` on.
        first: See table.
        hit: [N] which coordinates.
        side: [N] 0 for lower, 1 for upper.
        limits: [k, 3] lower, upper and restitution.
        start: [k] coordinates at the start of the step.
        end: [k] and at its end.
        velocity_change: [K] as in `position_rows`.
        velocities: [k] at the start of the step.
        column: Of the first coordinate.
        h: Seconds.
        back: 1/s: part of the excess beyond a limit that is taken back per second.
    """
    for c in range(len(hit)):
        at, i = first + c, hit[c]
        sign = 1.0 if side[c] == 0 else -1.0
        _begin_limit(table, at, column + i, sign)
        before = sign * (start[i] - limits[i, side[c]])
        table.velocity[at, 0] = sign * ((end[i] - start[i]) / h - velocity_change[column + i])
        table.target[at, 0] = -before * (1.0 / h if before > 0 else back)
        table.bounce[at] = limits[i, 2] * max(-sign * velocities[i], 0.0)


@numba.njit(cache=True, error_model="numpy")
def motor_rows(table, first, columns, velocity, target, most):
    """Motors over a step.

    Args:
        table: They are written here, from row `first` on.
        first: See table.
        columns: [N] which coordinates of all.
        velocity: [N] mean over the step without impulses, 1/s.
        target: [N] 1/s.
        most: [N] largest impulse, N s or N m s.
    """
    for c in range(len(columns)):
        at = first + c
        _begin_limit(table, at, columns[c], 1.0)
        table.kind[at], table.friction[at] = MOTOR, most[c]
        table.velocity[at, 0], table.target[at, 0] = velocity[c], target[c]


@numba.njit(cache=True, error_model="numpy")
def limit_velocity_rows(
    table, first, hit, side, limits, q, near, velocities, column, solved, solved_first
):
    """Those of the coordinates at hard limits that rest there, at one instant; how many.

    At rest is what an impulse acted on in the rows of `solved` from `solved_first` on, or is nearer
    than `near`; it has to separate with the bounce there. See `limit_rows`.
    """
    count = 0
    for c in range(len(hit)):
        i, sign = hit[c], 1.0 if side[c] == 0 else -1.0
        gap = sign * (q[i] - limits[i, side[c]])
        if solved.impulse[solved_first + c, 0] > 0 or gap < near:
            at = first + count
            _begin_limit(table, at, column + i, sign)
            table.velocity[at, 0] = sign * velocities[column + i]
            table.target[at, 0] = solved.bounce[solved_first + c]
            count += 1
    return count


@numba.njit(cache=True, error_model="numpy")
def warm_start_impulses(count, index, table, first):
    """[count, 3] N s of the rows from `first` on, at the contact points `index` [N]."""
    out = np.zeros((count, 3))
    for c in range(len(index)):
        out[index[c]] = table.impulse[first + c]
    return out
