"""ActorState: coordinates and momentum of one actor, and the forces on it at this instant."""

from __future__ import annotations

import numpy as np

from kin4d.dynamics.contact.collide import PointSet, make_point_set
from kin4d.dynamics.contact.contact_points import (
    merge_point_sets,
    nearest_surface_point,
    surface_elements,
)
from kin4d.dynamics.forces import Force, ForceContext
from kin4d.dynamics.forces.force import ActorConstants, Place, SurfaceElements
from kin4d.dynamics.phase_state import PhaseState
from kin4d.dynamics.scene import Actor
from kin4d.dynamics.small_linalg import velocity_from_momentum
from kin4d.dynamics.total_forces import ForceAccumulator, TotalForces
from kin4d.dynamics.variational_step import OK, SECOND, TOO_SUDDEN, chord_step, variational_step
from kin4d.errors import InputError
from kin4d.geometry.sampling import SurfaceSamples
from kin4d.kinematics.compiled.compiled_kinematics import compile_kinematics
from kin4d.kinematics.compiled.rotation import rewrap_rotvec

_DEEPEST = 8  # A step is halved at most so often before it counts as failed.
_KEPT, _STEPS = 4, 2400  # So many halvings for soft limits are kept for so many steps.


class DivergedStep(Exception):
    """A step that failed; the text says in which quantity."""


class ActorState:
    """The running state of one actor.

    Args:
        actor: The actor.
        forces: Everything that acts on it.
        whole: Whether a step that does not go through fails, instead of being made of halves. Who
            compares a step with its halves must see it fail: they would be the same.

    Attributes:
        phase: Where it is now.
        loads: What acted on it when it was last asked.
        contact_count: How many of the map's places are contact points; they come first.
    """

    def __init__(self, actor: Actor, forces: tuple[Force, ...], *, whole: bool = False) -> None:
        self.actor, self.material = actor, actor.substance
        self._halvings = 0 if whole else _DEEPEST
        self._depth, self._patience = 0, 0
        body, mesh = actor.body, actor.body.rest
        places: list[SurfaceSamples] = [actor.contact_points]
        self.contact_count = count = len(places[0])
        sites: dict[Place, int] = {}
        for force in forces:
            at = getattr(force, "at", None)
            if at is not None and at not in sites:
                what = f"{type(force).__name__.lower()} on '{actor.name}'"
                places.append(nearest_surface_point(mesh, at, what=what))
                sites[at] = count
                count += 1
        pieces = None
        if any(getattr(force, "panels", False) for force in forces):
            centers, corners, areas, exposed = surface_elements(mesh)
            places += [centers, corners]
            first = count + len(centers)
            around = first + np.arange(len(corners)).reshape(-1, 3)
            stretch = any(getattr(force, "triangles", False) for force in forces)
            followed = np.arange(count, first + len(corners) if stretch else first)
            pieces = SurfaceElements(
                np.arange(count, first), around, areas, exposed * areas, followed
            )
        own = float(body.mass.sum())
        scale = 1.0 if actor.mass is None else actor.mass / own
        self.map = compile_kinematics(body, merge_point_sets(places), mass_scale=scale)
        self.size = mesh.bbox_diagonal
        self._setting = ActorConstants(
            body.q0.numpy(), body.limits.numpy(), self.material, self.map, sites, pieces
        )
        self._summed = ForceAccumulator(self.map, forces)
        q, qd = np.array(actor.q), np.asarray(actor.qd)
        y, jacobian = self.map.embed(q)
        self.phase = PhaseState.moving(q, qd, y, jacobian)
        heavy = np.diag(self.phase.metric)
        if len(heavy) and not heavy.min() > 1e-12 * heavy.max():
            still = body.coordinates[int(heavy.argmin())]
            raise InputError(
                f"coordinate '{still}' of '{actor.name}' moves no mass",
                hint="give the link it moves an inertial",
            )
        self._clouds: list[tuple[np.ndarray, PointSet]] = []
        self.loads: TotalForces

    @property
    def width(self) -> int:
        """k."""
        return self.map.width

    def cloud(self, phase: PhaseState) -> PointSet:
        """The map's places; those of the last three phases are remembered."""
        for q, known in self._clouds:
            if q is phase.q:
                return known
        found = make_point_set(self.map.places(phase.q), self.contact_count)
        self._clouds = [(phase.q, found), *self._clouds[:2]]
        return found

    def mass_points(self, phase: PhaseState, *, at_stop: float) -> tuple[np.ndarray, np.ndarray]:
        """Places [P, 3] (m) and velocities [P, 3] (m/s) of the mass points.

        Coordinates nearer than `at_stop` to a stop count as resting there: a step ends with half of
        a kick that only the next one answers.
        """
        q, map, qd = phase.q, self.map, phase.velocity
        if self.loads.stops is not None:
            low, high = self.loads.stops[:, 0], self.loads.stops[:, 1]
            free = np.flatnonzero(np.minimum(q - low, high - q) > at_stop)
            if len(free) < len(q):
                qd = np.zeros_like(q)
                qd[free] = velocity_from_momentum(phase.metric[np.ix_(free, free)], phase.p[free])
        return map.points(q, phase.y), map.velocities(q, phase.jacobian, qd)

    def loads_at(
        self,
        phase: PhaseState,
        time: float,
        *,
        span: tuple[float, float],
        ahead: tuple[float, float],
    ) -> TotalForces:
        """Ask every force."""
        state = ForceContext(self._setting, phase, time=time, span=span, ahead=ahead)
        return self._summed.at(state, phase)

    def flow(
        self, phase: PhaseState, h: float, loads: TotalForces, *, order: int
    ) -> PhaseState | None:
        """The conservative part of a step; halved where it does not go through, None if never."""
        # Where the motion bends a step and its reverse are halved alike, so that energy comes back.
        # Where soft limits set in it does not: short steps are kept a while.
        if self._patience == 0 and self._depth > 0:
            self._depth, self._patience = self._depth - 1, _STEPS
        self._patience = max(self._patience - 1, 0)
        stack = [(h / 2**self._depth, self._depth)] * 2**self._depth
        while stack:
            step, depth = stack.pop()
            status, found = self._flow(phase, step, loads, order)
            if status == OK:
                phase = found
            elif depth < self._halvings:
                stack += [(step / 2, depth + 1)] * 2
                if status == TOO_SUDDEN:
                    self._depth, self._patience = min(depth + 1, _KEPT), _STEPS
            else:
                return None
        return phase

    def _flow(
        self, phase: PhaseState, h: float, loads: TotalForces, order: int
    ) -> tuple[int, PhaseState]:
        rest = (loads.weight, loads.pull, loads.stiffness, loads.soft_limits)
        if self.map.compiled:
            status, found = variational_step(self.map.data, phase.arrays, h, *rest, order)
            phase = PhaseState(*found)
            self.map.note(phase.q, phase.y, phase.jacobian)
            return status, phase
        found = tuple(np.empty_like(array) for array in phase.arrays)
        status = chord_step.py_func(self.map.data, phase.arrays, h, *rest, SECOND, found)
        return status, PhaseState(*found)

    def rechart(self, phase: PhaseState) -> PhaseState:
        """The same state with a shorter rotation vector, if the body floats and has turned far."""
        q = rewrap_rotvec(phase.q) if self.map.floating else None
        if q is None:
            return phase
        moving = phase.jacobian @ phase.velocity
        y, jacobian = self.map.embed(q)
        return PhaseState(q, jacobian.T @ moving, y, jacobian)
