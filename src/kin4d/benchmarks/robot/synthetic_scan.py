"""Synthetic scans: what a scanner would give of a body, with the truth known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy.spatial import KDTree

from kin4d.bodies.articulated import ArticulatedBody
from kin4d.calibration.scan_registration.search import moved_by
from kin4d.calibration.scan_registration.surface import finite_limits, sample_links
from kin4d.extras import require
from kin4d.geometry.material import SurfaceMaterial
from kin4d.geometry.mesh import Mesh, face_normals


@dataclass(frozen=True, eq=False)
class SyntheticScan:
    """A scan whose truth is known.

    Attributes:
        mesh: One surface, textured and coloured, in its own units and frame.
        triangle_link: [F] int64, the link each triangle was taken from.
        q: [k] float64, the body's coordinates when it was scanned (rad or m).
        scale: Scan units per metre.
        pose: [4, 4] rigid, the body's frame in the scan's, metres.
    """

    mesh: Mesh
    triangle_link: np.ndarray
    q: np.ndarray
    scale: float
    pose: np.ndarray


def synthetic_scan(
    body: ArticulatedBody,
    q: np.ndarray,
    *,
    rng: np.random.Generator,
    edge: float = 0.006,
    noise: float = 1e-3,
    scale: float | None = None,
) -> SyntheticScan:
    """What a scanner would give of `body` at `q` [k].

    The links are posed and joined, cut into triangles of about `edge` (m), their vertices merged on
    a randomly rotated grid (across links too, so none of the URDF's triangles is left), everything
    hidden inside is dropped, every vertex is moved by `noise` (m, one standard deviation per axis),
    and the whole is put at a random position, orientation and `scale` (0.1 to 10 if None).
    """
    with torch.no_grad():
        poses = body.link_poses(torch.as_tensor(q, dtype=torch.float64)).numpy()
    drawn = [(i, link.mesh) for i, link in enumerate(body.links) if link.mesh is not None]
    posed = Mesh.concatenate([mesh.transformed(poses[i]) for i, mesh in drawn])
    link = np.repeat([i for i, _ in drawn], [len(mesh.faces) for _, mesh in drawn])
    paint = _face_colors(posed)
    vertices, faces, source = _remeshed(posed, edge, rng)
    seen = _visible(vertices, faces, rng)
    faces, source = faces[seen], source[seen]
    used, faces = np.unique(faces, return_inverse=True)
    vertices, faces = vertices[used], faces.reshape(-1, 3)

    colors = np.zeros((len(vertices), 4))
    count = np.zeros(len(vertices))
    for corner in faces.T:
        np.add.at(colors, corner, paint[source])
        np.add.at(count, corner, 1)
    low, high = vertices.min(0), vertices.max(0)
    around = np.arctan2(*(vertices - 0.5 * (low + high)).T[:2]) / (2 * np.pi) + 0.5
    uv = np.stack([around, (vertices[:, 2] - low[2]) / (high[2] - low[2])], -1)

    scale = float(np.exp(rng.uniform(np.log(0.1), np.log(10)))) if scale is None else scale
    pose = np.eye(4)
    pose[:3, :3] = _random_rotation(rng)
    pose[:3, 3] = rng.uniform(-2, 2, 3)
    vertices = vertices + noise * rng.standard_normal(vertices.shape)
    mesh = Mesh(
        vertices=scale * (vertices @ pose[:3, :3].T + pose[:3, 3]),
        faces=faces,
        uv=uv,
        colors=(colors / count[:, None]).astype(np.uint8),
        materials=(
            SurfaceMaterial("scan", (1.0, 1.0, 1.0, 1.0), textures={"base_color": _texture(rng)}),
        ),
        name=f"scan of {body.name}",
    )
    return SyntheticScan(mesh, link[source], np.asarray(q, np.float64), scale, pose)


def free_pose(body: ArticulatedBody, rng: np.random.Generator, *, gap: float = 0.01) -> np.ndarray:
    """[k] random coordinates at which links with two joints or more between them do not touch.

    They are then `gap` (m) apart, or as near as at rest.
    """
    samples = sample_links(body, 4000, seed=0)
    apart = moved_by(body, rng)[1:, 1:].sum(-1) > 1
    pairs = [(a, b) for a, b in np.argwhere(np.triu(apart)) if {a, b} <= set(samples.link)]

    def clearance(q: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            points, _ = samples.posed(body.link_poses(torch.from_numpy(q)).numpy())
        trees = {i: KDTree(points[samples.link == i]) for i in np.unique(samples.link)}
        return np.array([trees[a].query(trees[b].data)[0].min() for a, b in pairs])

    needed = np.minimum(gap, 0.9 * clearance(body.q0.numpy()))
    low, high = finite_limits(body).T
    while True:
        q = low + (high - low) * rng.random(len(low))
        if (clearance(q) >= needed).all():
            return q


def _random_rotation(rng: np.random.Generator) -> np.ndarray:
    from scipy.spatial.transform import Rotation

    return Rotation.random(rng=rng).as_matrix()


def _face_colors(mesh: Mesh) -> np.ndarray:
    """[F, 4] float64 RGBA, 0 to 255: the materials' colours as vertex colours."""
    factors = np.array([material.base_color for material in mesh.materials])[mesh.face_material]
    if mesh.colors is not None:
        factors = factors * mesh.colors[mesh.faces[:, 0]] / 255
    return 255 * factors


def _remeshed(
    mesh: Mesh, edge: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Vertices, faces each face's source face, after cutting to `edge` and merging on a grid."""
    import trimesh

    vertices, faces, source = trimesh.remesh.subdivide_to_size(  # pyright: ignore[reportAssignmentType]
        mesh.vertices, mesh.faces, edge, max_iter=12, return_index=True
    )
    cell = np.floor(vertices @ _random_rotation(rng) / edge + rng.random(3)).astype(np.int64)
    _, cluster = np.unique(cell, axis=0, return_inverse=True)
    cluster = cluster.reshape(-1)
    count = np.bincount(cluster)
    merged = np.stack([np.bincount(cluster, column) for column in vertices.T], -1) / count[:, None]
    faces = cluster[faces]
    whole = (faces != np.roll(faces, 1, axis=1)).all(1)
    faces, source = faces[whole], source[whole]
    _, first = np.unique(np.sort(faces, axis=1), axis=0, return_index=True)
    faces, source = faces[first], source[first]
    solid = np.linalg.norm(face_normals(merged, faces), axis=-1) > 1e-3 * edge**2
    return merged, faces[solid], source[solid]


def _visible(vertices: np.ndarray, faces: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """[F] bool: whether some ray from a triangle, on either side of it, meets nothing."""
    require("embreex", extra="bench", purpose="hiding what a scanner cannot see")
    from trimesh import Trimesh
    from trimesh.ray.ray_pyembree import RayMeshIntersector

    solid = Trimesh(vertices, faces, process=False)
    caster = RayMeshIntersector(solid)
    normals = face_normals(vertices, faces)
    normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
    centers = vertices[faces].mean(1)
    seen = np.zeros(len(faces), bool)
    for _ in range(24):
        todo = np.flatnonzero(~seen)
        rays = rng.standard_normal((len(todo), 3))
        rays /= np.linalg.norm(rays, axis=-1, keepdims=True)
        side = np.sign((rays * normals[todo]).sum(-1, keepdims=True))
        start = centers[todo] + 1e-4 * side * normals[todo]
        seen[todo] = ~caster.intersects_any(start, rays)
    return seen


def _texture(rng: np.random.Generator):
    """A speckled image, so that a lost or shuffled UV shows."""
    from PIL import Image

    blocks = rng.integers(120, 256, (48, 48, 1)).repeat(3, -1).astype(np.uint8)
    return Image.fromarray(blocks.repeat(5, 0).repeat(5, 1))
