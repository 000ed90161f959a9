"""Contacts: the impulses between all movers, their stops and their leads, twice a step.

First, impulses at the start of the step such that at its end nothing is inside anything, stops
hold and led places are where they should be: this is about positions, so nothing drifts. Then
impulses at the end such that what has touched parts with its restitution, or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from kin4d.errors import InputError
from kin4d.motion.contact.detect import Cloud, cloud
from kin4d.motion.contact.pairs import Pair, Touches
from kin4d.motion.contact.rows import (
    Rows,
    at_stops,
    write_jacobian,
    write_stops,
    write_touches,
)
from kin4d.motion.contact.shape import Shape
from kin4d.motion.contact.solve import LEAD, STOP, TOUCH, room
from kin4d.motion.dense import write_inverse
from kin4d.motion.materials import material
from kin4d.motion.mover import Diverged, Mover
from kin4d.motion.phase import Phase
from kin4d.motion.scene import Scene

_RECOVERY = 0.1  # Sizes per second at which what is inside is let out.
_RETURN = 50.0  # 1/s: part of the way beyond a stop that is taken back per second, at most.
_DEEP = 0.01  # Of the size: deeper than that at the start is a mistake.
_ROUNDS = 4  # Impulses follow from a linear picture; where the motion curves they are found again.
_MISSED = 0.01  # Of the size, by which a led place may miss its target.
_NOTHING, _NO_JACOBIAN = np.zeros(0), np.zeros((0, 3, 0))


class _Held(NamedTuple):
    """Coordinates of a mover on one side's stops: Jacobians [N, 3, K] and which they are."""

    jacobian: np.ndarray
    mover: int
    coordinates: np.ndarray
    side: int


class Contacts:
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
        self, scene: Scene, movers: Sequence[Mover], *, accuracy: float, near: float
    ) -> None:
        self.movers, self._near = movers, near
        ends = np.cumsum([0] + [mover.width for mover in movers]).tolist()
        self._columns = [slice(a, b) for a, b in pairwise(ends)]
        self._width = ends[-1]
        self._accuracy = accuracy * min(mover.size for mover in movers)  # m/s
        self.counts = np.zeros(len(movers), np.int64)
        self._rows, self._later = Rows(self._width), Rows(self._width)
        surface = None if scene.surface is None else material(scene.surface)
        shapes = [
            Shape(
                mover.actor.name, mover.actor.body, mover.map,
                count=mover.contact_count, material=mover.material, mover=i,
            )
            for i, mover in enumerate(movers)
            if mover.contact_count
        ]  # fmt: skip
        still = [Shape.still(mesh, surface) for mesh in scene.obstacles]
        self._still = {id(shape): cloud(shape.map.places(_NOTHING), shape.count) for shape in still}
        self.pairs: list[Pair] = []
        for i, shape in enumerate(shapes):
            if scene.ground is not None:
                self.pairs.append(Pair(shape, None, floor=scene.ground, surface=surface))
            for other in (shapes[i + 1 :] if scene.contact else []) + still:
                self.pairs.append(Pair(shape, other, surface=surface))
                self.pairs.append(Pair(other, shape, surface=surface))
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
        begun: list[Phase],
        ended: list[Phase],
        h: float,
        again: Callable[[Mover, Phase, float], Phase],
    ) -> list[Phase]:
        """The ends of the step with all constraints respected, from what they are without.

        Args:
            begun: Movers at the start of the step, ready for impulses.
            ended: Where they end without.
            h: Seconds.
            again: Makes the step of one mover from its start with impulses.
        """
        self.counts[:] = 0
        rows, held, total = self._rows, {}, np.zeros(self._width)
        inverses, moved = None, ended
        for _ in range(_ROUNDS):
            found = self._find(moved)
            if inverses is None and self._is_free(found, moved):
                for pair, _ in found:
                    pair.memory[0] = 0.0
                return moved
            change = np.zeros(self._width) if inverses is None else inverses @ total
            rows.clear()
            if found:
                self._touch_rows(found, begun, moved, change, h)
            stops = self._stop_rows(begun, moved, change, h, held)
            self._lead_rows(begun, moved, change, h)
            if not rows.count:
                return moved
            if inverses is None:
                inverses = self._inverses(begun, h)
            impulse, total = rows.solve(inverses, self._accuracy)
            _remember(found, impulse, 0)
            if not impulse.any():
                moved = ended
                break
            moved = [
                again(mover, start.having(start.p + total[columns]), h)
                if total[columns].any()
                else end
                for mover, start, end, columns in zip(
                    self.movers, begun, ended, self._columns, strict=True
                )
            ]
            if self._missed(moved) < self._near:
                break
        self._check_leads(moved)
        return self._part(found, stops, impulse[:, 0] > 0, moved)

    def _is_free(self, found: list[tuple[Pair, Touches]], phases: list[Phase]) -> bool:
        """Whether nothing is inside anything, at a stop or led: then nothing has to act."""
        for _, touches in found:
            if not touches.gap.min() >= 0:
                return False
        for mover, phase in zip(self.movers, phases, strict=True):
            stops = mover.loads.stops
            if mover.loads.goals or (stops is not None and room(phase.q, stops) < self._near):
                return False
        return True

    def _missed(self, phases: list[Phase]) -> float:
        """How far coordinates are beyond stops and led places from goals, at worst; relative."""
        worst = 0.0
        for mover, phase in zip(self.movers, phases, strict=True):
            if mover.loads.stops is not None:
                worst = max(worst, -room(phase.q, mover.loads.stops))
            for index, goal in mover.loads.goals:
                gap = float(np.linalg.norm(goal - mover.cloud(phase).points[index]))
                worst = max(worst, gap / mover.size)
        return worst

    def _find(self, phases: list[Phase]) -> list[tuple[Pair, Touches]]:
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

    def _cloud(self, shape: Shape, phases: list[Phase]) -> Cloud:
        if shape.mover < 0:
            return self._still[id(shape)]
        return self.movers[shape.mover].cloud(phases[shape.mover])

    def _rates(self, phases: list[Phase]) -> np.ndarray:
        """[K] of all movers."""
        return np.concatenate([phase.rates for phase in phases])

    def _inverses(self, phases: list[Phase], h: float) -> np.ndarray:
        """[K, K] inverse mass matrices of all movers, with what stiffness adds in a step h."""
        out = np.zeros((self._width, self._width))
        for mover, phase, columns in zip(self.movers, phases, self._columns, strict=True):
            write_inverse(phase.metric, mover.loads.stiffness, 0.25 * h * h, out[columns, columns])
        return out

    def _jacobian(self, out, pair: Pair, touches: Touches, places, phases: list[Phase]):
        """Write [N, 3, K] of touches at `phases`, found where bodies are in `places`; frames."""
        first, second = pair.first, pair.second
        one = other = _NO_JACOBIAN
        at_one = at_other = 0
        if first.mover >= 0:
            one = first.map.place_jacobians(phases[first.mover].q, touches.index)
            at_one = self._columns[first.mover].start
        if second is not None and second.mover >= 0:
            q, at_other = phases[second.mover].q, self._columns[second.mover].start
            if second.is_linked:
                carried = second.map.carried_jacobians  # pyright: ignore[reportAttributeAccessIssue]
                points = self._cloud(first, places).points[touches.index]
                other = carried(q, touches.carrier, points)
            else:
                other = second.map.place_jacobians(q, touches.carrier)
        return write_jacobian(out, touches.normal, one, at_one, other, at_other)

    def _touch_rows(self, found, begun: list[Phase], ended, change: np.ndarray, h: float) -> None:
        """Rows of points near something; `change` [K] of the rates is due to impulses so far."""
        rates = self._rates(begun)
        moved = np.concatenate([b.q - a.q for a, b in zip(begun, ended, strict=True)])
        for pair, touches in found:
            count, first = len(touches.index), pair.first
            jacobian, velocity, target, friction, bounce, guess = self._rows.add(count, TOUCH)
            guess[:] = pair.memory[0, touches.index]
            friction[:] = pair.friction
            frames = self._jacobian(jacobian, pair, touches, ended, begun)
            own, way = (0, 0), np.zeros((count, 3))
            if first.mover >= 0:
                columns = self._columns[first.mover]
                own = (columns.start, columns.stop)
                start = first.map.places(begun[first.mover].q, touches.index)
                way = self._cloud(first, ended).points[touches.index] - start
            write_touches(
                jacobian, velocity, target, bounce, frames, touches.gap, way, own,
                moved, change, rates, h,
                _RECOVERY * first.size, pair.restitution,
            )  # fmt: skip

    def _stop_rows(self, begun, ended, change, h: float, held: dict) -> list[_Held]:
        """Rows of coordinates at their stops or beyond, and of those `held` by them before.

        Also (Jacobians, mover, coordinates, side) of them, one per side.
        """
        added = []
        for number, mover in enumerate(self.movers):
            stops = mover.loads.stops
            if stops is None:
                continue
            q, first = ended[number].q, self._columns[number].start
            for side in (0, 1):
                before = held.setdefault((number, side), np.zeros(len(q), bool))
                hit = at_stops(q, stops, side, self._near, before)
                if not len(hit):
                    continue
                jacobian, velocity, target, _, bounce, _ = self._rows.add(len(hit), STOP)
                write_stops(
                    jacobian, velocity, target, bounce, hit, stops, side, begun[number].q, q,
                    change, begun[number].rates, first, h, min(0.2 / h, _RETURN),
                )  # fmt: skip
                added.append(_Held(jacobian.copy(), number, hit, side))
        return added

    def _gap(self, held: _Held, phase: Phase) -> np.ndarray:
        """How far held coordinates are from their stops."""
        stops = self.movers[held.mover].loads.stops
        assert stops is not None
        gap = phase.q - stops[:, held.side]
        return (gap if held.side == 0 else -gap)[held.coordinates]

    def _lead_rows(self, begun, ended, change, h: float) -> None:
        for number, mover in enumerate(self.movers):
            for index, goal in mover.loads.goals:
                jacobian, velocity, target, _, _, _ = self._rows.add(1, LEAD)
                jacobian[:, :, self._columns[number]] = mover.map.place_jacobians(
                    begun[number].q, np.array([index])
                )
                velocity[:] = -(jacobian @ change)
                target[:] = (goal - mover.cloud(ended[number]).points[index]) / h

    def _check_leads(self, phases: list[Phase]) -> None:
        for mover, phase in zip(self.movers, phases, strict=True):
            for index, goal in mover.loads.goals:
                missing = float(np.linalg.norm(goal - mover.cloud(phase).points[index]))
                if missing > _MISSED * mover.size:
                    raise Diverged(
                        f"a led place of '{mover.actor.name}' misses its target by {missing:.3g} "
                        "m: constraints contradict each other, or it jumps or is out of reach"
                    )

    def _part(self, found, stops, hit: np.ndarray, moved: list[Phase]) -> list[Phase]:
        """Velocities after touching: `moved` with impulses at the end of the step."""
        rows, later, at = self._rows, self._later, 0
        later.clear()
        again: list[tuple[Pair, Touches]] = []
        qd = self._rates(moved)
        for pair, touches in found:
            count = len(touches.index)
            here = np.flatnonzero(hit[at : at + count])
            bounces, at = rows.bounce(at, count), at + count
            if not len(here):
                continue
            for shape in (pair.first, pair.second):
                if shape is not None and shape.mover >= 0:
                    self.counts[shape.mover] += len(here)
            jacobian, velocity, target, friction, _, guess = later.add(len(here), TOUCH)
            touching = touches.take(here)
            guess[:] = pair.memory[1, touching.index]
            again.append((pair, touching))
            friction[:] = pair.friction
            self._jacobian(jacobian, pair, touching, moved, moved)
            velocity[:], target[:] = jacobian @ qd, 0.0
            target[:, 0] = bounces[here]
        for known in stops:
            gap = self._gap(known, moved[known.mover])
            here = np.flatnonzero(hit[at : at + len(gap)] | (gap < self._near))
            bounces, at = rows.bounce(at, len(gap)), at + len(gap)
            if len(here):
                jacobian, velocity, target, _, _, _ = later.add(len(here), STOP)
                jacobian[:] = known.jacobian[here]
                velocity[:], target[:] = jacobian @ qd, 0.0
                target[:, 0] = bounces[here]
        if not later.count:
            return moved
        solved, total = later.solve(self._inverses(moved, 0.0), self._accuracy)
        _remember(again, solved, 1)
        return [
            phase.having(phase.p + total[columns])
            for phase, columns in zip(moved, self._columns, strict=True)
        ]

    def _refuse_overlap(self) -> None:
        for pair, touches in self._find([mover.phase for mover in self.movers]):
            depth = -float(touches.gap.min())
            if depth > _DEEP * pair.first.size:
                other = "the ground" if pair.second is None else f"'{pair.second.name}'"
                raise InputError(
                    f"'{pair.first.name}' starts {depth:.3g} m inside {other}",
                    allowed=f"at most {_DEEP * pair.first.size:.3g} m, which is let out",
                    hint=f"move them {depth:.3g} m apart, or make one a ghost (contacts=0)",
                )


def _remember(found: list[tuple[Pair, Touches]], impulse: np.ndarray, stage: int) -> None:
    """Keep the impulses of touches as first guesses for the next step."""
    at = 0
    for pair, touches in found:
        count = len(touches.index)
        pair.memory[stage] = 0.0
        pair.memory[stage, touches.index] = impulse[at : at + count]
        at += count
