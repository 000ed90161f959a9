"""Pairs of things that may meet, and where they do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kin4d.motion.contact.detect import boxes_meet, choose, near_part, near_plane, near_soft
from kin4d.motion.contact.shape import Shape
from kin4d.motion.materials import Material

_MOST = 8  # Contacts kept of one pair: enough for a rigid face and for what deforms,
_MORE = 2  # and so many more for each joint: every link may lie on the ground.
_MARGIN = 0.02  # Of the size: points nearer than that are looked at.


@dataclass(slots=True)
class Touches:
    """N points of one shape near another.

    Attributes:
        index: [N] places of the first shape.
        gap: [N] m, negative inside.
        normal: [N, 3] unit, out of the second shape.
        carrier: [N] frames (linked) or places (soft) of the second shape that carry the contact.
    """

    index: np.ndarray
    gap: np.ndarray
    normal: np.ndarray
    carrier: np.ndarray

    def take(self, kept: np.ndarray) -> Touches:
        """Some of them."""
        return Touches(self.index[kept], self.gap[kept], self.normal[kept], self.carrier[kept])


class Pair:
    """Points of `first` against `second`, or against the floor at height `floor` if that is None.

    Attributes:
        friction: Geometric mean of both materials' coefficients.
        restitution: Likewise.
        most: How many contacts are kept.
        memory: [2, C, 3] N s that acted last on the first side's points, before and after moving.
    """

    def __init__(
        self, first: Shape, second: Shape | None, *, floor: float = 0.0, surface: Material | None
    ) -> None:
        self.first, self.second, self.floor = first, second, floor
        other = surface if second is None else second.material
        a, b = first.material or other, other or first.material
        assert a is not None
        assert b is not None
        self.friction = float(np.sqrt(a.friction * b.friction))
        self.restitution = float(np.sqrt(a.restitution * b.restitution))
        self.margin = _MARGIN * first.size
        joints = first.map.width - 6 * first.map.floating if first.is_linked else 0
        self.most = _MOST + _MORE * joints
        self.memory = np.zeros((2, first.count, 3))
        # What cannot move need not be kept from what does not.
        still = second is None or second.mover < 0
        self.which = first.moving if still else np.arange(first.count)

    def find(self, points: np.ndarray, others: np.ndarray, q: np.ndarray) -> Touches | None:
        """Where they meet, given places of both and the second's coordinates."""
        second, count = self.second, self.first.count
        if second is None:
            index, gap = near_plane(points, self.which, self.floor, self.margin)
            if not len(index):
                return None
            up = np.zeros((len(index), 3))
            up[:, 2] = 1.0
            found = Touches(index, gap, up, np.zeros(len(index), np.int64))
            return self._some(found, points)
        if not boxes_meet(points[:count], others[: second.count], self.margin):
            return None
        if second.is_linked:
            found = self._near_links(points, q)
        else:
            rest, neighbours, field = second.soft
            reach = 0.25 * second.size
            found = Touches(
                *near_soft(points, self.which, others, rest, neighbours, field, self.margin, reach)
            )
        if found is None or not len(found.index):
            return None
        return self._some(found, points)

    def _some(self, found: Touches, points: np.ndarray) -> Touches:
        """The `most` that matter; those that bore load last are kept, so that guesses stay good."""
        bearing = self.memory[0, found.index, 0] > 0
        rank = found.gap - 0.25 * self.margin * bearing
        return found.take(choose(points, found.index, rank, self.most))

    def _near_links(self, points: np.ndarray, q: np.ndarray) -> Touches | None:
        assert self.second is not None
        rotations, origins = self.second.map.frames(q)  # pyright: ignore[reportAttributeAccessIssue]
        parts = []
        for frame, field in self.second.parts:
            index, gap, normal = near_part(
                points, self.which, rotations[frame], origins[frame], field, self.margin
            )
            if len(index):
                parts.append((index, gap, normal, np.full(len(index), frame)))
        if not parts:
            return None
        return Touches(*(np.concatenate(column) for column in zip(*parts, strict=True)))
