"""ContactSolver: impulses of contacts, joint limits and position targets, twice a step.

First, impulses at the start of the step such that at its end nothing is inside anything, stops
hold and led places are where they should be: this is about positions, so nothing drifts. Then
impulses at the end such that what has touched parts with its restitution, or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from kin4d.dynamics.actor_state import ActorState, DivergedStep
from kin4d.dynamics.contact.collide import PointSet, make_point_set
from kin4d.dynamics.contact.collision_shape import CollisionShape
from kin4d.dynamics.contact.constraint_rows import (
    ConstraintRows,
    ContactSides,
    active_limits,
    limit_rows,
    limit_velocity_rows,
    position_rows,
    store_impulses,
    velocity_rows,
)
from kin4d.dynamics.contact.contact_pairs import ContactPair, ContactSet
from kin4d.dynamics.contact.impulses import LEAD, limit_margin
from kin4d.dynamics.materials import material
from kin4d.dynamics.phase_state import PhaseState
from kin4d.dynamics.scene import Scene
from kin4d.dynamics.small_linalg import write_inverse
from kin4d.errors import InputError

_RECOVERY = 0.1  # Sizes per second at which what is inside is let out.
_RETURN = 50.0  # 1/s: part of the way beyond a stop that is taken back per second, at most.
_DEEP = 0.01  # Of the size: deeper than that at the start is a mistake.
_ROUNDS = 4  # Impulses follow from a linear picture; where the motion curves they are found again.
_MISSED = 0.01  # Of the size, by which a led place may miss its target.
_NOTHING, _NOWHERE, _NO_JACOBIAN = np.zeros(0), np.zeros((0, 3)), np.zeros((0, 3, 0))


class _Held(NamedTuple):
    """Coordinates [N] of a mover at stops on their sides [N], in rows from `first` on."""

    mover: int
    coordinates: np.ndarray
    sides: np.ndarray
    first: int


class ContactSolver:
    """All that can touch in a scene.

    Args:
        scene: What takes part.
        movers: Its actors.
        accuracy: 1/s, sizes per second by which velocities may differ from what they should be.
        near: rad or m from a stop, or sizes from a goal, that count as being there.

    Attributes:
        counts: [movers] how many points of each touched in the last step.
    """

    def __init__(
        self, scene: Scene, movers: Sequence[ActorState], *, accuracy: float, near: float
    ) -> None:
        self.movers, self._near = movers, near
        ends = np.cumsum([0] + [mover.width for mover in movers]).tolist()
        self._columns = [slice(a, b) for a, b in pairwise(ends)]
        self._width = ends[-1]
        self._accuracy = accuracy * min(mover.size for mover in movers)  # m/s
        self.counts = np.zeros(len(movers), np.int64)
        self._rows, self._later = ConstraintRows(self._width), ConstraintRows(self._width)
        surface = None if scene.surface is None else material(scene.surface)
        shapes = [
            CollisionShape(
                mover.actor.name, mover.actor.body, mover.map,
                count=mover.contact_count, material=mover.material, mover=i,
            )
            for i, mover in enumerate(movers)
            if mover.contact_count
        ]  # fmt: skip
        still = [CollisionShape.still(mesh, surface) for mesh in scene.obstacles]
        self._still = {
            id(shape): make_point_set(shape.map.places(_NOTHING), shape.count) for shape in still
        }
        self.pairs: list[ContactPair] = []
        for i, shape in enumerate(shapes):
            if scene.ground is not None:
                self.pairs.append(ContactPair(shape, None, floor=scene.ground, surface=surface))
            for other in (shapes[i + 1 :] if scene.contact else []) + still:
                self.pairs.append(ContactPair(shape, other, surface=surface))
                self.pairs.append(ContactPair(other, shape, surface=surface))
        self._refuse_overlap()

    def deepest(self) -> np.ndarray:
        """[movers] m by which each is inside something now; 0 if nowhere."""
        out = np.zeros(len(self.movers))
        for pair, touches in self._find([mover.phase for mover in self.movers]):
            depth = max(0.0, -float(touches.gap.min()))
            for shape in (pair.first, pair.second):
                if shape is not None and shape.mover >= 0:
                    out[shape.mover] = max(out[shape.mover], depth)
        return out

    def resolve(
        self,
        begun: list[PhaseState],
        ended: list[PhaseState],
        h: float,
        restep: Callable[[ActorState, PhaseState, float], PhaseState],
    ) -> list[PhaseState]:
        """The ends of the step with all constraints respected, from what they are without.

        Args:
            begun: Movers at the start of the step, ready for impulses.
            ended: Where they end without.
            h: Seconds.
            restep: Makes the step of one mover from its start with impulses.
        """
        self.counts[:] = 0
        rows, held, total = self._rows, {}, np.zeros(self._width)
        inverses, moved = None, ended
        for _ in range(_ROUNDS):
            found = self._find(moved)
            if inverses is None and self._is_free(found, moved):
                for pair, _ in found:
                    pair.warm_start[0] = 0.0
                return moved
            change = np.zeros(self._width) if inverses is None else inverses @ total
            rows.count = 0
            if found:
                self._touch_rows(found, begun, moved, change, h)
            stops = self._stop_rows(begun, moved, change, h, held)
            self._lead_rows(begun, moved, change, h)
            if not rows.count:
                return moved
            if inverses is None:
                inverses = self._inverses(begun, h)
            impulse, total = rows.solve(inverses, self._accuracy)
            self._remember(found, rows, 0)
            if not impulse.any():
                moved = ended
                break
            moved = [
                restep(mover, start.with_momentum(start.p + total[columns]), h)
                if total[columns].any()
                else end
                for mover, start, end, columns in zip(
                    self.movers, begun, ended, self._columns, strict=True
                )
            ]
            if self._missed(moved) < self._near:
                break
        self._check_leads(moved)
        return self._part(found, stops, moved)

    def _is_free(
        self, found: list[tuple[ContactPair, ContactSet]], phases: list[PhaseState]
    ) -> bool:
        """Whether nothing is inside anything, at a stop or led: then nothing has to act."""
        for _, touches in found:
            if not touches.gap.min() >= 0:
                return False
        for mover, phase in zip(self.movers, phases, strict=True):
            stops = mover.loads.stops
            if mover.loads.goals or (
                stops is not None and limit_margin(phase.q, stops) < self._near
            ):
                return False
        return True

    def _missed(self, phases: list[PhaseState]) -> float:
        """How far coordinates are beyond stops and led places from goals, at worst; relative."""
        worst = 0.0
        for mover, phase in zip(self.movers, phases, strict=True):
            if mover.loads.stops is not None:
                worst = max(worst, -limit_margin(phase.q, mover.loads.stops))
            for index, goal in mover.loads.goals:
                gap = float(np.linalg.norm(goal - mover.cloud(phase).points[index]))
                worst = max(worst, gap / mover.size)
        return worst

    def _find(self, phases: list[PhaseState]) -> list[tuple[ContactPair, ContactSet]]:
        out = []
        for pair in self.pairs:
            first, second = pair.first, pair.second
            other, q = None, _NOTHING
            if second is not None:
                other = self._cloud(second, phases)
                q = q if second.mover < 0 else phases[second.mover].q
            touches = pair.find(self._cloud(first, phases), other, q)
            if touches is not None:
                out.append((pair, touches))
        return out

    def _cloud(self, shape: CollisionShape, phases: list[PhaseState]) -> PointSet:
        if shape.mover < 0:
            return self._still[id(shape)]
        return self.movers[shape.mover].cloud(phases[shape.mover])

    def _rates(self, phases: list[PhaseState]) -> np.ndarray:
        """[K] of all movers."""
        return np.concatenate([phase.velocity for phase in phases])

    def _inverses(self, phases: list[PhaseState], h: float) -> np.ndarray:
        """[K, K] inverse mass matrices of all movers, with what stiffness adds in a step h."""
        out = np.zeros((self._width, self._width))
        for mover, phase, columns in zip(self.movers, phases, self._columns, strict=True):
            write_inverse(phase.metric, mover.loads.stiffness, 0.25 * h * h, out[columns, columns])
        return out

    def _sides(
        self, pair: ContactPair, touches: ContactSet, points: np.ndarray, phases: list[PhaseState]
    ) -> tuple[ContactSides, np.ndarray]:
        """How both sides of touches move at `phases`, and the first side's places [N, 3] there.

        Contacts are found where the first side's places are `points` [S, 3].
        """
        first, second = pair.first, pair.second
        places, one, other = _NOWHERE, _NO_JACOBIAN, _NO_JACOBIAN
        at_one = at_other = 0
        if first.mover >= 0:
            places, one = first.map.followed(phases[first.mover].q, touches.index)
            at_one = self._columns[first.mover].start
        if second is not None and second.mover >= 0:
            q, at_other = phases[second.mover].q, self._columns[second.mover].start
            if second.is_linked:
                carried = second.map.carried_jacobians  # pyright: ignore[reportAttributeAccessIssue]
                other = carried(q, touches.carrier, points[touches.index])
            else:
                other = second.map.followed(q, touches.carrier)[1]
        return ContactSides(one, at_one, other, at_other), places

    def _touch_rows(
        self, found, begun: list[PhaseState], ended, change: np.ndarray, h: float
    ) -> None:
        """Rows of points near something; `change` [K] of the rates is due to impulses so far."""
        rates = self._rates(begun)
        moved = np.concatenate([b.q - a.q for a, b in zip(begun, ended, strict=True)])
        for pair, touches in found:
            end = self._cloud(pair.first, ended).points
            sides, start = self._sides(pair, touches, end, begun)
            first = self._rows.reserve(len(touches.index))
            surface = (pair.friction, pair.restitution, _RECOVERY * pair.first.size)
            position_rows(
                self._rows.table, first, sides, touches.index, touches.gap, touches.normal,
                pair.warm_start[0], surface, start, end, moved, change, rates, h,
            )  # fmt: skip

    def _stop_rows(self, begun, ended, change, h: float, held: dict) -> list[_Held]:
        """Rows of coordinates at their stops or beyond, and of those `held` by them before."""
        added = []
        for number, mover in enumerate(self.movers):
            stops = mover.loads.stops
            if stops is None:
                continue
            start, end = begun[number], ended[number]
            before = held.setdefault(number, np.zeros((2, len(end.q)), bool))
            hit, side = active_limits(end.q, stops, self._near, before)
            if not len(hit):
                continue
            first = self._rows.reserve(len(hit))
            limit_rows(
                self._rows.table, first, hit, side, stops, start.q, end.q, change, start.velocity,
                self._columns[number].start, h, min(0.2 / h, _RETURN),
            )  # fmt: skip
            added.append(_Held(number, hit, side, first))
        return added

    def _lead_rows(self, begun, ended, change, h: float) -> None:
        for number, mover in enumerate(self.movers):
            for index, goal in mover.loads.goals:
                first, table = self._rows.reserve(1), self._rows.table
                jacobian = np.zeros((3, self._width))
                jacobian[:, self._columns[number]] = mover.map.followed(
                    begun[number].q, np.array([index])
                )[1][0]
                table.kind[first], table.jacobian[first] = LEAD, jacobian
                table.velocity[first], table.impulse[first] = -(jacobian @ change), 0.0
                table.target[first] = (goal - mover.cloud(ended[number]).points[index]) / h

    def _check_leads(self, phases: list[PhaseState]) -> None:
        for mover, phase in zip(self.movers, phases, strict=True):
            for index, goal in mover.loads.goals:
                missing = float(np.linalg.norm(goal - mover.cloud(phase).points[index]))
                if missing > _MISSED * mover.size:
                    raise DivergedStep(
                        f"a led place of '{mover.actor.name}' misses its target by {missing:.3g} "
                        "m: constraints contradict each other, or it jumps or is out of reach"
                    )

    def _part(self, found, stops: list[_Held], moved: list[PhaseState]) -> list[PhaseState]:
        """Velocities after touching: `moved` with impulses at the end of the step."""
        rows, later, at = self._rows.table, self._later, 0
        later.count = 0
        again: list[tuple[ContactPair, ContactSet]] = []
        rates = self._rates(moved)
        for pair, touches in found:
            count = len(touches.index)
            here = np.flatnonzero(rows.impulse[at : at + count, 0] > 0)
            bounces, at = rows.bounce[at : at + count], at + count
            if not len(here):
                continue
            for shape in (pair.first, pair.second):
                if shape is not None and shape.mover >= 0:
                    self.counts[shape.mover] += len(here)
            touching = touches.take(here)
            again.append((pair, touching))
            points = _NOWHERE if pair.second is None else self._cloud(pair.first, moved).points
            sides, _ = self._sides(pair, touching, points, moved)
            first = later.reserve(len(here))
            velocity_rows(
                later.table, first, sides, touching.index, touching.normal,
                pair.warm_start[1], pair.friction, bounces[here], rates,
            )  # fmt: skip
        for held in stops:
            limits = self.movers[held.mover].loads.stops
            first = later.reserve(len(held.coordinates))
            later.count = first + limit_velocity_rows(
                later.table, first, held.coordinates, held.sides, limits, moved[held.mover].q,
                self._near, rates, self._columns[held.mover].start, rows, held.first,
            )  # fmt: skip
        if not later.count:
            return moved
        _, total = later.solve(self._inverses(moved, 0.0), self._accuracy)
        self._remember(again, later, 1)
        return [
            phase.with_momentum(phase.p + total[columns])
            for phase, columns in zip(moved, self._columns, strict=True)
        ]

    def _remember(
        self, found: list[tuple[ContactPair, ContactSet]], rows: ConstraintRows, stage: int
    ) -> None:
        """Keep the impulses of touches, which come first in `rows`, for the next step."""
        at = 0
        for pair, touches in found:
            store_impulses(pair.warm_start[stage], touches.index, rows.table, at)
            at += len(touches.index)

    def _refuse_overlap(self) -> None:
        for pair, touches in self._find([mover.phase for mover in self.movers]):
            depth = -float(touches.gap.min())
            if depth > _DEEP * pair.first.size:
                other = "the ground" if pair.second is None else f"'{pair.second.name}'"
                raise InputError(
                    f"'{pair.first.name}' starts {depth:.3g} m inside {other}",
                    allowed=f"at most {_DEEP * pair.first.size:.3g} m, which is let out",
                    hint=f"move them {depth:.3g} m apart, or turn off its collision (contacts=0)",
                )
