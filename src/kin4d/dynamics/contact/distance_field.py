"""DistanceField: how far a point is from a solid, looked up in a grid."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from kin4d.dynamics.contact.closest import closest_on_triangle
from kin4d.geometry.mesh import Mesh, face_normals
from kin4d.geometry.sampling import sample_surface


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


class _Clusters(NamedTuple):
    """Faces in groups, each of which acts as one dipole from afar.

    Attributes:
        face: [F] faces, group by group; starts [G + 1] where each group begins.
        starts: See face.
        center: [G, 3] m; normal [G, 3] m^2, summed over the group; reach [G] m of its faces.
        normal: See center.
        reach: See center.
        face_center: [F, 3] m; face_normal [F, 3] m^2; face_reach [F] m: the same of single faces.
        face_normal: See face_center.
        face_reach: See face_center.
    """

    face: np.ndarray
    starts: np.ndarray
    center: np.ndarray
    normal: np.ndarray
    reach: np.ndarray
    face_center: np.ndarray
    face_normal: np.ndarray
    face_reach: np.ndarray


def distance_field(
    mesh: Mesh, *, spacing: float, shell: float = 0.0, samples: int = 2500, groups: int = 1000
) -> DistanceField:
    """The field of a mesh, reaching three cells beyond it.

    Where the mesh winds around a point by more than half, the point is inside: pieces may overlap
    and need not be joined. An open surface has no inside; it counts as a wall of thickness 2
    `shell` metres. Faces near a node are found through `samples` points on the surface, and far
    ones act in `groups`.
    """
    from scipy.spatial import KDTree

    lower = mesh.bounds[0] - 3 * spacing
    count = np.ceil((mesh.bounds[1] - lower) / spacing).astype(int) + 4
    axes = [lower[i] + spacing * np.arange(count[i]) for i in range(3)]
    nodes = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 3)
    # Faces near a node: small ones by their centres, large ones by samples all over them.
    spread = sample_surface(mesh, samples, seed=0)
    centers = mesh.vertices[mesh.faces].mean(1)
    _, near = KDTree(spread.points(mesh.vertices)).query(nodes, k=4)
    _, next_to = KDTree(centers).query(nodes, k=min(6, len(centers)))
    near = np.concatenate([spread.face[near], next_to.reshape(len(nodes), -1)], axis=1)
    values = _distances(
        nodes,
        mesh.vertices,
        mesh.faces,
        near,
        _clusters(mesh, centers, groups),
        _is_closed(mesh),
        shell,
    )
    return DistanceField(lower, float(spacing), values.reshape(count).astype(np.float32))


def _clusters(mesh: Mesh, centers: np.ndarray, groups: int) -> _Clusters:
    from scipy.spatial import KDTree

    corners = mesh.vertices[mesh.faces]
    normals = 0.5 * face_normals(mesh.vertices, mesh.faces)
    reach = np.linalg.norm(corners - centers[:, None], axis=-1).max(1)
    chosen = np.random.default_rng(0).permutation(len(centers))[:groups]
    group = np.asarray(KDTree(centers[chosen]).query(centers)[1])
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(len(chosen) + 1))
    middle = np.zeros((len(chosen), 3))
    np.add.at(middle, group, centers)
    middle /= np.maximum(np.diff(starts), 1)[:, None]
    total, radius = np.zeros((len(chosen), 3)), np.zeros(len(chosen))
    np.add.at(total, group, normals)
    np.maximum.at(radius, group, np.linalg.norm(centers - middle[group], axis=1) + reach)
    return _Clusters(order, starts, middle, total, radius, centers, normals, reach)


def _is_closed(mesh: Mesh) -> bool:
    """Whether the mesh encloses something."""
    import trimesh

    return bool(trimesh.Trimesh(mesh.vertices, mesh.faces, process=True).is_watertight)


@numba.njit(cache=True, error_model="numpy")
def _distances(nodes, vertices, faces, near, clusters, closed, shell):
    """[N] signed distances."""
    out, weights = np.empty(len(nodes)), np.empty(3)
    for i in range(len(nodes)):
        p, best = nodes[i], np.inf
        for f in near[i]:
            a, b, c = vertices[faces[f, 0]], vertices[faces[f, 1]], vertices[faces[f, 2]]
            best = min(best, closest_on_triangle(p, a, b, c, weights))
        distance = np.sqrt(best)
        if not closed:
            out[i] = distance - shell
        elif abs(_winding(p, vertices, faces, clusters)) > 2 * np.pi:
            out[i] = -distance
        else:
            out[i] = distance
    return out


@numba.njit(cache=True, error_model="numpy")
def _winding(p, vertices, faces, clusters):
    """Solid angle of the whole mesh seen from p: exact for near faces, dipoles for far ones."""
    total = 0.0
    for g in range(len(clusters.reach)):
        angle = _dipole(p, clusters.center[g], clusters.normal[g], clusters.reach[g])
        if not np.isnan(angle):
            total += angle
            continue
        for at in range(clusters.starts[g], clusters.starts[g + 1]):
            f = clusters.face[at]
            angle = _dipole(
                p, clusters.face_center[f], clusters.face_normal[f], clusters.face_reach[f]
            )
            if np.isnan(angle):
                a, b, c = vertices[faces[f, 0]], vertices[faces[f, 1]], vertices[faces[f, 2]]
                angle = _solid_angle(p, a, b, c)
            total += angle
    return total


@numba.njit(cache=True, error_model="numpy")
def _dipole(p, center, normal, reach):
    """Solid angle of a small piece of surface; NaN if it is too near for that."""
    x, y, z = center[0] - p[0], center[1] - p[1], center[2] - p[2]
    squared = x * x + y * y + z * z
    if squared < 6.0 * reach * reach:
        return np.nan
    return (x * normal[0] + y * normal[1] + z * normal[2]) / (squared * np.sqrt(squared) + 1e-300)


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
def sample_sdf(field, p, slope):
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
