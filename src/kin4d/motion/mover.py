"""Mover: an actor while it moves. Coordinates, momentum, and the loads on it at this instant."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kin4d.errors import InputError
from kin4d.geometry.sampling import SurfaceSamples
from kin4d.motion.contact.points import contact_points, join, nearest_place, panels
from kin4d.motion.flow import OK, SECOND, chord_step, flow, metric, rates
from kin4d.motion.forces import Force, State
from kin4d.motion.forces.force import Panels, Place
from kin4d.motion.maps.point_map import compile_map
from kin4d.motion.maps.rotation import recharted
from kin4d.motion.scene import Actor

_DEEPEST = 8  # A step is halved at most so often before it counts as failed.
_KEPT, _STEPS = 3, 2400  # So many halvings are kept for so many steps after one was needed.


class Diverged(Exception):
    """A step that failed; the text says in which quantity."""


@dataclass(slots=True)
class Loads:
    """All that acts on a mover at one instant, summed; see `Load` for the parts.

    Attributes:
        force: [k] generalised force of everything that is neither weight nor implicit.
        damping: [k, k] or None.
        weight: [n] covector on the embedding.
        pull: [k] and stiffness [k, k] of the implicit part.
        stiffness: See pull.
        soft_limits: [k, 4].
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
    stops: np.ndarray | None = None
    goals: list[tuple[int, np.ndarray]] = field(default_factory=list)
    energy: float = 0.0


@dataclass(slots=True)
class Phase:
    """Where a mover is: q [k], momentum p [k], embedding y [n] and its Jacobian [n, k]."""

    q: np.ndarray
    p: np.ndarray
    y: np.ndarray
    jacobian: np.ndarray


class Mover:
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
        self.actor, self.forces, self.material = actor, forces, actor.substance
        self._halvings = 0 if whole else _DEEPEST
        self._depth, self._patience = 0, 0
        body, mesh = actor.body, actor.body.rest
        places: list[SurfaceSamples] = [contact_points(body, actor.contacts)]
        self.contact_count = count = len(places[0])
        self._sites: dict[Place, int] = {}
        for force in forces:
            at = getattr(force, "at", None)
            if at is not None and at not in self._sites:
                what = f"{type(force).__name__.lower()} on '{actor.name}'"
                places.append(nearest_place(mesh, at, what=what))
                self._sites[at] = count
                count += 1
        self._panels = None
        if any(getattr(force, "panels", False) for force in forces):
            centers, corners, areas, exposed = panels(mesh)
            places += [centers, corners]
            first = count + len(centers)
            around = first + np.arange(len(corners)).reshape(-1, 3)
            stretch = any(getattr(force, "triangles", False) for force in forces)
            followed = np.arange(count, first + len(corners) if stretch else first)
            self._panels = Panels(np.arange(count, first), around, areas, exposed, followed)
        own = float(body.mass.sum())
        scale = 1.0 if actor.mass is None else actor.mass / own
        self.map = compile_map(body, join(places), mass_scale=scale)
        self.limits, self.rest = body.limits.numpy(), body.q0.numpy()
        self.size, k = mesh.diameter, self.map.width
        self._none = (np.zeros(k), np.zeros((k, k)), _NO_LIMITS.repeat(k, 0))
        self._weight: tuple[np.ndarray | None, np.ndarray, float]
        self._weight = (None, np.zeros(self.map.size), 0.0)
        q, qd = np.array(actor.q), np.asarray(actor.qd)
        y, jacobian = self.map.embed(q)
        heavy = np.diag(metric(jacobian))
        if len(heavy) and not heavy.min() > 1e-12 * heavy.max():
            still = body.coordinates[int(heavy.argmin())]
            raise InputError(
                f"coordinate '{still}' of '{actor.name}' moves no mass",
                hint="give the link it moves an inertial",
            )
        self.phase = Phase(q, jacobian.T @ (jacobian @ qd), y, jacobian)
        self._places: list[tuple[np.ndarray, np.ndarray]] = []
        self.loads: Loads

    @property
    def width(self) -> int:
        """k."""
        return self.map.width

    def rates(self, phase: Phase) -> np.ndarray:
        """dq/dt [k]."""
        return rates(phase.jacobian, phase.p)

    def places(self, phase: Phase) -> np.ndarray:
        """The map's places [S, 3] (m); those of the last three phases are remembered."""
        for q, places in self._places:
            if q is phase.q:
                return places
        self._places = [(phase.q, self.map.places(phase.q)), *self._places[:2]]
        return self._places[0][1]

    def kinetic(self, phase: Phase) -> float:
        """Joules."""
        return 0.5 * float(phase.p @ self.rates(phase))

    def mass_points(self, phase: Phase, *, at_stop: float) -> tuple[np.ndarray, np.ndarray]:
        """Places [P, 3] (m) and velocities [P, 3] (m/s) of the mass points.

        Coordinates nearer than `at_stop` to a stop count as resting there: a step ends with half of
        a kick that only the next one answers.
        """
        q, map, qd = phase.q, self.map, self.rates(phase)
        if self.loads.stops is not None:
            low, high = self.loads.stops[:, 0], self.loads.stops[:, 1]
            free = np.flatnonzero(np.minimum(q - low, high - q) > at_stop)
            if len(free) < len(q):
                qd = np.zeros_like(q)
                qd[free] = rates(np.ascontiguousarray(phase.jacobian[:, free]), phase.p[free])
        return map.points(q, phase.y), map.velocities(q, phase.jacobian, qd)

    def loads_at(
        self,
        phase: Phase,
        qd: np.ndarray,
        time: float,
        *,
        span: tuple[float, float],
        ahead: tuple[float, float],
    ) -> Loads:
        """Ask every force."""
        k = self.width
        state = State(
            time=time,
            span=span,
            ahead=ahead,
            q=phase.q,
            qd=qd,
            y=phase.y,
            jacobian=phase.jacobian,
            rest=self.rest,
            limits=self.limits,
            material=self.material,
            map=self.map,
            sites=self._sites,
            panels=self._panels,
        )
        nothing, no_stiffness, no_limits = self._none
        out = Loads(
            force=nothing,
            weight=self._weight[1],
            pull=nothing,
            stiffness=no_stiffness,
            soft_limits=no_limits,
        )
        covector = weight = None
        for force in self.forces:
            load = force.load(state)
            out.energy += load.energy
            if load.coordinates is not None:
                out.force = out.force + load.coordinates
            if load.points is not None:
                covector = load.points if covector is None else covector + load.points
            if load.weight is not None:
                weight = load.weight if weight is None else weight + load.weight
            for at, pushed in load.sites:
                out.force = out.force + pushed @ state.site(at)[2]
            if load.panels is not None:
                out.force = out.force + load.panels.ravel() @ state.panel_jacobians.reshape(-1, k)
            if load.stiffness is not None:
                diagonal = load.stiffness.ndim == 1
                added = np.diag(load.stiffness) if diagonal else load.stiffness
                known = out.stiffness is not no_stiffness
                out.stiffness = out.stiffness + added if known else added
            if load.pull is not None:
                out.pull = out.pull + load.pull
            if load.damping is not None:
                out.damping = load.damping if out.damping is None else out.damping + load.damping
            if load.soft_limits is not None:
                out.soft_limits = load.soft_limits
            if load.stops is not None:
                out.stops = load.stops
            if load.goals:
                out.goals += [(self._sites[at], target) for at, target in load.goals]
        if covector is not None:
            out.force = out.force + phase.jacobian.T @ self.map.lift(covector)
        if weight is not None:
            known, lifted, offset = self._weight
            if weight is not known:
                lifted = self.map.lift(weight)
                offset = float(np.vdot(weight, state.points) - lifted @ phase.y)
                self._weight = (weight, lifted, offset)
            out.weight = lifted
            out.energy -= offset + float(lifted @ phase.y)
        return out

    def flow(self, phase: Phase, h: float, loads: Loads, *, order: int) -> Phase | None:
        """The conservative part of a step; halved where it does not go through, None if never."""
        # Energy wanders where the length of steps goes back and forth: short ones are kept a while,
        # if that much is asked for; second order is for speed.
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
                if order > 2:
                    self._depth, self._patience = min(depth + 1, _KEPT), _STEPS
            else:
                return None
        return phase

    def _flow(self, phase: Phase, h: float, loads: Loads, order: int) -> tuple[int, Phase]:
        start = (phase.q, phase.p, phase.y, phase.jacobian)
        rest = (loads.weight, loads.pull, loads.stiffness, loads.soft_limits)
        if self.map.compiled:
            status, *found = flow(self.map.data, start, h, *rest, order)
            phase = Phase(*found)
            self.map.note(phase.q, phase.y, phase.jacobian)
            return status, phase
        found = tuple(np.empty_like(array) for array in start)
        status = chord_step.py_func(self.map.data, start, h, *rest, SECOND, *found)
        return status, Phase(*found)

    def rechart(self, phase: Phase) -> Phase:
        """The same state with a shorter rotation vector, if the body floats and has turned far."""
        q = recharted(phase.q) if self.map.floating else None
        if q is None:
            return phase
        moving = phase.jacobian @ self.rates(phase)
        y, jacobian = self.map.embed(q)
        return Phase(q, jacobian.T @ moving, y, jacobian)


_NO_LIMITS = np.array([[-np.inf, np.inf, 0.0, 1.0]])
