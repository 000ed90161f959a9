"""Sampling: points spread evenly over a surface, which remember where on it they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kin4d.errors import InputError
from kin4d.geometry.mesh import Mesh, face_normals


@dataclass(frozen=True, eq=False, kw_only=True)
class SurfaceSamples:
    """N points on a surface, given by triangle, so that they move with any deformation.

    Attributes:
        face: [N] int64: the triangle each point is in.
        corners: [N, 3] int64: the vertices of that triangle.
        barycentric: [N, 3] float64: the weights of these vertices, each row summing to 1.
    """

    face: np.ndarray
    corners: np.ndarray
    barycentric: np.ndarray

    def __len__(self) -> int:
        return len(self.face)

    def points(self, vertices: Any) -> Any:
        """[..., N, 3] points at vertices [..., V, 3] (m), a numpy array or a torch tensor."""
        weights = self.barycentric
        if hasattr(vertices, "new_tensor"):
            weights = vertices.new_tensor(weights)
        a, b, c = (weights[:, k, None] * vertices[..., self.corners[:, k], :] for k in range(3))
        return a + b + c

    def normals(self, vertices: Any) -> Any:
        """[..., N, 3] unit normals of the triangles of vertices [..., V, 3]; zero if flat."""
        a, b, c = (vertices[..., self.corners[:, k], :] for k in range(3))
        first, second = _scaled(b - a), _scaled(c - a)
        # Written out: numpy and torch name their cross products differently.
        normal = first[..., [1, 2, 0]] * second[..., [2, 0, 1]]
        normal = normal - first[..., [2, 0, 1]] * second[..., [1, 2, 0]]
        squared = (normal * normal).sum(-1)[..., None]
        return normal / (squared + (squared == 0)) ** 0.5


def sample_surface(mesh: Mesh, count: int, *, seed: int) -> SurfaceSamples:
    """Spread `count` points over a mesh by area, in random order.

    Each triangle gets its share of the points to within one: they are taken at equal steps along
    the running total of area, from a random start. Inside a triangle they are uniform.
    """
    if count < 1:
        raise InputError("the number of samples must be positive", value=count, allowed=">= 1")
    rng = np.random.default_rng(seed)
    # Scaled to one: the squares of very small or large lengths leave the range of floats.
    unit = (mesh.vertices - mesh.bounds[0]) / (np.ptp(mesh.bounds, axis=0).max())
    total = np.cumsum(np.linalg.norm(face_normals(unit, mesh.faces), axis=-1))
    steps = (np.arange(count) + rng.random()) / count * total[-1]
    # Rounding may carry the last step to the very end: it belongs to the last triangle with area.
    last = np.searchsorted(total, total[-1])
    face = rng.permutation(np.minimum(np.searchsorted(total, steps, side="right"), last))
    root, share = np.sqrt(rng.random(count)), rng.random(count)
    barycentric = np.stack([1 - root, root * (1 - share), root * share], axis=1)
    return SurfaceSamples(face=face, corners=mesh.faces[face], barycentric=barycentric)


def sample_masses(mesh: Mesh, faces: np.ndarray, mass: float | np.ndarray) -> np.ndarray:
    """[N] kg of points that stand for equal areas of a mesh, one on each of `faces` [N].

    Args:
        mesh: The surface.
        faces: Of `SurfaceSamples`.
        mass: kg, spread evenly; or [F], of each triangle.
    """
    given = np.asarray(mass, np.float64)
    if given.shape not in ((), (len(mesh.faces),)):
        allowed = f"a number, or one for each of {len(mesh.faces)} triangles"
        raise InputError("mass", value=given.shape, allowed=allowed)
    share = np.ones(len(faces))
    if given.ndim:
        share = given[faces] / np.maximum(mesh.face_areas[faces], 1e-30)
    if not (np.isfinite(given).all() and given.min() >= 0 and share.sum() > 0 and given.sum() > 0):
        raise InputError("mass", value=float(given.min()), allowed="> 0 kg")
    return given.sum() * share / share.sum()


def farthest_points(points: np.ndarray, count: int, *, seed: int) -> np.ndarray:
    """[count] indices into points [N, 3], each as far as can be from those before it.

    The first is random. Takes time proportional to N times `count`.
    """
    points = np.asarray(points, np.float64)
    if not 1 <= count <= len(points):
        raise InputError("cannot choose so many points", value=count, allowed=f"1 to {len(points)}")
    chosen = np.empty(count, np.int64)
    chosen[0] = np.random.default_rng(seed).integers(len(points))
    nearest = np.full(len(points), np.inf)
    for k in range(1, count):
        gap = points - points[chosen[k - 1]]
        nearest = np.minimum(nearest, np.einsum("ni,ni->n", gap, gap))
        chosen[k] = nearest.argmax()
    return chosen


def _scaled(vectors: Any) -> Any:
    """Vectors [..., 3] of about unit length, so that their products stay in range."""
    size = abs(vectors).sum(-1)[..., None]
    return vectors / (size + (size == 0))


def spread_points(
    mesh: Mesh, label: np.ndarray, *, count: int, least: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points on a surface by area, and at least some with each label.

    Args:
        mesh: The surface.
        label: [F] of its triangles.
        count: Points, about.
        least: Points of each label.
        seed: Of the points.

    Returns:
        [P] triangle, [P, 3] m place and [P] m^2 of surface of every point.
    """
    rng = np.random.default_rng(seed)
    area = mesh.face_areas + 1e-12 * mesh.face_areas.mean()
    faces, weights = [], []
    for one in np.unique(label):
        own = np.flatnonzero(label == one)
        total = np.cumsum(area[own])
        number = max(least, round(count * total[-1] / area.sum()))
        steps = (np.arange(number) + rng.random(number)) / number * total[-1]
        found = np.minimum(np.searchsorted(total, steps, side="right"), len(own) - 1)
        faces.append(own[found])
        weights.append(np.full(number, total[-1] / number))
    face = np.concatenate(faces)
    root, share = np.sqrt(rng.random((len(face), 1))), rng.random((len(face), 1))
    a, b, c = mesh.vertices[mesh.faces[face]].transpose(1, 0, 2)
    points = (1 - root) * a + root * (1 - share) * b + root * share * c
    return face, points, np.concatenate(weights)
