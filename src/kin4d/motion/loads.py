"""Loads: all that acts on a thing at one instant, summed."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kin4d.motion.forces.force import Load, State
from kin4d.motion.maps.point_map import PointMap
from kin4d.motion.phase import Phase

_NO_LIMITS = np.array([[-np.inf, np.inf, 0.0, 1.0]])


@dataclass(slots=True)
class Loads:
    """See `Load` for the parts.

    Attributes:
        force: [k] generalised force of everything that is neither weight nor implicit.
        weight: [n] covector on the embedding.
        pull: [k] and stiffness [k, k] of the implicit part.
        stiffness: See pull.
        soft_limits: [k, 4].
        damping: [k, k] or None, and `decay` (1/s): a force -(damping + decay G) dq/dt.
        decay: See damping.
        stops: [k, 3] or None.
        goals: Places that are led, as (index of the place, position [3]).
        energy: Joules.
    """

    force: np.ndarray
    weight: np.ndarray
    pull: np.ndarray
    stiffness: np.ndarray
    soft_limits: np.ndarray
    damping: np.ndarray | None = None
    decay: float = 0.0
    stops: np.ndarray | None = None
    goals: list[tuple[int, np.ndarray]] = field(default_factory=list)
    energy: float = 0.0

    def resistance(self, metric: np.ndarray) -> np.ndarray | None:
        """[k, k] all damping where the mass matrix is `metric`; None if there is none."""
        if not self.decay:
            return self.damping
        return self.decay * metric + (0.0 if self.damping is None else self.damping)


class Summed:
    """Sums what forces answer, for one map."""

    def __init__(self, map: PointMap) -> None:
        k = map.width
        self._map = map
        self._nothing, self._free = np.zeros(k), np.zeros((k, k))
        self._no_limits, self._no_weight = _NO_LIMITS.repeat(k, 0), np.zeros(map.size)
        # The last weight on the mass points, what it is on the embedding, and the energy at y = 0.
        self._weight: tuple[np.ndarray | None, np.ndarray, float] = (None, self._no_weight, 0.0)

    def of(self, loads: list[Load], state: State, phase: Phase) -> Loads:
        """Everything that acts in a state, which is that of `phase`."""
        out = Loads(self._nothing, self._no_weight, self._nothing, self._free, self._no_limits)
        points = weight = None
        for load in loads:
            out.energy += load.energy
            out.decay += load.decay
            if load.weight is not None:
                weight = load.weight if weight is None else weight + load.weight
            if load.points is not None:
                points = load.points if points is None else points + load.points
            if load.coordinates is not None:
                out.force = out.force + load.coordinates
            for at, pushed in load.sites:
                out.force = out.force + pushed @ state.site(at)[2]
            if load.panels is not None:
                out.force = out.force + load.panels.ravel() @ state.panel_columns
            if load.stiffness is not None:
                added = np.diag(load.stiffness) if load.stiffness.ndim == 1 else load.stiffness
                out.stiffness = added if out.stiffness is self._free else out.stiffness + added
            if load.pull is not None:
                out.pull = load.pull if out.pull is self._nothing else out.pull + load.pull
            if load.damping is not None:
                out.damping = load.damping if out.damping is None else out.damping + load.damping
            if load.soft_limits is not None:
                out.soft_limits = load.soft_limits
            if load.stops is not None:
                out.stops = load.stops
            for at, target in load.goals:
                out.goals.append((state.sites[at], target))
        if points is not None:
            out.force = out.force + phase.jacobian.T @ self._map.lift(points)
        if weight is not None:
            known, lifted, offset = self._weight
            if weight is not known:
                lifted = self._map.lift(weight)
                offset = float(np.vdot(weight, state.points) - lifted @ phase.y)
                self._weight = (weight, lifted, offset)
            out.weight = lifted
            out.energy -= offset + float(lifted @ phase.y)
        return out
