"""Motion between hard stops, to many digits: impacts are located, held stops bear their load.

Between impacts the equation of motion is integrated by Dormand and Prince's scheme of eighth order
with error control. A coordinate that meets its stop loses its speed there without bouncing; those
that rest on stops are held by forces that push and never pull, found with the accelerations as one
linear complementarity problem (Moreau's law of inelastic impact and unilateral contact).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.integrate import DOP853, DenseOutput
from scipy.optimize import brentq, nnls

_RELATIVE, _ABSOLUTE = 1e-9, 1e-10  # errors of one step
_LONGEST = 2e-3  # s: nothing goes beyond a stop and comes back within one step
_AT_STOP = 1e-11  # rad or m
_AT_REST = 1e-4  # rad/s or m/s: what is slower at a stop stays; two stops would chatter otherwise
_MOST_IMPACTS = 100_000

Forces = Callable[[float, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


def integrate_with_impacts(
    forces: Forces,
    limits: np.ndarray,
    q: np.ndarray,
    qd: np.ndarray,
    times: np.ndarray,
    *,
    edges: Sequence[float] = (),
) -> tuple[np.ndarray, int]:
    """Coordinates [T, k] at `times` [T] (s), and how many impacts there were.

    Args:
        forces: Mass matrix [k, k] and generalised force [k] of (time, q, qd). Between `edges`
            they do not change with time.
        limits: [k, 2] where coordinates stop; infinite where they do not.
        q: [k] at times[0], within the limits.
        qd: [k] 1/s.
        times: Ascending.
        edges: Times (s) at which forces may jump.
    """
    k, now = len(q), float(times[0])
    stops = _Stops(limits)
    state = stops.met(forces, now, np.concatenate([q, qd]))
    found = [q]
    for end in sorted({*times[1:].tolist(), *(e for e in edges if times[0] < e < times[-1])}):
        while now < end:
            changed, now, state = _until_change(forces, stops, now, state, end)
            if changed:
                state = stops.met(forces, now, state)
                if stops.impacts > _MOST_IMPACTS:
                    raise RuntimeError(f"joints hit their stops without end at {now:.6g} s")
        if end in times:
            found.append(state[:k].copy())
    return np.stack(found), stops.impacts


def _until_change(forces: Forces, stops: _Stops, now: float, state: np.ndarray, end: float):
    """Whether a stop was met (or left) before `end`, when that was, and the state then."""
    middle = 0.5 * (now + end)

    def slope(_: float, state: np.ndarray) -> np.ndarray:
        q, qd = np.split(state, 2)
        mass, force = forces(middle, q, qd)
        return np.concatenate([qd, stops.acceleration(mass, force)])

    solver = DOP853(slope, now, state, end, max_step=_LONGEST, rtol=_RELATIVE, atol=_ABSOLUTE)
    while solver.status == "running":
        before = solver.t
        solver.step()
        if solver.status == "failed":
            raise RuntimeError(f"the reference cannot be integrated beyond {solver.t:.6g} s")
        beyond = np.flatnonzero(stops.free & (stops.gaps(solver.y) < -_AT_STOP))
        if len(beyond):
            path = solver.dense_output()
            now = min(_crossing(stops, path, i, before, solver.t) for i in beyond.tolist())
            return True, now, path(now)
        if (~stops.free & (stops.gaps(solver.y) > _AT_STOP)).any():
            return True, solver.t, solver.y
    return False, end, solver.y


def _crossing(stops: _Stops, path: DenseOutput, stop: int, start: float, end: float) -> float:
    """When a path between two times meets a stop that it is beyond at the end."""
    found = brentq(lambda t: stops.gaps(path(t))[stop] + _AT_STOP, start, end, xtol=1e-13)
    return float(found)  # pyright: ignore[reportArgumentType]


class _Stops:
    """Lower and upper stops of all coordinates, 2k of them; `free` says which are not held.

    `impacts` counts the times when some were hit.
    """

    def __init__(self, limits: np.ndarray) -> None:
        k = len(limits)
        self.rows = np.concatenate([np.eye(k), -np.eye(k)])
        self._at = np.concatenate([limits[:, 0], -limits[:, 1]])
        self.free = np.ones(2 * k, bool)
        self.impacts = 0

    def gaps(self, state: np.ndarray) -> np.ndarray:
        """[2k] how far coordinates are from their stops."""
        return self.rows @ state[: len(state) // 2] - self._at

    def met(self, forces: Forces, now: float, state: np.ndarray) -> np.ndarray:
        """The state after inelastic impact at every stop that is reached; they are held then."""
        q, qd = (part.copy() for part in np.split(state, 2))
        reached = self.gaps(state) < _AT_STOP
        rows = self.rows[reached]
        mass, _ = forces(now, q, qd)
        impulse = _bearing(rows, mass, rows @ qd)
        self.impacts += bool(impulse.any())
        qd += np.linalg.solve(mass, rows.T @ impulse)
        self.free = ~reached
        self.free[reached] = rows @ qd > _AT_REST
        q[np.abs(rows).argmax(1)] = rows.sum(1) * self._at[reached]
        qd[np.abs(self.rows[~self.free]).argmax(1)] = 0.0
        return np.concatenate([q, qd])

    def acceleration(self, mass: np.ndarray, force: np.ndarray) -> np.ndarray:
        """[k] with what held stops bear."""
        free = np.linalg.solve(mass, force)
        rows = self.rows[~self.free]
        if not len(rows):
            return free
        return free + np.linalg.solve(mass, rows.T @ _bearing(rows, mass, rows @ free))


def _bearing(rows: np.ndarray, mass: np.ndarray, without: np.ndarray) -> np.ndarray:
    """Least p >= 0 with rows (M^-1 rows^T p) + without >= 0, and p zero where that is more."""
    if not (without < 0).any():
        return np.zeros(len(rows))
    # With M = L L^T and B = L^-1 rows^T the conditions are those of min |B p + c|, B^T c = without.
    factor = np.linalg.solve(np.linalg.cholesky(mass), rows.T)
    target = np.linalg.lstsq(factor.T, without, rcond=None)[0]
    return nnls(factor, -target)[0]
