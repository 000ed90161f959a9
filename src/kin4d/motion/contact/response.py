"""Contacts: the impulses between all movers, their stops and their leads, twice a step.

First, impulses at the start of the step such that at its end nothing is inside anything, stops
hold and led places are where they should be: this is about positions, so nothing drifts. Then
impulses at the end such that what has touched parts with its restitution, or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kin4d.errors import InputError
from kin4d.motion.contact.pairs import Pair, Touches
from kin4d.motion.contact.shape import Shape
from kin4d.motion.contact.solve import LEAD, STOP, TOUCH, frames_of, solve_impulses
from kin4d.motion.flow import metric
from kin4d.motion.mover import Mover, Phase
from kin4d.motion.scene import Scene

_SWEEPS = 100
_RECOVERY = 0.1  # Sizes per second at which what is inside is let out.
_DEEP = 0.01  # Of the size: deeper than that at the start is a mistake.


class Rows:
    """Constraints of one step, gathered."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.kind: list[np.ndarray] = []
        self.rows: list[np.ndarray] = []
        self.velocity: list[np.ndarray] = []
        self.target: list[np.ndarray] = []
        self.friction: list[np.ndarray] = []
        self.bounce: list[np.ndarray] = []

    def add(self, kind, rows, velocity, target, friction, bounce) -> None:
        """Constraints of one kind: rows [N, 3, K], velocity and target [N, 3], the rest [N]."""
        n = len(rows)
        self.kind.append(np.full(n, kind))
        self.rows.append(rows)
        self.velocity.append(velocity)
        self.target.append(target)
        self.friction.append(np.broadcast_to(friction, n))
        self.bounce.append(bounce)

    def solve(self, inverses: np.ndarray, tolerance: float) -> np.ndarray:
        """Impulses [N, 3]."""
        rows = np.concatenate(self.rows)
        impulse = np.zeros((len(rows), 3))
        solve_impulses(
            np.concatenate(self.kind),
            rows,
            rows @ inverses,
            np.concatenate(self.velocity),
            np.concatenate(self.target),
            np.concatenate(self.friction),
            impulse,
            _SWEEPS,
            tolerance,
        )
        return impulse


class Contacts:
    """All that can touch in a scene.

    Attributes:
        counts: [movers] how many points of each touched in the last step.
    """

    def __init__(self, scene: Scene, movers: Sequence[Mover]) -> None:
        self.movers = movers
        ends = np.cumsum([0] + [mover.width for mover in movers])
        self._columns = [slice(int(a), int(b)) for a, b in zip(ends[:-1], ends[1:], strict=True)]
        self._width = int(ends[-1])
        self._size = min(mover.size for mover in movers)
        self.counts = np.zeros(len(movers), np.int64)
        surface = scene.surface
        assert surface is None or not isinstance(surface, str)
        shapes = [
            Shape(
                mover.actor.name, mover.actor.body, mover.map,
                count=mover.contact_count, material=mover.material, mover=i,
            )
            for i, mover in enumerate(movers)
            if mover.contact_count
        ]  # fmt: skip
        still = [Shape.still(mesh, surface) for mesh in scene.obstacles]
        self._still = {id(shape): shape.map.places(np.zeros(0)) for shape in still}
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
        places = [mover.map.places(mover.phase.q) for mover in self.movers]
        phases = [mover.phase for mover in self.movers]
        out = np.zeros(len(self.movers))
        for pair, touches in self._find(phases, places):
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
        again: Callable[[Mover, Phase], Phase],
    ) -> list[Phase]:
        """The ends of the step with all constraints respected, from what they are without.

        Args:
            begun: Movers at the start of the step, ready for impulses.
            ended: Where they end without.
            h: Seconds.
            again: Makes the step of one mover from its start with impulses.
        """
        self.counts[:] = 0
        if not self.pairs and all(
            mover.loads.stops is None and not mover.loads.goals for mover in self.movers
        ):
            return ended
        after = [mover.map.places(phase.q) for mover, phase in zip(self.movers, ended, strict=True)]
        found = self._find(ended, after)
        rows = Rows(self._width)
        rates = [mover.rates(phase) for mover, phase in zip(self.movers, begun, strict=True)]
        for pair, touches in found:
            self._touch_rows(rows, pair, touches, begun, ended, after, rates, h)
        stops = self._stop_rows(rows, begun, ended, rates, h)
        self._lead_rows(rows, begun, after, h)
        if not rows.rows:
            return ended
        inverses = np.zeros((self._width, self._width))
        for mover, phase, columns in zip(self.movers, begun, self._columns, strict=True):
            gram = metric(phase.jacobian) + 0.25 * h * h * mover.loads.stiffness
            inverses[columns, columns] = np.linalg.inv(gram)
        impulse = rows.solve(inverses, 1e-7 * self._size / h)
        if not impulse.any():
            return ended
        total = np.einsum("na,nak->k", impulse, np.concatenate(rows.rows))
        moved = []
        for mover, start, end, columns in zip(
            self.movers, begun, ended, self._columns, strict=True
        ):
            if total[columns].any():
                start = Phase(start.q, start.p + total[columns], start.y, start.jacobian)
                end = again(mover, start)
            moved.append(end)
        return self._part(rows, found, stops, impulse, moved)

    def _find(self, phases: list[Phase], places: list[np.ndarray]) -> list[tuple[Pair, Touches]]:
        out = []
        for pair in self.pairs:
            points, _ = self._of(pair.first, phases, places)
            others, q = self._of(pair.second, phases, places)
            touches = pair.find(points, others, q)
            if touches is not None:
                out.append((pair, touches))
        return out

    def _of(self, shape: Shape | None, phases: list[Phase], places: list[np.ndarray]):
        """Places and coordinates of a shape."""
        if shape is None:
            return _NOWHERE, _NOTHING
        if shape.mover < 0:
            return self._still[id(shape)], _NOTHING
        return places[shape.mover], phases[shape.mover].q

    def _rows_of(self, pair: Pair, touches: Touches, points: np.ndarray, phases: list[Phase]):
        """Relative velocity of the two sides in the contact frames: [N, 3, K]."""
        out = np.zeros((len(touches.index), 3, self._width))
        first, second = pair.first, pair.second
        if first.mover >= 0:
            out[:, :, self._columns[first.mover]] = first.map.place_jacobians(
                phases[first.mover].q, touches.index
            )
        if second is not None and second.mover >= 0:
            q, columns = phases[second.mover].q, self._columns[second.mover]
            if second.is_linked:
                carried = second.map.carried_jacobians  # pyright: ignore[reportAttributeAccessIssue]
                out[:, :, columns] -= carried(q, touches.carrier, points)
            else:
                out[:, :, columns] -= second.map.place_jacobians(q, touches.carrier)
        return frames_of(touches.normal) @ out

    def _touch_rows(self, rows: Rows, pair, touches, begun, ended, after, rates, h) -> None:
        points = self._of(pair.first, ended, after)[0][touches.index]
        jacobians = self._rows_of(pair, touches, points, begun)
        moved = np.zeros(self._width)
        for columns, start, end in zip(self._columns, begun, ended, strict=True):
            moved[columns] = end.q - start.q
        velocity = jacobians @ (moved / h)
        if pair.first.mover >= 0:
            # The points' own way is known exactly; what curves is not in the Jacobian.
            now = pair.first.map.places(begun[pair.first.mover].q)[touches.index]
            own = self._columns[pair.first.mover]
            straight = jacobians[:, :, own] @ (moved[own] / h)
            way = frames_of(touches.normal) @ ((points - now) / h)[:, :, None]
            velocity += way[:, :, 0] - straight
        before = touches.gap - h * velocity[:, 0]
        target = np.zeros_like(velocity)
        target[:, 0] = np.where(
            before > 0,
            -before / h,
            np.minimum(-0.2 * before / h, _RECOVERY * pair.first.size),
        )
        # Normal speed at the moment of touching, between those at both ends of the step.
        start = jacobians[:, 0] @ np.concatenate(rates)
        share = np.clip(before / np.maximum(before - touches.gap, 1e-30), 0, 1)
        speed = start + share * 2 * (velocity[:, 0] - start)
        rows.add(
            TOUCH, jacobians, velocity, target, pair.friction, _bounce(speed, pair.restitution, h)
        )

    def _stop_rows(self, rows: Rows, begun, ended, rates, h) -> list[tuple[int, np.ndarray]]:
        """Rows of coordinates at their stops; also which they are."""
        added = []
        for number, mover in enumerate(self.movers):
            stops = mover.loads.stops
            if stops is None:
                continue
            start, end, rate = begun[number].q, ended[number].q, rates[number]
            for side, sign in ((0, 1.0), (1, -1.0)):
                gap = sign * (end - stops[:, side])
                hit = np.flatnonzero(gap < 0)
                if not len(hit):
                    continue
                jacobians = np.zeros((len(hit), 3, self._width))
                jacobians[np.arange(len(hit)), 0, self._columns[number].start + hit] = sign
                velocity, target = np.zeros((len(hit), 3)), np.zeros((len(hit), 3))
                velocity[:, 0] = sign * (end - start)[hit] / h
                before = gap[hit] - h * velocity[:, 0]
                target[:, 0] = np.where(before > 0, -before / h, -0.2 * before / h)
                bounce = stops[hit, 2] * np.maximum(-sign * rate[hit], 0)
                rows.add(STOP, jacobians, velocity, target, 0.0, bounce)
                added.append((number, jacobians))
        return added

    def _lead_rows(self, rows: Rows, begun, after, h) -> None:
        for number, mover in enumerate(self.movers):
            for index, goal in mover.loads.goals:
                jacobians = np.zeros((1, 3, self._width))
                jacobians[:, :, self._columns[number]] = mover.map.place_jacobians(
                    begun[number].q, np.array([index])
                )
                missing = (goal - after[number][index]) / h
                rows.add(LEAD, jacobians, np.zeros((1, 3)), missing[None], 0.0, np.zeros(1))

    def _part(self, rows: Rows, found, stops, impulse: np.ndarray, moved: list[Phase]):
        """Velocities after touching: `moved` with impulses at the end of the step."""
        later = Rows(self._width)
        at, number = 0, 0
        qd = np.concatenate(
            [mover.rates(phase) for mover, phase in zip(self.movers, moved, strict=True)]
        )
        places = [
            mover.map.places(phase.q) for mover, phase in zip(self.movers, moved, strict=True)
        ]
        for pair, touches in found:
            hit = impulse[at : at + len(touches.index), 0] > 0
            bounce, at, number = rows.bounce[number][hit], at + len(touches.index), number + 1
            if not hit.any():
                continue
            for shape in (pair.first, pair.second):
                if shape is not None and shape.mover >= 0:
                    self.counts[shape.mover] += int(hit.sum())
            touching = touches.take(hit)
            points = self._of(pair.first, moved, places)[0][touching.index]
            jacobians = self._rows_of(pair, touching, points, moved)
            target = np.zeros((len(bounce), 3))
            target[:, 0] = bounce
            later.add(TOUCH, jacobians, jacobians @ qd, target, pair.friction, bounce)
        for _, jacobians in stops:
            hit = impulse[at : at + len(jacobians), 0] > 0
            bounce, at, number = rows.bounce[number][hit], at + len(jacobians), number + 1
            if hit.any():
                target = np.zeros((len(bounce), 3))
                target[:, 0] = bounce
                later.add(STOP, jacobians[hit], jacobians[hit] @ qd, target, 0.0, bounce)
        if not later.rows:
            return moved
        inverses = np.zeros((self._width, self._width))
        for phase, columns in zip(moved, self._columns, strict=True):
            inverses[columns, columns] = np.linalg.inv(metric(phase.jacobian))
        solved = later.solve(inverses, 1e-6 * self._size)
        total = np.einsum("na,nak->k", solved, np.concatenate(later.rows))
        return [
            Phase(phase.q, phase.p + total[columns], phase.y, phase.jacobian)
            for phase, columns in zip(moved, self._columns, strict=True)
        ]

    def _refuse_overlap(self) -> None:
        phases = [mover.phase for mover in self.movers]
        places = [
            mover.map.places(phase.q) for mover, phase in zip(self.movers, phases, strict=True)
        ]
        for pair, touches in self._find(phases, places):
            depth = -float(touches.gap.min())
            if depth > _DEEP * pair.first.size:
                other = "the ground" if pair.second is None else f"'{pair.second.name}'"
                raise InputError(
                    f"'{pair.first.name}' starts {depth:.3g} m inside {other}",
                    allowed=f"at most {_DEEP * pair.first.size:.3g} m, which is let out",
                    hint=f"move them at least {depth:.3g} m apart, or make one a ghost (contacts=0)",
                )


_NOWHERE, _NOTHING = np.zeros((0, 3)), np.zeros(0)


def _bounce(speed: np.ndarray, restitution: float, h: float) -> np.ndarray:
    """Speeds [N] with which points part that meet at `speed`; slow ones do not bounce."""
    slow = 4 * 9.81 * h
    return np.where(speed < -slow, -restitution * speed, 0.0)
