"""Preprocessing: from a mesh to network input, points in a z-up unit box with component ids."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from kin4d.errors import InputError
from kin4d.geometry.mesh import Mesh, face_normals
from kin4d.geometry.sampling import SurfaceSamples, sample_surface
from kin4d.neurok.encoders import PointFeatures

MOST_GROUPS = 96
"""Components the networks look at; smaller ones are counted with the nearest of these."""


@dataclass(frozen=True, eq=False)
class UnitBox:
    """The unit box of a shape: box = (world @ turn^T - centre) * scale.

    Attributes:
        turn: [3, 3] makes z up.
        centre: [3] m, after turning.
        scale: 1/m.
    """

    rotation: np.ndarray
    centre: np.ndarray
    scale: float

    @classmethod
    def of(cls, vertices: np.ndarray, *, up: str) -> UnitBox:
        """The box of vertices [V, 3] (m) whose `up` axis is "y" or "z"."""
        if up not in ("y", "z"):
            raise InputError("which axis points up?", value=up, allowed="'y' or 'z'")
        rotation = np.eye(3) if up == "z" else np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]])
        rotated = vertices @ rotation.T
        low, high = rotated.min(0), rotated.max(0)
        return cls(rotation, (low + high) / 2, 1.0 / float((high - low).max()))

    @property
    def matrix(self) -> np.ndarray:
        """[4, 4] from the world to the box."""
        matrix = np.eye(4)
        matrix[:3, :3] = self.rotation * self.scale
        matrix[:3, 3] = -self.centre * self.scale
        return matrix

    def normalize(self, world: np.ndarray) -> np.ndarray:
        """World points [..., 3] (m) to the box."""
        return (world @ self.rotation.T - self.centre) * self.scale


@dataclass(frozen=True, eq=False)
class MeshSample:
    """A mesh as the networks see it.

    Attributes:
        box: Where it is.
        samples: The places the networks are shown.
        surface: Those places, a batch of one.
        vertices: All vertices, a batch of one.
    """

    box: UnitBox
    samples: SurfaceSamples
    surface: PointFeatures
    vertices: PointFeatures


def sample_mesh(mesh: Mesh, *, up: str = "z", points: int = 1024, seed: int = 0) -> MeshSample:
    """Sample a mesh for the networks."""
    box = UnitBox.of(mesh.vertices, up=up)
    normalized = box.normalize(mesh.vertices)
    samples = sample_surface(mesh, points, seed=seed)
    points_in_box = samples.points(normalized)
    group = _groups(mesh, normalized, samples, points_in_box)
    surface = _surface(points_in_box, samples.normals(normalized), group[samples.corners[:, 0]])
    vertices = _surface(normalized, _broadest_normals(normalized, mesh.faces), group)
    return MeshSample(box, samples, surface, vertices)


def _surface(points: np.ndarray, normals: np.ndarray, group: np.ndarray) -> PointFeatures:
    return PointFeatures(
        torch.from_numpy(points.astype(np.float32))[None],
        torch.from_numpy(normals.astype(np.float32))[None],
        torch.from_numpy(group.astype(np.int64))[None],
    )


def _groups(
    mesh: Mesh, vertices: np.ndarray, samples: SurfaceSamples, points_in_box: np.ndarray
) -> np.ndarray:
    """[V] component of each vertex, counted from 0: the `MOST_GROUPS` with most samples.

    Any other, too small to be seen, goes with the sample nearest to it.
    """
    ids = mesh.components
    sampled = ids[samples.corners[:, 0]]
    seen, count = np.unique(sampled, return_counts=True)
    seen = seen[np.argsort(-count, kind="stable")[:MOST_GROUPS]]
    index = np.full(int(ids.max()) + 1, -1)
    index[seen] = np.arange(len(seen))
    group = index[ids]
    lost = np.flatnonzero(group < 0)
    if len(lost):
        from scipy.spatial import KDTree

        kept = np.flatnonzero(index[sampled] >= 0)
        nearest = KDTree(points_in_box[kept]).query(vertices[lost])[1]
        group[lost] = index[sampled[kept[nearest]]]
    return group


def _broadest_normals(vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """[V, 3] unit normal of each vertex's largest face.

    Networks learn from points inside faces: the mean of a corner's faces would be strange to them.
    """
    normals = face_normals(vertices, faces)
    size = np.linalg.norm(normals, axis=1)
    order = np.argsort(size, kind="stable")
    broadest = np.zeros(len(vertices), np.int64)
    broadest[faces[order].ravel()] = np.repeat(order, 3)
    return normals[broadest] / np.maximum(size[broadest], 1e-30)[:, None]
