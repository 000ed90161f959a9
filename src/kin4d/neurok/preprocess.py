"""Preprocessing: a mesh becomes network input, points in a z-up unit box with component ids."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from kin4d.errors import InputError
from kin4d.geometry.mesh import Mesh, face_normals
from kin4d.geometry.sampling import SurfaceSamples, sample_surface
from kin4d.neurok.encoders import PointFeatures

MAX_COMPONENTS = 96
"""Connected components in the network input; smaller ones get the id of the nearest of them."""


@dataclass(frozen=True, eq=False)
class UnitBox:
    """The unit box of a shape: box = (world @ rotation.T - centre) * scale.

    Attributes:
        rotation: [3, 3] from the axes of the mesh to z-up axes.
        centre: [3] m, after the rotation.
        scale: 1/m.
    """

    rotation: np.ndarray
    centre: np.ndarray
    scale: float

    @classmethod
    def of(cls, vertices: np.ndarray, *, up: str) -> UnitBox:
        """The box of vertices [V, 3] (m) whose `up` axis is "y" or "z"."""
        if up not in ("y", "z"):
            raise InputError("up axis of a mesh", value=up, allowed="'y' or 'z'")
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

    def denormalize(self, box: np.ndarray) -> np.ndarray:
        """Points of the box [..., 3] back to the world (m)."""
        return (box / self.scale + self.centre) @ self.rotation


@dataclass(frozen=True, eq=False)
class MeshSample:
    """Network input of one mesh.

    Attributes:
        box: The unit box of the mesh.
        samples: Surface samples, in random order, each of the same area.
        surface: Features of the samples, a batch of one.
        vertices: Features of all vertices, a batch of one.
    """

    box: UnitBox
    samples: SurfaceSamples
    surface: PointFeatures
    vertices: PointFeatures


def sample_mesh(mesh: Mesh, *, up: str = "z", points: int = 1024, seed: int = 0) -> MeshSample:
    """Sample `points` surface points of a mesh for the networks.

    Args:
        mesh: Any mesh; metres.
        up: The mesh's axis that points up, "y" or "z".
        points: Number of surface samples.
        seed: Seed of the samples.
    """
    box = UnitBox.of(mesh.vertices, up=up)
    normalized = box.normalize(mesh.vertices)
    samples = sample_surface(mesh, points, seed=seed)
    points_in_box = samples.points(normalized)
    component = _component_ids(mesh, normalized, samples, points_in_box)
    sampled_component = component[samples.corners[:, 0]]
    surface = _point_features(points_in_box, samples.normals(normalized), sampled_component)
    vertices = _point_features(normalized, _largest_face_normals(normalized, mesh.faces), component)
    return MeshSample(box, samples, surface, vertices)


def _point_features(
    points: np.ndarray, normals: np.ndarray, component: np.ndarray
) -> PointFeatures:
    return PointFeatures(
        torch.from_numpy(points.astype(np.float32))[None],
        torch.from_numpy(normals.astype(np.float32))[None],
        torch.from_numpy(component.astype(np.int64))[None],
    )


def _component_ids(
    mesh: Mesh, vertices: np.ndarray, samples: SurfaceSamples, points_in_box: np.ndarray
) -> np.ndarray:
    """[V] component id of each vertex, in descending order of samples.

    Vertices of all but the first `MAX_COMPONENTS` get the id of the sample nearest to them.
    """
    ids = mesh.components
    sampled = ids[samples.corners[:, 0]]
    seen, count = np.unique(sampled, return_counts=True)
    seen = seen[np.argsort(-count, kind="stable")[:MAX_COMPONENTS]]
    index = np.full(int(ids.max()) + 1, -1)
    index[seen] = np.arange(len(seen))
    component = index[ids]
    unsampled = np.flatnonzero(component < 0)
    if len(unsampled):
        from scipy.spatial import KDTree

        kept = np.flatnonzero(index[sampled] >= 0)
        nearest = KDTree(points_in_box[kept]).query(vertices[unsampled])[1]
        component[unsampled] = index[sampled[kept[nearest]]]
    return component


def _largest_face_normals(vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """[V, 3] unit normal of each vertex's largest face.

    The networks are trained on points inside faces, so a mean over faces would be out of
    distribution.
    """
    normals = face_normals(vertices, faces)
    size = np.linalg.norm(normals, axis=1)
    order = np.argsort(size, kind="stable")
    largest = np.zeros(len(vertices), np.int64)
    largest[faces[order].ravel()] = np.repeat(order, 3)
    return normals[largest] / np.maximum(size[largest], 1e-30)[:, None]
