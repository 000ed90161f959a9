"""SegmentedBody: one mesh whose vertices are assigned to rigid parts on joints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from kin4d.bodies.articulated import ArticulatedBody
from kin4d.bodies.articulated_base import Link, transform_points
from kin4d.bodies.inertial import Inertial
from kin4d.bodies.joint import Joint
from kin4d.errors import InputError
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.skin import Skin

ROOT = "still"
"""Name of the link that stands fast."""

_LIGHTEST = 1e-6  # of the whole: what weighs nothing could not be pushed


@dataclass(frozen=True, eq=False, kw_only=True)
class JointSpec:
    """How a part hangs on another, in world axes, with everything as the mesh shows it.

    Attributes:
        name: Of the part, its link and its coordinate.
        parent: Number of the part it hangs on; 0 is what stands fast.
        kind: "revolute" or "prismatic".
        place: [3] m, a point of the axis.
        axis: [3] unit.
        limits: rad or m, from where it is.
    """

    name: str
    parent: int
    kind: str
    place: np.ndarray
    axis: np.ndarray
    limits: tuple[float, float]


class SegmentedBody(ArticulatedBody):
    """A `ArticulatedBody` that keeps its mesh as it was given: vertices, order, materials.

    Args:
        mesh: At rest, which is zero of every coordinate.
        part: [V] number of the part that each vertex follows: 0 stands fast, the others are counted
            from 1 in the order of `mounts`.
        mounts: How parts 1, 2, ... hang together.
        mass: kg, spread evenly over the surface; or [F], of each triangle.
        confidence: From 0 to 1, of whoever found the parts; None if they do not say.
    """

    def __init__(
        self,
        mesh: Mesh,
        part: np.ndarray,
        mounts: Sequence[JointSpec],
        *,
        mass: float | np.ndarray = 1.0,
        confidence: float | None = None,
    ) -> None:
        part = np.asarray(part, np.int64)
        if part.shape != (len(mesh.vertices),) or part.min() < 0 or part.max() > len(mounts):
            raise InputError("parts of vertices", value=part.shape, allowed=f"0 to {len(mounts)}")
        weights = _face_masses(mesh, mass)
        places = [np.zeros(3), *(np.asarray(mount.place, np.float64) for mount in mounts)]
        names = [ROOT, *(mount.name for mount in mounts)]
        of_face = part[mesh.faces[:, 0]]
        links = [
            _link(name, mesh, of_face == number, place, weights)
            for number, (name, place) in enumerate(zip(names, places, strict=True))
        ]
        joints = []
        for mount, place in zip(mounts, places[1:], strict=True):
            origin = np.eye(4)
            origin[:3, 3] = place - places[mount.parent]
            joints.append(
                Joint(
                    name=mount.name,
                    kind=mount.kind,
                    parent=names[mount.parent],
                    child=mount.name,
                    origin=origin,
                    axis=mount.axis,
                    limits=mount.limits,
                )
            )
        super().__init__(links, joints, name=mesh.name)
        self.confidence = confidence
        self._part, self._rest_vertices = torch.from_numpy(part), torch.tensor(mesh.vertices)
        self.rest = mesh
        self.skin = Skin.rigid(part, tuple(names))

    def vertices(self, q: Tensor) -> Tensor:
        """Surface vertices [..., V, 3] (m)."""
        return transform_points(self.skin_transforms(q), self._part, self._rest_vertices)


def _link(name: str, mesh: Mesh, own: np.ndarray, place: np.ndarray, weights: np.ndarray) -> Link:
    """The link of some triangles, own [F], with its frame at `place`."""
    if not own.any():
        return Link(name)
    used, corners = np.unique(mesh.faces[own], return_inverse=True)
    piece = Mesh(vertices=mesh.vertices[used] - place, faces=corners.reshape(-1, 3), name=name)
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
