"""Pairs of shapes that may touch, and their contacts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kin4d.dynamics.config import ContactConfig
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


@dataclass(slots=True)
class ContactSet:
    """N points of one shape near another.

    Attributes:
        index: [N] contact points of the first shape.
        gap: [N] m, negative inside.
        normal: [N, 3] unit, out of the second shape.
        carrier: [N] frames (links) or contact points (soft) of the second shape that carry it.
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
        margin: m, at which points are candidates.
        max_contacts: How many contacts are kept.
        which: [C] the first shape's points that are looked at.
    """

    def __init__(
        self,
        first: CollisionShape,
        second: CollisionShape | None,
        *,
        floor: float = 0.0,
        surface: Material | None,
        config: ContactConfig,
    ) -> None:
        self.first, self.second, self.floor = first, second, floor
        other = surface if second is None else second.material
        a, b = first.material or other, other or first.material
        assert a is not None
        assert b is not None
        self.friction = float(np.sqrt(a.friction * b.friction))
        self.restitution = float(np.sqrt(a.restitution * b.restitution))
        self.margin = config.margin * first.size
        joints = first.kinematics.width - 6 * first.kinematics.floating if first.links else 0
        self.max_contacts = config.max_contacts + config.max_contacts_per_joint * joints
        # What cannot move need not be kept from what does not.
        static = second is None or second.actor < 0
        self.which = first.moving if static else np.arange(first.count)

    def find(
        self, points: PointSet, others: PointSet | None, q: np.ndarray, last_impulse: np.ndarray
    ) -> ContactSet | None:
        """Where they touch or are about to.

        Args:
            points: Of the first shape.
            others: Of the second shape.
            q: [k] coordinates of the second shape.
            last_impulse: [C, 3] N s on the first shape's points: if there are more contacts than
                are kept, those with an impulse come first.
        """
        second, xyz = self.second, points.points
        if second is None or others is None:
            if points.box[2] > self.floor + self.margin:
                return None
            index, gap, normal = collide_plane(xyz, self.which, self.floor, self.margin)
            found = (index, gap, normal, np.zeros(len(index), np.int64))
        elif not boxes_overlap(points.box, others.box, self.margin):
            return None
        elif second.links is not None:
            rotations, origins = second.links.frames(q)
            found = self._collide_links(second, xyz, rotations, origins)
        else:
            found = collide_soft(
                xyz, self.which, others.points, *second.soft, self.margin, 0.25 * second.size
            )
        if found is None or len(found[0]) == 0:
            return None
        if len(found[0]) > self.max_contacts:
            found = reduce_contacts(found, xyz, last_impulse, 0.25 * self.margin, self.max_contacts)
        return ContactSet(*found)

    def _collide_links(
        self, second: CollisionShape, points: np.ndarray, rotations: np.ndarray, origins: np.ndarray
    ) -> tuple[np.ndarray, ...] | None:
        parts = []
        for frame, field in second.link_fields:
            index, gap, normal = collide_part(
                points, self.which, rotations[frame], origins[frame], field, self.margin
            )
            if len(index):
                parts.append((index, gap, normal, np.full(len(index), frame)))
        if len(parts) <= 1:
            return parts[0] if parts else None
        return tuple(np.concatenate(column) for column in zip(*parts, strict=True))
