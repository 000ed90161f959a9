"""Pairs of things that may meet, and where they do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kin4d.dynamics.contact.collide import (
    PointSet,
    boxes_overlap,
    collide_part,
    collide_plane,
    collide_soft,
    reduce_contacts,
)
from kin4d.dynamics.contact.collision_shape import CollisionShape
from kin4d.dynamics.materials import Material

_MOST = 8  # Contacts kept of one pair: enough for a rigid face and for what deforms,
_MORE = 2  # and so many more for each joint: every link may lie on the ground.
_MARGIN = 0.02  # Of the size: points nearer than that are looked at.


@dataclass(slots=True)
class ContactSet:
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

    def take(self, kept: np.ndarray) -> ContactSet:
        """Some of them."""
        return ContactSet(self.index[kept], self.gap[kept], self.normal[kept], self.carrier[kept])


class ContactPair:
    """Points of `first` against `second`, or against the floor at height `floor` if that is None.

    Attributes:
        friction: Geometric mean of both materials' coefficients.
        restitution: Likewise.
        most: How many contacts are kept.
        warm_start: [2, C, 3] N s that acted last on the first side's points, before and after moving.
    """

    def __init__(
        self,
        first: CollisionShape,
        second: CollisionShape | None,
        *,
        floor: float = 0.0,
        surface: Material | None,
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
        self.warm_start = np.zeros((2, first.count, 3))
        # What cannot move need not be kept from what does not.
        still = second is None or second.mover < 0
        self.which = first.moving if still else np.arange(first.count)

    def find(self, cloud: PointSet, other: PointSet | None, q: np.ndarray) -> ContactSet | None:
        """Where they meet, given places of both and the second's coordinates."""
        second, points = self.second, cloud.points
        if second is None or other is None:
            if cloud.box[2] > self.floor + self.margin:
                return None
            index, gap, normal = collide_plane(points, self.which, self.floor, self.margin)
            found = (index, gap, normal, np.zeros(len(index), np.int64))
        elif not boxes_overlap(cloud.box, other.box, self.margin):
            return None
        elif second.is_linked:
            found = self._near_links(points, q)
        else:
            found = collide_soft(
                points, self.which, other.points, *second.soft, self.margin, 0.25 * second.size
            )
        count = 0 if found is None else len(found[0])
        if found is None or count == 0:
            return None
        if count > self.most:
            found = reduce_contacts(
                found, points, self.warm_start[0], 0.25 * self.margin, self.most
            )
        return ContactSet(*found)

    def _near_links(self, points: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, ...] | None:
        assert self.second is not None
        rotations, origins = self.second.map.frames(q)  # pyright: ignore[reportAttributeAccessIssue]
        parts = []
        for frame, field in self.second.parts:
            index, gap, normal = collide_part(
                points, self.which, rotations[frame], origins[frame], field, self.margin
            )
            if len(index):
                parts.append((index, gap, normal, np.full(len(index), frame)))
        if not parts:
            return None
        if len(parts) == 1:
            return parts[0]
        return tuple(np.concatenate(column) for column in zip(*parts, strict=True))
