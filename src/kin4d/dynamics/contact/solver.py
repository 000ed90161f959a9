"""ContactSolver: impulses of contacts, hard limits and position targets, twice a step.

First, impulses at the start of the step such that at its end nothing is inside anything, hard
limits hold and points with a position target are there: this is about positions, so nothing
drifts. Then impulses at the end such that what has touched separates with its restitution, or not
at all. The solver takes states and returns impulses; repeating the step with them is the
simulator's part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from kin4d.dynamics.compiled_actor import CompiledActor, DivergedStep
from kin4d.dynamics.config import ContactConfig
from kin4d.dynamics.contact.constraint_rows import (
    ConstraintArrays,
    ContactSides,
    active_limits,
    empty_constraints,
    limit_rows,
    limit_velocity_rows,
    motor_rows,
    position_rows,
    velocity_rows,
    warm_start_impulses,
)
from kin4d.dynamics.contact.contact_pairs import ContactPair, ContactSet
from kin4d.dynamics.contact.detector import ContactDetector, PairContacts
from kin4d.dynamics.contact.impulses import TARGET, limit_margin, solve_impulses
from kin4d.dynamics.driven_actor import DrivenActor
from kin4d.dynamics.scene_state import ActorState, WarmStart

_NO_POINTS, _NO_JACOBIANS = np.zeros((0, 3)), np.zeros((0, 3, 0))
States = Sequence[ActorState]


class LimitRows(NamedTuple):
    """Coordinates [N] of an actor at hard limits on their sides [N] (0 lower, 1 upper), whose
    constraints are the rows from `first` on."""

    actor: int
    coordinates: np.ndarray
    sides: np.ndarray
    first: int


class PositionSolution(NamedTuple):
    """Impulses at the start of a step.

    Attributes:
        contacts: Those found at its end; their constraints are the first rows.
        limits: Hard limits that are reached.
        rows: The constraints; None if there are none.
        impulse: [K] N s on the coordinates of all actors.
        inverse: [K, K] of the mass matrices.
        active: [2, k] per actor: lower and upper limits that have been reached in this step.
        warm_starts: One per pair.
    """

    contacts: list[PairContacts]
    limits: list[LimitRows]
    rows: ConstraintArrays | None
    impulse: np.ndarray
    inverse: np.ndarray | None
    active: dict[int, np.ndarray]
    warm_starts: tuple[WarmStart, ...]


class ContactSolver:
    """Impulses for the constraints of a scene.

    Args:
        detector: Finds contacts.
        actors: The scene's actors, compiled.
        config: How constraints are solved.
        h: Seconds per step.
        tolerance: Relative error that steps may make, if they are compared with their halves;
            constraints are solved at least as well.
    """

    def __init__(
        self,
        detector: ContactDetector,
        actors: Sequence[CompiledActor],
        config: ContactConfig,
        *,
        h: float,
        tolerance: float | None,
    ) -> None:
        self._detector, self._actors, self._config = detector, actors, config
        finest = np.inf if tolerance is None else tolerance
        self.near = min(config.near, finest)
        self._accuracy = min(config.accuracy / h, finest) * min(a.size for a in actors)  # m/s
        ends = np.cumsum([0] + [actor.width for actor in actors]).tolist()
        self.columns = [slice(a, b) for a, b in pairwise(ends)]
        self._width = ends[-1]
        self._no_impulse = np.zeros(self._width)
        self._driven = [
            (actor, number)
            for number, actor in enumerate(actors)
            if isinstance(actor, DrivenActor) and len(actor.yielding)
        ]
        self._motor_count = sum(len(actor.yielding) for actor, _ in self._driven)

    def solve_positions(
        self,
        start: States,
        end: States,
        time: float,
        h: float,
        warm_starts: tuple[WarmStart, ...],
        previous: PositionSolution | None,
    ) -> PositionSolution:
        """Impulses at the start of a step after which its end respects all constraints.

        Args:
            start: Actors at the start of the step, ready for impulses.
            end: Where they end, with the `previous` impulses.
            time: Seconds, of the start.
            h: Seconds.
            warm_starts: Of the last step.
            previous: What this returned for the same step before; None the first time.
        """
        if previous is not None:
            warm_starts = previous.warm_starts
        found = self._detector.find(end, warm_starts)
        if previous is None and self._is_free(found, end):
            return self._no_constraints(self._without_impulses(found, warm_starts))
        contacts = sum(len(one.contacts.index) for one in found)
        limits, active = self._reached_limits(end, contacts, previous)
        count = contacts + sum(len(one.sides) for one in limits)
        targets = count
        count += sum(len(state.forces.position_targets) for state in end)
        motors = count
        count += self._motor_count
        if not count:
            return self._no_constraints(warm_starts)
        if previous is None or previous.inverse is None:
            inverse, change = self._inverse_mass(start, h), self._no_impulse
        else:
            inverse, change = previous.inverse, previous.inverse @ previous.impulse
        rows = empty_constraints(count, self._width)
        if found:
            self._contact_rows(rows, found, warm_starts, start, end, change, h)
        self._limit_rows(rows, limits, start, end, change, h)
        self._target_rows(rows, targets, start, end, change, h)
        self._motor_rows(rows, motors, start, end, change, time, h)
        impulse = self._solve(rows, count, inverse)
        kept = list(warm_starts)
        for number, impulses in _impulses(found, rows):
            kept[number] = WarmStart(impulses, kept[number].velocity)
        return PositionSolution(found, limits, rows, impulse, inverse, active, tuple(kept))

    def solve_velocities(
        self, solution: PositionSolution, end: States
    ) -> tuple[list[ActorState], tuple[WarmStart, ...], np.ndarray]:
        """The end of the step with velocities after contact, warm starts for the next step, and how
        many points of each actor touch.

        Args:
            solution: The last one for positions.
            end: Where it leads.
        """
        solved, counts = solution.rows, np.zeros(len(end), np.int64)
        assert solved is not None
        touching: list[PairContacts] = []
        bounces: list[np.ndarray] = []
        count, first = sum(len(one.sides) for one in solution.limits), 0
        for number, pair, contacts in solution.contacts:
            these = slice(first, first + len(contacts.index))
            first = these.stop
            hit = np.flatnonzero(solved.impulse[these, 0] > 0)
            if not len(hit):
                continue
            one = PairContacts(number, pair, contacts.take(hit))
            counts[one.actors] += len(hit)
            touching.append(one)
            bounces.append(solved.bounce[these][hit])
            count += len(hit)
        if not count:
            return list(end), solution.warm_starts, counts
        rows, velocities, count = empty_constraints(count, self._width), _velocities(end), 0
        for (number, pair, contacts), bounce in zip(touching, bounces, strict=True):
            points = _NO_POINTS if pair.second is None else self._points(pair, end)
            sides, _ = self._sides(pair, contacts, points, end)
            velocity_rows(
                rows, count, sides, contacts.index, contacts.normal,
                solution.warm_starts[number].velocity, pair.friction, bounce, velocities,
            )  # fmt: skip
            count += len(contacts.index)
        for actor, coordinates, sides, solved_first in solution.limits:
            count += limit_velocity_rows(
                rows, count, coordinates, sides, end[actor].forces.hard_limits,
                end[actor].phase.q, self.near, velocities, self.columns[actor].start, solved,
                solved_first,
            )  # fmt: skip
        if not count:
            return list(end), solution.warm_starts, counts
        impulse = self._solve(rows, count, self._inverse_mass(end, 0.0))
        kept = list(solution.warm_starts)
        for number, impulses in _impulses(touching, rows):
            kept[number] = WarmStart(kept[number].position, impulses)
        states = [
            actor.pushed(state, impulse[columns])
            for actor, state, columns in zip(self._actors, end, self.columns, strict=True)
        ]
        return states, tuple(kept), counts

    def violation(self, states: States) -> float:
        """How far coordinates are beyond hard limits and points from their targets, at worst."""
        worst = 0.0
        for actor, state in zip(self._actors, states, strict=True):
            if state.forces.hard_limits is not None:
                worst = max(worst, -limit_margin(state.phase.q, state.forces.hard_limits))
            for gap in _target_errors(state):
                worst = max(worst, gap / actor.size)
        return worst

    def check_targets(self, states: States) -> None:
        """Raise `DivergedStep` if a point misses its position target."""
        for actor, state in zip(self._actors, states, strict=True):
            for gap in _target_errors(state):
                if gap > self._config.max_target_error * actor.size:
                    raise DivergedStep(
                        f"a point of '{actor.name}' misses its position target by {gap:.3g} m: "
                        "constraints contradict each other, or it jumps or is out of reach"
                    )

    def _is_free(self, found: list[PairContacts], states: States) -> bool:
        """Whether nothing overlaps, is at a hard limit, has a target or a motor: then nothing has
        to act."""
        if self._motor_count:
            return False
        for one in found:
            if not one.contacts.gap.min() >= 0:
                return False
        for state in states:
            limits = state.forces.hard_limits
            if state.forces.position_targets or (
                limits is not None and limit_margin(state.phase.q, limits) < self.near
            ):
                return False
        return True

    def _no_constraints(self, warm_starts: tuple[WarmStart, ...]) -> PositionSolution:
        return PositionSolution([], [], None, self._no_impulse, None, {}, warm_starts)

    def _without_impulses(
        self, found: list[PairContacts], warm_starts: tuple[WarmStart, ...]
    ) -> tuple[WarmStart, ...]:
        if not found:
            return warm_starts
        kept = list(warm_starts)
        for number, _, _ in found:
            zero = self._detector.no_impulses[number].position
            kept[number] = WarmStart(zero, kept[number].velocity)
        return tuple(kept)

    def _solve(self, rows: ConstraintArrays, count: int, inverse: np.ndarray) -> np.ndarray:
        """[K] N s; the impulses of the first `count` rows are written there."""
        return solve_impulses(rows, count, inverse, self._config.sweeps, self._accuracy)

    def _inverse_mass(self, states: States, h: float) -> np.ndarray:
        """[K, K] inverse mass matrices of all actors, with what stiffness adds in a step h."""
        out = np.zeros((self._width, self._width))
        for actor, state, columns in zip(self._actors, states, self.columns, strict=True):
            actor.write_inverse_mass(state, h, out[columns, columns])
        return out

    def _points(self, pair: ContactPair, states: States) -> np.ndarray:
        """[S, 3] surface points of a pair's first shape."""
        first = pair.first
        if first.actor < 0:
            return first.static_points.points
        return states[first.actor].phase.configuration.surface_points

    def _sides(
        self, pair: ContactPair, contacts: ContactSet, points: np.ndarray, states: States
    ) -> tuple[ContactSides, np.ndarray]:
        """Jacobians of both sides of contacts at `states`, and the first side's points [N, 3].

        The contacts were found where the first side's surface points are `points` [S, 3].
        """
        first, second = pair.first, pair.second
        here, one, other = _NO_POINTS, _NO_JACOBIANS, _NO_JACOBIANS
        at_one = at_other = 0
        if first.actor >= 0:
            configuration = states[first.actor].phase.configuration
            here, one = first.kinematics.points_and_jacobians(configuration, contacts.index)
            at_one = self.columns[first.actor].start
        if second is not None and second.actor >= 0:
            configuration = states[second.actor].phase.configuration
            at_other = self.columns[second.actor].start
            if second.links is not None:
                other = second.links.carried_jacobians(
                    configuration.q, contacts.carrier, points[contacts.index]
                )
            else:
                other = second.kinematics.points_and_jacobians(configuration, contacts.carrier)[1]
        return ContactSides(one, at_one, other, at_other), here

    def _contact_rows(self, rows, found, warm_starts, start, end, change, h: float) -> None:
        """Rows of contacts; `change` [K] of the velocities is due to impulses so far."""
        first, velocities = 0, _velocities(start)
        displacement = np.concatenate(
            [b.phase.q - a.phase.q for a, b in zip(start, end, strict=True)]
        )
        for number, pair, contacts in found:
            points = self._points(pair, end)
            sides, before = self._sides(pair, contacts, points, start)
            recovery = self._config.recovery_speed * pair.first.size
            position_rows(
                rows, first, sides, contacts.index, contacts.gap, contacts.normal,
                warm_starts[number].position, (pair.friction, pair.restitution, recovery),
                before, points, displacement, change, velocities, h,
            )  # fmt: skip
            first += len(contacts.index)

    def _reached_limits(
        self, end: States, first: int, previous: PositionSolution | None
    ) -> tuple[list[LimitRows], dict[int, np.ndarray]]:
        """Hard limits that coordinates are at, or were at in `previous` iterations."""
        out, active = [], {}
        for actor, state in enumerate(end):
            limits = state.forces.hard_limits
            if limits is None:
                continue
            none = np.zeros((2, len(limits)), bool)
            before = none if previous is None else previous.active.get(actor, none)
            coordinates, sides, active[actor] = active_limits(
                state.phase.q, limits, self.near, before
            )
            if len(sides):
                out.append(LimitRows(actor, coordinates, sides, first))
                first += len(sides)
        return out, active

    def _limit_rows(self, rows, limits: list[LimitRows], start, end, change, h: float) -> None:
        back = min(0.2 / h, self._config.limit_recovery_rate)
        for actor, coordinates, sides, first in limits:
            before = start[actor].phase
            limit_rows(
                rows, first, coordinates, sides, start[actor].forces.hard_limits, before.q,
                end[actor].phase.q, change, before.velocity, self.columns[actor].start, h, back,
            )  # fmt: skip

    def _target_rows(self, rows, first: int, start, end, change, h: float) -> None:
        for actor, (before, after) in enumerate(zip(start, end, strict=True)):
            for index, target in before.forces.position_targets:
                jacobian = np.zeros((3, self._width))
                jacobian[:, self.columns[actor]] = self._actors[
                    actor
                ].kinematics.points_and_jacobians(before.phase.configuration, np.array([index]))[1][
                    0
                ]
                point = after.phase.configuration.surface_points[index]
                rows.kind[first], rows.jacobian[first] = TARGET, jacobian
                rows.velocity[first] = -(jacobian @ change)
                rows.target[first] = (target - point) / h
                first += 1

    def _motor_rows(self, rows, first: int, start, end, change, time: float, h: float) -> None:
        for actor, number in self._driven:
            own, columns = actor.yielding, self.columns[number].start + actor.yielding
            before, after = start[number].phase.q[own], end[number].phase.q[own]
            target = (actor.motor_targets(time + h) - before) / h
            velocity = (after - before) / h - change[columns]
            motor_rows(rows, first, columns, velocity, target, h * actor.max_force)
            first += len(own)


def _velocities(states: States) -> np.ndarray:
    """[K] of the coordinates of all actors."""
    return np.concatenate([state.phase.velocity for state in states])


def _target_errors(state: ActorState) -> list[float]:
    """Metres by which points miss their position targets."""
    targets = state.forces.position_targets
    if not targets:
        return []
    points = state.phase.configuration.surface_points
    return [float(np.linalg.norm(target - points[index])) for index, target in targets]


def _impulses(
    found: list[PairContacts], rows: ConstraintArrays
) -> Iterator[tuple[int, np.ndarray]]:
    """Number of each pair and the impulses [C, 3] of its contacts, which are the first rows."""
    first = 0
    for number, pair, contacts in found:
        yield number, warm_start_impulses(pair.first.count, contacts.index, rows, first)
        first += len(contacts.index)
