"""TotalForces: the sum of all forces on an actor at one instant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kin4d.dynamics.forces.force import Force, ForceContext
from kin4d.dynamics.phase_state import PhaseState
from kin4d.kinematics.compiled.compiled_kinematics import CompiledKinematics

_NO_LIMITS = np.array([[-np.inf, np.inf, 0.0, 1.0]])


@dataclass(slots=True)
class TotalForces:
    """See `ForceTerms` for the parts.

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
    goals: tuple[tuple[int, np.ndarray], ...] = ()
    energy: float = 0.0

    def copy(self) -> TotalForces:
        """The same, to add to."""
        return TotalForces(*(getattr(self, name) for name in self.__slots__))

    def resistance(self, metric: np.ndarray) -> np.ndarray | None:
        """[k, k] all damping where the mass matrix is `metric`; None if there is none."""
        if not self.decay:
            return self.damping
        return self.decay * metric + (0.0 if self.damping is None else self.damping)


class ForceAccumulator:
    """Sums what forces on a thing answer; those that are steady are asked once.

    Args:
        map: The compiled body.
        forces: Everything that acts on it.
    """

    def __init__(self, map: CompiledKinematics, forces: Sequence[Force]) -> None:
        k = map.width
        self._map = map
        self._none = TotalForces(
            force=np.zeros(k),
            weight=np.zeros(map.size),
            pull=np.zeros(k),
            stiffness=np.zeros((k, k)),
            soft_limits=_NO_LIMITS.repeat(k, 0),
        )
        self._steady = [force for force in forces if getattr(force, "steady", False)]
        self._changing = [force for force in forces if not getattr(force, "steady", False)]
        self._base: TotalForces | None = None

    def at(self, state: ForceContext, phase: PhaseState) -> TotalForces:
        """Everything that acts in a state, which is that of `phase`."""
        if self._base is None:
            self._base = self._sum(self._none, self._steady, state, phase)
            # The energy of a weight is linear in y: it is added when y is known.
            self._base.energy += float(self._base.weight @ phase.y)
        out = self._sum(self._base, self._changing, state, phase)
        out.energy -= float(self._base.weight @ phase.y)
        return out

    def _sum(
        self, base: TotalForces, forces: list[Force], state: ForceContext, phase: PhaseState
    ) -> TotalForces:
        out, none = base.copy(), self._none
        for force in forces:
            load = force.load(state)
            out.energy += load.energy
            out.decay += load.decay
            if load.weight is not None:
                out.weight = out.weight + self._map.lift(load.weight)
                out.energy -= float(np.vdot(load.weight, state.points))
            if load.points is not None:
                out.force = out.force + phase.jacobian.T @ self._map.lift(load.points)
            if load.coordinates is not None:
                out.force = out.force + load.coordinates
            for at, pushed in load.sites:
                out.force = out.force + pushed @ state.site(at)[2]
            if load.panels is not None:
                out.force = out.force + load.panels.ravel() @ state.panel_columns
            if load.stiffness is not None:
                added = np.diag(load.stiffness) if load.stiffness.ndim == 1 else load.stiffness
                out.stiffness = added if out.stiffness is none.stiffness else out.stiffness + added
            if load.pull is not None:
                out.pull = load.pull if out.pull is none.pull else out.pull + load.pull
            if load.damping is not None:
                out.damping = load.damping if out.damping is None else out.damping + load.damping
            if load.soft_limits is not None:
                out.soft_limits = load.soft_limits
            if load.stops is not None:
                out.stops = load.stops
            for at, target in load.goals:
                out.goals = (*out.goals, (state.sites[at], target))
        return out
