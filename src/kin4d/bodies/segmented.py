"""SegmentedBody: one mesh whose vertices are assigned to rigid parts on joints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kin4d.bodies.articulated import ArticulatedBody
from kin4d.bodies.articulated_base import Link, transform_points
from kin4d.bodies.inertial import Inertial
from kin4d.bodies.joint import Joint
from kin4d.errors import InputError
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.mesh_ops import submesh
from kin4d.geometry.skin import Skin

ROOT = "still"
"""Name of the link that does not move."""

_LIGHTEST = 1e-6  # of the whole mass: the least that a part weighs, so that it can be pushed


@dataclass(frozen=True, eq=False, kw_only=True)
class JointSpec:
    """The joint between a part and its parent, in world axes at rest.

    Attributes:
        name: Of the part, its link and its coordinate.
        parent: Number of the parent part; 0 does not move.
        kind: "revolute" or "prismatic".
        point: [3] m, a point on the axis.
        axis: [3] unit.
        limits: rad or m, relative to rest; both infinite for a hinge that turns endlessly.
        probability: That the part moves so, 0 to 1, by the network that predicted it; None if
            unknown.
    """

    name: str
    parent: int
    kind: str
    point: np.ndarray
    axis: np.ndarray
    limits: tuple[float, float]
    probability: float | None = None


class SegmentedBody(ArticulatedBody):
    """An `ArticulatedBody` that keeps its mesh as it was given: vertices, order, materials.

    Args:
        mesh: At rest, which is zero of every coordinate.
        part: [V] number of the part that each vertex belongs to: 0 does not move, the others are
            counted from 1 in the order of `joints`.
        joints: The joints of parts 1, 2, ...
        mass: kg, spread evenly over the surface; or [F], of each triangle.
        confidence: Of the network that predicted the parts, 0 to 1; None if unknown.

    Attributes:
        part: As given.
        face_masses: [F] kg.
        joint_specs: The joints as given.
    """

    def __init__(
        self,
        mesh: Mesh,
        part: np.ndarray,
        joints: Sequence[JointSpec],
        *,
        mass: float | np.ndarray = 1.0,
        confidence: float | None = None,
    ) -> None:
        part = np.asarray(part, np.int64)
        if part.shape != (len(mesh.vertices),) or part.min() < 0 or part.max() > len(joints):
            raise InputError("parts of vertices", value=part.shape, allowed=f"0 to {len(joints)}")
        self.part, self.joint_specs, self._mass = part, tuple(joints), mass
        weights = self.face_masses = _face_masses(mesh, mass)
        points = [np.zeros(3), *(np.asarray(spec.point, np.float64) for spec in joints)]
        names = [ROOT, *(spec.name for spec in joints)]
        of_face = part[mesh.faces[:, 0]]
        links = [
            _link(name, mesh, of_face == number, point, weights)
            for number, (name, point) in enumerate(zip(names, points, strict=True))
        ]
        built = []
        for spec, point in zip(joints, points[1:], strict=True):
            origin = np.eye(4)
            origin[:3, 3] = point - points[spec.parent]
            built.append(
                Joint(
                    name=spec.name,
                    kind=spec.kind,
                    parent=names[spec.parent],
                    child=spec.name,
                    origin=origin,
                    axis=spec.axis,
                    limits=spec.limits,
                )
            )
        super().__init__(links, built, name=mesh.name)
        self.confidence = confidence
        self._part, self._rest_vertices = torch.from_numpy(part), torch.tensor(mesh.vertices)
        self.rest = mesh
        self.skin = Skin.rigid(part, tuple(names))

    def vertices(self, q: Tensor) -> Tensor:
        """Surface vertices [..., V, 3] (m)."""
        return transform_points(self.skin_transforms(q), self._part, self._rest_vertices)

    def placed(self, pose: np.ndarray) -> SegmentedBody:
        """The same body moved by the rigid transform `pose` [4, 4]."""
        joints = [
            replace(
                spec,
                point=pose[:3, :3] @ spec.point + pose[:3, 3],
                axis=pose[:3, :3] @ spec.axis,
            )
            for spec in self.joint_specs
        ]
        mesh = self.rest.transformed(pose)
        return SegmentedBody(mesh, self.part, joints, mass=self._mass, confidence=self.confidence)

    def corrected(self, parts: Mapping[str, Mapping[str, Any]]) -> SegmentedBody:
        """A body with some of its joints and parts changed.

        Args:
            parts: What to change, by part; see `kin4d.bodies.corrections`. For example
                ``{"part1": {"axis": [0, 0, 1], "pieces": [3]}, "part2": {"type": "fixed"}}``.
        """
        from kin4d.bodies.corrections import correct

        part, joints = correct(self.rest, self.part, self.joint_specs, parts)
        return SegmentedBody(self.rest, part, joints, mass=self._mass, confidence=self.confidence)


def _link(name: str, mesh: Mesh, own: np.ndarray, origin: np.ndarray, weights: np.ndarray) -> Link:
    """The link of some triangles, own [F], with its frame at `origin`."""
    if not own.any():
        return Link(name)
    to_frame = np.eye(4)
    to_frame[:3, 3] = -origin
    piece = submesh(mesh, own, name=name).transformed(to_frame)
    return Link(name, piece, Inertial.of_shell(piece, weights[own]))


def _face_masses(mesh: Mesh, mass: float | np.ndarray) -> np.ndarray:
    """[F] kg."""
    given = np.asarray(mass, np.float64)
    if given.shape not in ((), (len(mesh.faces),)) or not np.isfinite(given).all():
        raise InputError("mass", value=given.shape, allowed="a number, or one for each triangle")
    if given.min() < 0 or not given.sum() > 0:
        raise InputError("mass", value=float(given.min()), allowed="> 0 kg")
    share = mesh.face_areas / mesh.face_areas.sum()
    weights = given if given.ndim else given * share
    return weights + _LIGHTEST * weights.sum() * share
