"""DistanceField: how far a point is from a solid, looked up in a grid."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from kin4d.geometry.mesh import Mesh, face_normals
from kin4d.geometry.sampling import sample_surface
from kin4d.motion.contact.closest import closest_on_triangle

_SAMPLES = 2500


class DistanceField(NamedTuple):
    """Signed distances (m, negative inside) at the nodes of a regular grid.

    Attributes:
        lower: [3] m, the first node.
        spacing: m between nodes.
        values: [X, Y, Z] float32.
    """

    lower: np.ndarray
    spacing: float
    values: np.ndarray


def distance_field(mesh: Mesh, *, spacing: float, shell: float = 0.0) -> DistanceField:
    """The field of a mesh, reaching three cells beyond it.

    Where the mesh winds around a point by more than half, the point is inside: pieces may overlap
    and need not be joined. An open surface has no inside; it counts as a wall of thickness 2
    `shell` metres.
    """
    lower = mesh.bounds[0] - 3 * spacing
    count = np.ceil((mesh.bounds[1] - lower) / spacing).astype(int) + 4
    axes = [lower[i] + spacing * np.arange(count[i]) for i in range(3)]
    nodes = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 3)
    samples = sample_surface(mesh, _SAMPLES, seed=0)
    places = samples.points(mesh.vertices)
    from scipy.spatial import KDTree

    _, near = KDTree(places).query(nodes, k=6)
    normals = face_normals(mesh.vertices, mesh.faces)
    directions = normals[samples.face]
    directions /= np.maximum(np.linalg.norm(directions, axis=1, keepdims=True), 1e-30)
    area = float(mesh.face_areas.sum()) / _SAMPLES
    values = _distances(
        nodes, mesh.vertices, mesh.faces, samples.face[near], samples.face, places,
        directions * area, spacing, _is_closed(mesh), shell,
    )  # fmt: skip
    return DistanceField(lower, float(spacing), values.reshape(count).astype(np.float32))


def _is_closed(mesh: Mesh) -> bool:
    """Whether every edge has as many faces one way as the other."""
    import trimesh

    return bool(trimesh.Trimesh(mesh.vertices, mesh.faces, process=True).is_watertight)


@numba.njit(cache=True, error_model="numpy")
def _distances(nodes, vertices, faces, near, face_of, places, areas, spacing, closed, shell):
    """[N] signed distances; the winding number is exact for near faces, a sum of dipoles else."""
    out, weights = np.empty(len(nodes)), np.empty(3)
    for i in range(len(nodes)):
        p, best = nodes[i], np.inf
        for k in range(near.shape[1]):
            f = near[i, k]
            a, b, c = vertices[faces[f, 0]], vertices[faces[f, 1]], vertices[faces[f, 2]]
            best = min(best, closest_on_triangle(p, a, b, c, weights))
        distance = np.sqrt(best)
        if not closed:
            out[i] = distance - shell
            continue
        turn = 0.0
        for k in range(near.shape[1]):
            f, seen = near[i, k], False
            for j in range(k):
                seen = seen or near[i, j] == f
            if not seen:
                a, b, c = vertices[faces[f, 0]], vertices[faces[f, 1]], vertices[faces[f, 2]]
                turn += _solid_angle(p, a, b, c)
        for s in range(len(places)):
            f, seen = face_of[s], False
            for k in range(near.shape[1]):
                seen = seen or near[i, k] == f
            if not seen:
                x, y, z = places[s, 0] - p[0], places[s, 1] - p[1], places[s, 2] - p[2]
                squared = x * x + y * y + z * z
                dot = x * areas[s, 0] + y * areas[s, 1] + z * areas[s, 2]
                turn += dot / (squared * np.sqrt(squared) + 1e-30)
        out[i] = -distance if abs(turn) > 2 * np.pi else distance
    return out


@numba.njit(cache=True, error_model="numpy")
def _solid_angle(p, a, b, c):
    """After van Oosterom and Strackee (1983)."""
    ax, ay, az = a[0] - p[0], a[1] - p[1], a[2] - p[2]
    bx, by, bz = b[0] - p[0], b[1] - p[1], b[2] - p[2]
    cx, cy, cz = c[0] - p[0], c[1] - p[1], c[2] - p[2]
    la = np.sqrt(ax * ax + ay * ay + az * az)
    lb = np.sqrt(bx * bx + by * by + bz * bz)
    lc = np.sqrt(cx * cx + cy * cy + cz * cz)
    triple = ax * (by * cz - bz * cy) + ay * (bz * cx - bx * cz) + az * (bx * cy - by * cx)
    below = (
        la * lb * lc
        + (ax * bx + ay * by + az * bz) * lc
        + (bx * cx + by * cy + bz * cz) * la
        + (cx * ax + cy * ay + cz * az) * lb
    )
    return 2.0 * np.arctan2(triple, below)


@numba.njit(cache=True, error_model="numpy")
def look_up(field, p, slope):
    """Distance (m) at p [3], interpolated; its gradient [3] is written. Infinite off the grid."""
    values, inverse = field.values, 1.0 / field.spacing
    x, y, z = (
        (p[0] - field.lower[0]) * inverse,
        (p[1] - field.lower[1]) * inverse,
        (p[2] - field.lower[2]) * inverse,
    )
    i, j, k = int(np.floor(x)), int(np.floor(y)), int(np.floor(z))
    if i < 0 or j < 0 or k < 0:
        return np.inf
    if i >= values.shape[0] - 1 or j >= values.shape[1] - 1 or k >= values.shape[2] - 1:
        return np.inf
    x, y, z = x - i, y - j, z - k
    total = 0.0
    slope[:] = 0.0
    for a in range(2):
        wx, sx = (x, 1.0) if a else (1.0 - x, -1.0)
        for b in range(2):
            wy, sy = (y, 1.0) if b else (1.0 - y, -1.0)
            for c in range(2):
                wz, sz = (z, 1.0) if c else (1.0 - z, -1.0)
                value = values[i + a, j + b, k + c]
                total += wx * wy * wz * value
                slope[0] += sx * wy * wz * value * inverse
                slope[1] += wx * sy * wz * value * inverse
                slope[2] += wx * wy * sz * value * inverse
    return total
