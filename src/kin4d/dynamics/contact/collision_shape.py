"""CollisionGeometry and CollisionShape: contact points and distance fields of a body."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from kin4d.bodies.body import Body
from kin4d.bodies.capabilities import KinematicTree, fixed_base
from kin4d.bodies.rigid import RigidBody
from kin4d.dynamics.contact.collide import PointSet, make_point_set
from kin4d.dynamics.contact.contact_points import contact_points
from kin4d.dynamics.contact.distance_field import DistanceField, distance_field
from kin4d.dynamics.materials import Material
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.sampling import SurfaceSamples
from kin4d.kinematics.compiled.articulated import ArticulatedKinematics, fold_fixed_joints
from kin4d.kinematics.compiled.compiled_kinematics import CompiledKinematics


class CollisionGeometry:
    """What contact needs of a body and no run changes; computed on first use.

    Args:
        body: The body.
        count: How many points of its surface can touch something.
        links: Only these can touch something; all if empty.
        cells: Grid cells of distance fields along the bounding-box diagonal: more are finer, and
            take time and memory with their cube.

    Attributes:
        size: m, bounding-box diagonal of what can touch.
    """

    def __init__(
        self, body: Body, count: int, *, links: Sequence[str] = (), cells: int = 40
    ) -> None:
        self._body, self._count, self._cells = body, count, cells
        self._links, mesh = frozenset(links), body.rest
        self._faces = np.ones(len(mesh.faces), bool)
        self.size = mesh.bbox_diagonal
        if links:
            assert body.skin is not None
            numbers = [i for i, name in enumerate(body.skin.names) if name in self._links]
            self._faces = np.isin(body.skin.joints[mesh.faces[:, 0], 0], numbers)
            used = mesh.vertices[mesh.faces[self._faces].ravel()]
            self.size = float(np.linalg.norm(np.ptp(used, axis=0))) if len(used) else self.size

    @cached_property
    def contact_points(self) -> SurfaceSamples:
        """The points of the surface that can touch something."""
        return contact_points(self._body, self._count, faces=self._faces)

    @cached_property
    def link_fields(self) -> list[tuple[int, DistanceField]]:
        """Of the rigid parts that have a surface: (frame that carries it, field in that frame)."""
        body = fixed_base(self._body)
        assert isinstance(body, KinematicTree)
        *_, frames, offsets = fold_fixed_joints(body)
        out = []
        for link, frame, offset in zip(body.links, frames, offsets, strict=True):
            if link.mesh is None or (self._links and link.name not in self._links):
                continue
            mesh = link.mesh.transformed(offset)
            spacing = max(self.size / self._cells, mesh.bbox_diagonal / (2 * self._cells))
            spacing = min(spacing, mesh.bbox_diagonal / 6)
            field = distance_field(mesh, spacing=spacing, shell=0.25 * spacing)
            out.append((int(frame), field))
        return out

    @cached_property
    def rest_field(self) -> DistanceField:
        """Of the whole body at rest."""
        spacing = self.size / self._cells
        return distance_field(self._body.rest, spacing=spacing, shell=0.25 * spacing)


class CollisionShape:
    """A body as contacts see it during a run.

    Args:
        name: For people.
        body: The body.
        geometry: Its contact points and fields.
        kinematics: Its compiled kinematics; contact points are the first of its surface points.
        material: Its friction and restitution; None to take the other's.
        actor: Its number among the actors, -1 if it is static.
    """

    def __init__(
        self,
        name: str,
        body: Body,
        geometry: CollisionGeometry,
        kinematics: CompiledKinematics,
        *,
        material: Material | None,
        actor: int,
    ) -> None:
        self.name, self.kinematics, self.material, self.actor = name, kinematics, material, actor
        self._body, self._geometry = fixed_base(body), geometry
        self.size, self.count = geometry.size, len(geometry.contact_points)

    @classmethod
    def static(cls, mesh: Mesh, material: Material | None, count: int = 2048) -> CollisionShape:
        """An obstacle; its points are moved by nothing, so many of them cost little."""
        body = RigidBody(mesh)
        geometry = CollisionGeometry(body, count)
        kinematics = ArticulatedKinematics(
            body, geometry.contact_points, floating=False, mass_scale=1.0
        )
        return cls(mesh.name, body, geometry, kinematics, material=material, actor=-1)

    @property
    def moving(self) -> np.ndarray:
        """[C] the contact points that its coordinates move."""
        if not isinstance(self.kinematics, ArticulatedKinematics) or self.kinematics.floating:
            return np.arange(self.count)
        return np.flatnonzero(self.kinematics.data.surface_frame[: self.count] > 0)

    @property
    def links(self) -> ArticulatedKinematics | None:
        """Its kinematics if it is made of rigid links."""
        return self.kinematics if isinstance(self.kinematics, ArticulatedKinematics) else None

    @property
    def link_fields(self) -> list[tuple[int, DistanceField]]:
        """See `CollisionGeometry`."""
        return self._geometry.link_fields

    @cached_property
    def static_points(self) -> PointSet:
        """Where it is, if it is static."""
        return make_point_set(self.kinematics.at(np.zeros(0)).surface_points, self.count)

    @cached_property
    def soft(self) -> tuple[np.ndarray, np.ndarray, DistanceField]:
        """Rest contact points [C, 3], their neighbours [C, 8] and the field of the rest shape."""
        from scipy.spatial import KDTree

        q = self._body.q0.numpy()
        q = np.concatenate([np.zeros(6), q]) if self.kinematics.floating else q
        rest = np.ascontiguousarray(self.kinematics.at(q).surface_points[: self.count])
        neighbours = np.asarray(KDTree(rest).query(rest, k=min(9, len(rest)))[1])
        return rest, np.ascontiguousarray(neighbours[:, 1:]), self._geometry.rest_field
