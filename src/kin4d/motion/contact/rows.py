"""Rows: the constraints of one instant, gathered in plain arrays, and the impulses they need."""

from __future__ import annotations

import numba
import numpy as np

from kin4d.motion.contact.solve import frames_of, solve_impulses

_SWEEPS = 100
_MOST = 64  # Constraints there is room for at first.


class Rows:
    """Constraints on K coordinates; see `solve_impulses` for what they mean.

    Attributes:
        count: N, how many there are.
        kind: [N].
        jacobian: [N, 3, K].
        velocity: [N, 3] without impulses, m/s.
        target: [N, 3] m/s.
        friction: [N].
        bounce: [N] m/s with which what meets here has to part.
        impulse: [N, 3] N s, guessed before `solve` and found by it.
    """

    def __init__(self, width: int) -> None:
        self.count, self._width = 0, width
        self._room(_MOST)

    def _room(self, most: int) -> None:
        old = self.count and self._all()
        self._kind = np.zeros(most, np.int64)
        self._jacobian = np.zeros((most, 3, self._width))
        self._velocity, self._target = np.zeros((most, 3)), np.zeros((most, 3))
        self._friction, self._bounce = np.zeros(most), np.zeros(most)
        self._impulse = np.zeros((most, 3))
        if old:
            for array, kept in zip(self._arrays(), old, strict=True):
                array[: self.count] = kept

    def _arrays(self):
        return (
            self._kind,
            self._jacobian,
            self._velocity,
            self._target,
            self._friction,
            self._bounce,
            self._impulse,
        )

    def _all(self):
        return [array[: self.count] for array in self._arrays()]

    def clear(self) -> None:
        """Forget all constraints."""
        self.count = 0

    def add(self, count: int, kind: int):
        """Room for `count` more: jacobian, velocity, target, friction, bounce, guess (views)."""
        first, self.count = self.count, self.count + count
        if self.count > len(self._kind):
            self.count = first
            self._room(2 * (first + count))
            self.count = first + count
        new = slice(first, self.count)
        self._kind[new] = kind
        self._jacobian[new] = 0.0
        self._impulse[new] = 0.0
        return (
            self._jacobian[new],
            self._velocity[new],
            self._target[new],
            self._friction[new],
            self._bounce[new],
            self._impulse[new],
        )

    def bounce(self, first: int, count: int) -> np.ndarray:
        """[count] m/s of the constraints from `first` on."""
        return self._bounce[first : first + count]

    def solve(self, inverses: np.ndarray, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
        """Impulses [N, 3] (a view) and what they add up to on the coordinates [K].

        Args:
            inverses: [K, K] inverse mass matrix.
            tolerance: m/s.
        """
        kind, jacobian, velocity, target, friction, _, impulse = self._all()
        total = solve_impulses(
            kind, jacobian, inverses, velocity, target, friction, impulse, _SWEEPS, tolerance
        )
        return impulse, total


@numba.njit(cache=True, error_model="numpy")
def write_jacobian(out, normals, first, at_first, second, at_second):
    """Write relative velocities in the contact frames [N, 3, K] of two sides' [N, 3, k]."""
    frames = frames_of(normals)
    for c in range(len(out)):
        for a in range(3):
            for r in range(3):
                weight = frames[c, a, r]
                for i in range(first.shape[2]):
                    out[c, a, at_first + i] += weight * first[c, r, i]
                for i in range(second.shape[2]):
                    out[c, a, at_second + i] -= weight * second[c, r, i]
    return frames


@numba.njit(cache=True, error_model="numpy")
def write_touches(
    out, velocity, target, bounce, frames, gap, way, own, moved, change, rates, h, recovery,
    restitution,
):  # fmt: skip
    """Velocities, targets and bounces of touches over a step.

    Args:
        out: [N, 3, K] their Jacobians.
        velocity: [N, 3] m/s is written: the mean over the step, without impulses.
        target: [N, 3] m/s is written: what brings each to the surface at the end of the step.
        bounce: [N] m/s is written.
        frames: [N, 3, 3] contact frames.
        gap: [N] m at the end of the step.
        way: [N, 3] m the first side's points go.
        own: First and last column of the first side, whose `way` is exact.
        moved: [K] what the coordinates change by.
        change: [K] the part of their mean rates that impulses found so far make.
        rates: [K] at the start of the step.
        h: Seconds.
        recovery: m/s at most, with which what is inside is let out.
        restitution: Of the pair.
    """
    slow = 4 * 9.81 * h
    for c in range(len(out)):
        start = 0.0
        for a in range(3):
            total = 0.0
            for i in range(out.shape[2]):
                if i < own[0] or i >= own[1]:
                    total += out[c, a, i] * moved[i]
            for r in range(3):
                total += frames[c, a, r] * way[c, r]
            velocity[c, a] = total / h
            target[c, a] = 0.0
        before = gap[c] - h * velocity[c, 0]
        for i in range(out.shape[2]):
            start += out[c, 0, i] * rates[i]
            for a in range(3):
                velocity[c, a] -= out[c, a, i] * change[i]
        end = before + h * velocity[c, 0]
        if before > 0:
            target[c, 0] = -before / h
        else:
            target[c, 0] = min(-0.2 * before / h, recovery)
        # Normal speed at the moment of touching, between those at both ends of the step.
        share = min(max(before / max(before - end, 1e-30), 0.0), 1.0)
        speed = start + share * 2.0 * (velocity[c, 0] - start)
        bounce[c] = -restitution * speed if speed < -slow else 0.0


@numba.njit(cache=True, error_model="numpy")
def at_stops(q, stops, side, near, held):
    """Coordinates [N] nearer than `near` to a side of stops [k, 3], or `held` [k] there before.

    They are held from now on.
    """
    out, found = np.empty(len(q), np.int64), 0
    for i in range(len(q)):
        gap = q[i] - stops[i, 0] if side == 0 else stops[i, 1] - q[i]
        held[i] = held[i] or gap < near
        if held[i]:
            out[found] = i
            found += 1
    return out[:found].copy()


@numba.njit(cache=True, error_model="numpy")
def write_stops(
    out, velocity, target, bounce, hit, stops, side, start, end, change, rates, first, h, back
):
    """Jacobians, velocities, targets and bounces of coordinates at stops over a step.

    Args:
        out: [N, 3, K] zeros, and the following as in `write_touches`.
        velocity: [N, 3].
        target: [N, 3].
        bounce: [N].
        hit: [N] which coordinates.
        stops: [k, 3] lower, upper and restitution.
        side: 0 for lower, 1 for upper.
        start: [k] coordinates at the start of the step.
        end: [k] and at its end.
        change: [K] as in `write_touches`.
        rates: [k] at the start of the step.
        first: Column of the first coordinate.
        h: Seconds.
        back: 1/s: part of the way beyond a stop that is taken back per second.
    """
    sign = 1.0 if side == 0 else -1.0
    for c in range(len(hit)):
        i = hit[c]
        out[c, 0, first + i] = sign
        velocity[c] = 0.0
        target[c] = 0.0
        before = sign * (start[i] - stops[i, side])
        velocity[c, 0] = sign * ((end[i] - start[i]) / h - change[first + i])
        target[c, 0] = -before * (1.0 / h if before > 0 else back)
        bounce[c] = stops[i, 2] * max(-sign * rates[i], 0.0)
