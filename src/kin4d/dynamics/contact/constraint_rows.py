"""Rows: the constraints of one instant, gathered in plain arrays, and the impulses they need."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from kin4d.dynamics.contact.impulses import STOP, TOUCH, contact_frames, solve_impulses

_SWEEPS = 100
_MOST = 64  # Constraints there is room for at first.


class ConstraintArrays(NamedTuple):
    """Constraints on K coordinates, as compiled code sees them; there may be room for more.

    Attributes:
        kind: [N], see `solve_impulses` for what they mean.
        jacobian: [N, 3, K].
        velocity: [N, 3] without impulses, m/s.
        target: [N, 3] m/s.
        friction: [N].
        bounce: [N] m/s with which what meets here has to part.
        impulse: [N, 3] N s, guessed before `Rows.solve` and found by it.
    """

    kind: np.ndarray
    jacobian: np.ndarray
    velocity: np.ndarray
    target: np.ndarray
    friction: np.ndarray
    bounce: np.ndarray
    impulse: np.ndarray


class ConstraintRows:
    """Constraints on K coordinates.

    Attributes:
        count: How many of the table are in use.
        table: The constraints.
    """

    def __init__(self, width: int) -> None:
        self.count = 0
        self.table = _empty(_MOST, width)

    def reserve(self, count: int) -> int:
        """Room for `count` more, which are to be written from the returned one on."""
        first, self.count = self.count, self.count + count
        if self.count > len(self.table.kind):
            old, self.table = self.table, _empty(2 * self.count, self.table.jacobian.shape[2])
            for array, kept in zip(self.table, old, strict=True):
                array[:first] = kept[:first]
        return first

    def solve(self, inverses: np.ndarray, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
        """Impulses [N, 3] (a view) and what they add up to on the coordinates [K].

        Args:
            inverses: [K, K] inverse mass matrix.
            tolerance: m/s.
        """
        total = solve_impulses(self.table, self.count, inverses, _SWEEPS, tolerance)
        return self.table.impulse[: self.count], total


def _empty(most: int, width: int) -> ConstraintArrays:
    shapes = ((), (3, width), (3,), (3,), (), (), (3,))
    return ConstraintArrays(
        np.zeros(most, np.int64), *(np.zeros((most, *shape)) for shape in shapes[1:])
    )


class ContactSides(NamedTuple):
    """How the two sides of N touches move, in the columns of all coordinates.

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
def _begin_touch(table, at, c, frame, sides, friction, guess):
    """Write kind, Jacobian, friction and first guess of the touch c of `sides` into row `at`."""
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
    table.kind[at], table.friction[at] = TOUCH, friction
    return row


@numba.njit(cache=True, error_model="numpy")
def position_rows(
    table, first, sides, index, gap, normal, memory, surface, start, end, moved, change, rates, h
):
    """Touches over a step.

    Args:
        table: They are written here, from row `first` on.
        first: See table.
        sides: Jacobians at the start of the step.
        index: [N] places of the first side.
        gap: [N] m at the end of the step.
        normal: [N, 3].
        memory: [C, 3] N s that acted last.
        surface: Friction, restitution, and m/s at most with which what is inside is let out.
        start: [N, 3] m places of the first side at the start of the step, if it moves.
        end: [S, 3] m all its places at the end.
        moved: [K] what the coordinates change by.
        change: [K] the part of their mean rates that impulses found so far make.
        rates: [K] at the start of the step.
        h: Seconds.
    """
    friction, restitution, recovery = surface
    slow, frames = 4 * 9.81 * h, contact_frames(normal)
    own = sides.one.shape[2]
    for c in range(len(index)):
        at = first + c
        row = _begin_touch(table, at, c, frames[c], sides, friction, memory[index[c]])
        velocity, target = table.velocity[at], table.target[at]
        for a in range(3):
            # The way of the first side is exact, that of the other linear.
            total = 0.0
            for i in range(len(moved)):
                if i < sides.at_one or i >= sides.at_one + own:
                    total += row[a, i] * moved[i]
            if own:
                for r in range(3):
                    total += frames[c, a, r] * (end[index[c], r] - start[c, r])
            velocity[a] = total / h
            target[a] = 0.0
        before, begun = gap[c] - h * velocity[0], 0.0
        for i in range(len(moved)):
            begun += row[0, i] * rates[i]
            for a in range(3):
                velocity[a] -= row[a, i] * change[i]
        after = before + h * velocity[0]
        if before > 0:
            target[0] = -before / h
        else:
            target[0] = min(-0.2 * before / h, recovery)
        # Normal speed at the moment of touching, between those at both ends of the step.
        share = min(max(before / max(before - after, 1e-30), 0.0), 1.0)
        speed = begun + share * 2.0 * (velocity[0] - begun)
        table.bounce[at] = -restitution * speed if speed < -slow else 0.0


@numba.njit(cache=True, error_model="numpy")
def velocity_rows(table, first, sides, index, normal, memory, friction, bounce, rates):
    """Touches at one instant, which have to part with `bounce` [N] (m/s); see `position_rows`."""
    frames = contact_frames(normal)
    for c in range(len(index)):
        at = first + c
        row = _begin_touch(table, at, c, frames[c], sides, friction, memory[index[c]])
        for a in range(3):
            total = 0.0
            for i in range(len(rates)):
                total += row[a, i] * rates[i]
            table.velocity[at, a], table.target[at, a] = total, 0.0
        table.target[at, 0] = bounce[c]


@numba.njit(cache=True, error_model="numpy")
def active_limits(q, stops, near, held):
    """Coordinates [N] and sides [N] (0 lower, 1 upper) of stops [k, 3] nearer than `near`.

    And those `held` [2, k] there before; they are held from now on.
    """
    hit, side, found = np.empty(2 * len(q), np.int64), np.empty(2 * len(q), np.int64), 0
    for s in range(2):
        for i in range(len(q)):
            gap = q[i] - stops[i, 0] if s == 0 else stops[i, 1] - q[i]
            held[s, i] = held[s, i] or gap < near
            if held[s, i]:
                hit[found], side[found] = i, s
                found += 1
    return hit[:found].copy(), side[:found].copy()


@numba.njit(cache=True, error_model="numpy")
def _begin_stop(table, at, column, sign):
    table.jacobian[at] = 0.0
    table.jacobian[at, 0, column] = sign
    table.velocity[at] = 0.0
    table.target[at] = 0.0
    table.impulse[at] = 0.0
    table.kind[at], table.friction[at] = STOP, 0.0


@numba.njit(cache=True, error_model="numpy")
def limit_rows(table, first, hit, side, stops, start, end, change, rates, column, h, back):
    """Coordinates at stops over a step.

    Args:
        table: They are written here, from row `first` on.
        first: See table.
        hit: [N] which coordinates.
        side: [N] 0 for lower, 1 for upper.
        stops: [k, 3] lower, upper and restitution.
        start: [k] coordinates at the start of the step.
        end: [k] and at its end.
        change: [K] as in `position_rows`.
        rates: [k] at the start of the step.
        column: Of the first coordinate.
        h: Seconds.
        back: 1/s: part of the way beyond a stop that is taken back per second.
    """
    for c in range(len(hit)):
        at, i = first + c, hit[c]
        sign = 1.0 if side[c] == 0 else -1.0
        _begin_stop(table, at, column + i, sign)
        before = sign * (start[i] - stops[i, side[c]])
        table.velocity[at, 0] = sign * ((end[i] - start[i]) / h - change[column + i])
        table.target[at, 0] = -before * (1.0 / h if before > 0 else back)
        table.bounce[at] = stops[i, 2] * max(-sign * rates[i], 0.0)


@numba.njit(cache=True, error_model="numpy")
def limit_velocity_rows(table, first, hit, side, stops, q, near, rates, column, known, known_at):
    """Those of the coordinates at stops that were stopped, at one instant; how many.

    Stopped is what an impulse acted on in the rows of `known` from `known_at` on, or is nearer than
    `near`; it has to part with the bounce there. See `limit_rows`.
    """
    count = 0
    for c in range(len(hit)):
        i, sign = hit[c], 1.0 if side[c] == 0 else -1.0
        gap = sign * (q[i] - stops[i, side[c]])
        if known.impulse[known_at + c, 0] > 0 or gap < near:
            at = first + count
            _begin_stop(table, at, column + i, sign)
            table.velocity[at, 0] = sign * rates[column + i]
            table.target[at, 0] = known.bounce[known_at + c]
            count += 1
    return count


@numba.njit(cache=True, error_model="numpy")
def store_impulses(memory, index, table, first):
    """Keep impulses of the rows from `first` on, as first guesses [C, 3] for the next step."""
    memory[:] = 0.0
    for c in range(len(index)):
        memory[index[c]] = table.impulse[first + c]
