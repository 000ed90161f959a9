"""Which link each triangle of a registered scan belongs to."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix, diags
from scipy.spatial import KDTree

from kin4d.calibration.scan_registration.surface import ScanSamples
from kin4d.geometry.mesh import face_normals
from kin4d.geometry.mesh_ops import merge_vertices

AGREEMENT = 2.0  # Cost of a normal at a right angle to the link's, in squared deviations.
BORDER = 1.5  # Cost of a neighbour on another link, likewise.


def label_triangles(
    vertices: np.ndarray,
    faces: np.ndarray,
    samples: ScanSamples,
    poses: np.ndarray,
    deviation: float,
) -> np.ndarray:
    """[F] int64 link of each triangle: the nearest that faces the same side, with short borders.

    Args:
        vertices: [V, 3] m, the scan in the body's frame.
        faces: [F, 3].
        samples: Dense samples of the links; only their links can be answers.
        poses: [L, 4, 4] of the links.
        deviation: How far a scan triangle typically is from its link (m).
    """
    normals = face_normals(vertices, faces)
    neighbours = _adjacency(vertices, faces)
    # Noise tilts small triangles: an average over their neighbours is what the surface does.
    normals = neighbours @ (neighbours @ normals + normals) + normals
    normals /= np.maximum(np.linalg.norm(normals, axis=-1, keepdims=True), 1e-30)
    links = np.unique(samples.link)
    centers = vertices[faces].mean(1)
    if _inside_out(centers, normals, samples, poses):
        normals = -normals
    cost = np.stack(
        [
            _misplacement(centers, normals, samples[samples.link == i], poses, deviation)
            for i in links
        ],
        axis=-1,
    )
    label = cost.argmin(-1)
    degree = np.maximum(np.asarray(neighbours.sum(1)).ravel(), 1)
    share = diags(3 / degree) @ neighbours
    for _ in range(20):
        votes = share @ np.eye(len(links))[label]
        changed = (cost - BORDER * votes).argmin(-1)
        if (changed == label).all():
            break
        label = changed
    return links[label]


def _inside_out(
    centers: np.ndarray, normals: np.ndarray, samples: ScanSamples, poses: np.ndarray
) -> bool:
    """Whether the scan's triangles face against the links': its winding is reversed."""
    points, facing = samples.posed(poses)
    some = slice(None, None, max(1, len(centers) // 2000))
    near = np.asarray(KDTree(points).query(centers[some])[1])
    return float((normals[some] * facing[near]).sum()) < 0


def _misplacement(
    centers: np.ndarray, normals: np.ndarray, part: ScanSamples, poses: np.ndarray, deviation: float
) -> np.ndarray:
    """[F] cost of belonging to one link, in squared deviations, at most 100."""
    points, facing = part.posed(poses)
    distance, near = map(
        np.asarray, KDTree(points).query(centers, distance_upper_bound=10 * deviation)
    )
    found = np.isfinite(distance)
    cost = np.full(len(centers), 100.0)
    misalignment = 1 - (normals[found] * facing[near[found]]).sum(-1)
    cost[found] = (distance[found] / deviation) ** 2 + AGREEMENT * misalignment
    return np.minimum(cost, 100.0)


def _adjacency(vertices: np.ndarray, faces: np.ndarray) -> csr_matrix:
    """[F, F] of ones between triangles that share an edge, texture seams notwithstanding."""
    corners = merge_vertices(vertices)[1][faces]
    edges = np.sort(corners[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    _, edge = np.unique(edges, axis=0, return_inverse=True)
    owner = np.repeat(np.arange(len(faces)), 3)
    incidence = csr_matrix((np.ones(len(owner)), (owner, edge.reshape(-1))))
    shared = incidence @ incidence.T
    shared.setdiag(0)
    shared.eliminate_zeros()
    shared.data[:] = 1
    return shared.tocsr()
