"""CollisionShape: contact points and distance fields of a body or a static obstacle."""

from __future__ import annotations

from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from kin4d.bodies.body import Body
from kin4d.bodies.capabilities import RigidLinks, fixed_base
from kin4d.bodies.rigid import RigidBody
from kin4d.dynamics.contact.contact_points import contact_points
from kin4d.dynamics.contact.distance_field import DistanceField, distance_field
from kin4d.dynamics.materials import Material
from kin4d.geometry.mesh import Mesh
from kin4d.kinematics.compiled.articulated import ArticulatedKinematics
from kin4d.kinematics.compiled.compiled_kinematics import CompiledKinematics

_CELLS = 40  # Grid cells along a shape's bounding-box diagonal.
_NEIGHBOURS = 8
# Fields depend on the body alone: they outlive a run, not the body.
_PARTS: WeakKeyDictionary[Body, list[tuple[int, DistanceField]]] = WeakKeyDictionary()


class CollisionShape:
    """Contact points, and fields of distance for the points of others.

    Args:
        name: For people.
        body: The body.
        map: Its compiled map; contact points are its first `count` places.
        count: See map.
        material: Its friction and restitution; None to take the other's.
        mover: Its number among the movers, -1 if it stands still.
    """

    def __init__(
        self,
        name: str,
        body: Body,
        map: CompiledKinematics,
        *,
        count: int,
        material: Material | None,
        mover: int,
    ) -> None:
        self.name, self.map, self.count, self.material, self.mover = (
            name,
            map,
            count,
            material,
            mover,
        )
        self._body = fixed_base(body)
        self.size = body.rest.bbox_diagonal

    @classmethod
    def still(cls, mesh: Mesh, material: Material | None, count: int = 512) -> CollisionShape:
        """An obstacle."""
        body = RigidBody(mesh)
        points = contact_points(body, count)
        map = ArticulatedKinematics(body, points, floating=False, mass_scale=1.0)
        return cls(mesh.name, body, map, count=len(points), material=material, mover=-1)

    @property
    def moving(self) -> np.ndarray:
        """[C] the contact points that its coordinates move."""
        if not isinstance(self.map, ArticulatedKinematics) or self.map.floating:
            return np.arange(self.count)
        return np.flatnonzero(self.map.data.place_frame[: self.count] > 0)

    @property
    def is_linked(self) -> bool:
        """Whether it is made of rigid parts."""
        return isinstance(self.map, ArticulatedKinematics)

    @cached_property
    def parts(self) -> list[tuple[int, DistanceField]]:
        """The rigid parts that have a surface: (frame that carries it, field in that frame)."""
        assert isinstance(self.map, ArticulatedKinematics)
        assert isinstance(self._body, RigidLinks)
        known = _PARTS.get(self._body)
        if known is not None:
            return known
        found = []
        for i, link in enumerate(self._body.links):
            if link.mesh is None:
                continue
            mesh = link.mesh.transformed(self.map.link_offset[i])
            spacing = max(self.size / _CELLS, mesh.bbox_diagonal / (2 * _CELLS))
            spacing = min(spacing, mesh.bbox_diagonal / 6)
            field = distance_field(mesh, spacing=spacing, shell=0.25 * spacing)
            found.append((int(self.map.link_frame[i]), field))
        _PARTS[self._body] = found
        return found

    @cached_property
    def soft(self) -> tuple[np.ndarray, np.ndarray, DistanceField]:
        """Rest contact points [C, 3], their neighbours [C, 8] and the field of the rest shape."""
        from scipy.spatial import KDTree

        q = self._body.q0.numpy()
        rest = self.map.places(np.concatenate([np.zeros(6), q]) if self.map.floating else q)
        rest = np.ascontiguousarray(rest[: self.count])
        wanted = min(_NEIGHBOURS + 1, len(rest))
        neighbours = np.asarray(KDTree(rest).query(rest, k=wanted)[1])
        spacing = self.size / _CELLS
        field = distance_field(self._body.rest, spacing=spacing, shell=0.25 * spacing)
        return rest, np.ascontiguousarray(neighbours[:, 1:]), field
