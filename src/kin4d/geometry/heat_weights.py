"""Heat weights: shares of vertices, made smooth over a surface (Baran and Popović 2007).

Every vertex is held to the shares it should have, the more firmly the nearer its source, and heat
flows along the surface between: (L + A H) w = A H p, with the cotangent Laplacian L and the areas A
of the vertices. Weights so are as continuous as the surface is connected, lie between 0 and 1 and
sum to one.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_matrix, csc_matrix, diags
from scipy.sparse.linalg import splu
from scipy.spatial import KDTree

from kin4d.geometry.mesh_ops import label_components

_SHARPEST = 0.02  # sine of an angle below which a triangle counts as having this angle
_FLOW = 0.25  # conductance across a gap between shells, of a usual edge
_FEW = 1e-3  # of its edges' mean conductance, that each edge has at least


def heat_weights(
    vertices: np.ndarray,
    faces: np.ndarray,
    shares: np.ndarray,
    reach: np.ndarray,
    *,
    sharpness: float = 1.0,
    gap: float = 0.0,
) -> np.ndarray:
    """[V, B] smooth shares of B sources.

    Args:
        vertices: [V, 3] m, merged: heat flows only along triangles that share them.
        faces: [F, 3].
        shares: [V, B] that vertices should have, each row summing to one.
        reach: [V] m, distance over which a vertex's shares are smoothed, about.
        sharpness: How firmly vertices are held; less is smoother.
        gap: m, within which heat crosses from one shell to another.
    """
    size = float(np.ptp(vertices, axis=0).max()) or 1.0
    vertices, reach = vertices / size, np.maximum(reach / size, 1e-3)
    laplacian, area = cotangent_laplacian(vertices, faces)
    if gap > 0:
        laplacian = laplacian + _across_gaps(vertices, faces, gap / size)
    hold = area * sharpness / reach**2
    solve = splu(csc_matrix(laplacian + diags(hold)), permc_spec="MMD_AT_PLUS_A").solve
    found = np.clip(solve(np.ascontiguousarray(hold[:, None] * shares)), 0.0, 1.0)
    return found / found.sum(1, keepdims=True)


def cotangent_laplacian(vertices: np.ndarray, faces: np.ndarray) -> tuple[csc_matrix, np.ndarray]:
    """The positive Laplacian [V, V] of a surface, and the area [V] of each vertex.

    No triangle is too thin: angles are bounded, and edges that would conduct less than nothing
    conduct a little, so that solutions have no overshoots.
    """
    count = len(vertices)
    a, b, c = vertices[faces].transpose(1, 0, 2)
    ends, conductance = [], []
    area = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)
    for (i, one), (j, other), apex in (
        ((1, b), (2, c), a),
        ((2, c), (0, a), b),
        ((0, a), (1, b), c),
    ):
        u, v = one - apex, other - apex
        product = np.linalg.norm(u, axis=1) * np.linalg.norm(v, axis=1)
        sine = np.linalg.norm(np.cross(u, v), axis=1)
        cotangent = np.einsum("fi,fi->f", u, v) / np.maximum(sine, _SHARPEST * product + 1e-300)
        ends.append(faces[:, [i, j]])
        conductance.append(0.5 * cotangent)
    pairs, index = np.unique(np.sort(np.concatenate(ends), axis=1), axis=0, return_inverse=True)
    total = np.bincount(index.ravel(), np.concatenate(conductance), len(pairs))
    total = np.maximum(total, _FEW * max(float(np.abs(total).mean()), 1e-12))
    real = pairs[:, 0] != pairs[:, 1]
    corner = np.maximum(area, 1e-6 * max(float(area.mean()), 1e-12)) / 3
    owned = np.bincount(faces.ravel(), np.repeat(corner, 3), count)
    # A vertex of no triangle is held like any other, and alone.
    owned = np.where(owned > 0, owned, corner.mean())
    return _laplacian(pairs[real], total[real], count), owned


def _laplacian(pairs: np.ndarray, conductance: np.ndarray, count: int) -> csc_matrix:
    rows = np.concatenate([pairs, pairs[:, ::-1]])
    values = np.tile(conductance, 2)
    graph = coo_matrix((values, rows.T), shape=(count, count)).tocsc()
    return csc_matrix(diags(np.asarray(graph.sum(1)).ravel()) - graph)


def _across_gaps(vertices: np.ndarray, faces: np.ndarray, gap: float) -> csc_matrix:
    """[V, V] Laplacian of edges from vertices to the nearest ones of other shells."""
    label = label_components(len(vertices), faces)
    tree, near = KDTree(vertices), min(12, len(vertices))
    distance, index = tree.query(vertices, k=near, distance_upper_bound=gap)
    distance, index = distance.reshape(-1, near), index.reshape(-1, near)
    valid = np.isfinite(distance)
    other = valid & (label[np.where(valid, index, 0)] != label[:, None])
    rows = np.flatnonzero(other.any(1))
    first = other[rows].argmax(1)
    pairs = np.unique(np.sort(np.stack([rows, index[rows, first]], 1), axis=1), axis=0)
    return _laplacian(pairs, np.full(len(pairs), _FLOW), len(vertices))
