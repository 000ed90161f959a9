"""Simulator: steps all actors of a scene together."""

from __future__ import annotations

from functools import partial
from math import isfinite
from typing import NamedTuple

import numpy as np

from kin4d.dynamics.actor_state import ActorState, DivergedStep
from kin4d.dynamics.contact.solver import ContactSolver
from kin4d.dynamics.integrators import Integrator
from kin4d.dynamics.phase_state import PhaseState
from kin4d.dynamics.scene import Scene
from kin4d.dynamics.total_forces import TotalForces

_FAST = 1e4  # m/s, and sizes per second: nothing here moves so fast.
_DEEPEST = 12  # A step is halved at most so often.
_MEMORY = 0.05  # s: errors of velocities count as the way they make in this time.
_NEAR = 1e-4  # rad or m from a stop, or sizes from a goal, that count as being there.
_RESTING = 1e-6  # The same, of what rests there.
_EVEN = 3e-7  # Sizes per step by which contacts may be violated, at most.


class Snapshot(NamedTuple):
    """All movers at one time (s); their loads are taken for `ahead` seconds from then on."""

    time: float
    phases: list[PhaseState]
    loads: list[TotalForces]
    ahead: float


class Simulator:
    """The running state of a scene.

    Args:
        scene: What takes part.
        integrator: How to step.
        h: Seconds per step.
        tolerance: How far, in sizes, a step and its two halves may end apart before it is halved;
            None to halve none.
    """

    def __init__(
        self, scene: Scene, integrator: Integrator, h: float, tolerance: float | None = None
    ) -> None:
        self.scene, self.integrator, self.h, self.time = scene, integrator, h, 0.0
        self.tolerance = tolerance
        shared = scene.shared_forces
        whole = tolerance is not None
        self.movers = [
            ActorState(actor, actor.all_forces(shared), whole=whole) for actor in scene.cast
        ]
        self._ahead = 0.5 * h
        for mover in self.movers:
            mover.loads = self._loads(mover, mover.phase, 0.0, self._ahead)
        fine = np.inf if tolerance is None else tolerance
        self.contacts = ContactSolver(
            scene, self.movers, accuracy=min(_EVEN / h, fine), near=min(_NEAR, fine)
        )
        self._problem = DivergedStep()

    def step(self) -> None:
        """All movers from `time` to time + h."""
        start = Snapshot(
            self.time, [m.phase for m in self.movers], [m.loads for m in self.movers], self._ahead
        )
        self._set(self._cover(start, self.h, self._stepped(start, self.h), 0))

    def _cover(self, start: Snapshot, h: float, one: Snapshot | None, depth: int) -> Snapshot:
        """h seconds after `start`: `one`, where a single step leads, or likewise in two halves."""
        if self.tolerance is None or depth == _DEEPEST:
            if one is None:
                raise self._problem
            return one
        half = self._stepped(start, 0.5 * h)
        if one is not None and half is not None:
            two = self._stepped(half, 0.5 * h)
            if two is not None and self._apart(one, two) <= self.tolerance:
                return two
        middle = self._cover(start, 0.5 * h, half, depth + 1)
        return self._cover(middle, 0.5 * h, self._stepped(middle, 0.5 * h), depth + 1)

    def _stepped(self, start: Snapshot, h: float) -> Snapshot | None:
        """One step of all movers; None if it fails, and then `_problem` says why."""
        self._set(start)
        if start.ahead != 0.5 * h:
            for mover in self.movers:
                mover.loads = self._loads(mover, mover.phase, 0.0, 0.5 * h)
        try:
            begun = [self.integrator.begin(mover, h) for mover in self.movers]
            ended = [self._move(*pair, h) for pair in zip(self.movers, begun, strict=True)]
            ended = self.contacts.resolve(begun, ended, h, self._move)
            self.time += h
            ahead = 0.5 * h if self.tolerance is None else 0.0
            for i, (mover, phase) in enumerate(zip(self.movers, ended, strict=True)):
                phase = mover.rechart(phase)
                mover.loads = self._loads(mover, phase, 0.5 * h, ahead)
                ended[i] = self.integrator.end(mover, phase, h)
                self._check(mover, ended[i])
        except DivergedStep as problem:
            self._problem = problem
            return None
        return Snapshot(self.time, ended, [mover.loads for mover in self.movers], ahead)

    def _set(self, moment: Snapshot) -> None:
        self.time, phases, loads, self._ahead = moment
        for mover, phase, load in zip(self.movers, phases, loads, strict=True):
            mover.phase, mover.loads = phase, load

    def _apart(self, one: Snapshot, two: Snapshot) -> float:
        """How far mass points are apart in two moments, at worst, in sizes."""
        worst = 0.0
        for mover, *pair in zip(self.movers, one.phases, two.phases, strict=True):
            places = partial(mover.mass_points, at_stop=_RESTING)
            ways, speeds = zip(*map(places, pair), strict=True)
            gap = np.linalg.norm(ways[0] - ways[1], axis=1)
            gap += _MEMORY * np.linalg.norm(speeds[0] - speeds[1], axis=1)
            worst = max(worst, float(gap.max()) / mover.size)
        return worst

    def _move(self, mover: ActorState, begun: PhaseState, h: float) -> PhaseState:
        phase = self.integrator.move(mover, begun, self.time, h)
        if phase is None:
            raise DivergedStep(f"no solution for the coordinates of '{mover.actor.name}'")
        return phase

    def _loads(
        self, mover: ActorState, phase: PhaseState, before: float, after: float
    ) -> TotalForces:
        """What acts around now, from `before` seconds ago until `after` seconds hence."""
        now = self.time
        return mover.loads_at(
            phase,
            now,
            span=(max(now - before, 0.0), now + after),
            ahead=(now, now + 2 * after),
        )

    def energies(self) -> list[tuple[float, float]]:
        """Kinetic and potential energy (J) of each mover; `DivergedStep` if one has exploded."""
        out = []
        for mover in self.movers:
            kinetic = 0.5 * float(mover.phase.p @ mover.phase.velocity)
            speed = np.sqrt(2 * kinetic / mover.map.mass.sum())
            if not speed < max(_FAST, _FAST * mover.size):
                raise DivergedStep(f"the kinetic energy of '{mover.actor.name}' is {kinetic:.3g} J")
            out.append((kinetic, mover.loads.energy))
        return out

    def _check(self, mover: ActorState, phase: PhaseState) -> None:
        """Raise `DivergedStep` if a quantity is not finite."""
        name = mover.actor.name
        if isfinite(phase.q @ phase.q + phase.p @ phase.p):
            return
        for what, values in (("coordinates", phase.q), ("momentum", phase.p)):
            if not np.isfinite(values).all():
                coordinate = mover.actor.body.coordinates[int((~np.isfinite(values)).argmax())]
                raise DivergedStep(f"{what} of '{name}' are not finite, first '{coordinate}'")
