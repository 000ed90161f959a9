"""Patches: regions of a surface without a crease in them; a rigid part is made of whole ones."""

from __future__ import annotations

import numpy as np

from kin4d.geometry.mesh_ops import merge_vertices
from kin4d.geometry.topology import unique_in_order

CREASE = np.deg2rad(30.0)
"""Angle between neighbouring faces above which there is an edge between them, rad."""


def face_patches(vertices: np.ndarray, faces: np.ndarray, *, crease: float = CREASE) -> np.ndarray:
    """[F] int64 patch of each face, numbered by first face.

    Faces belong together when a path leads from one to the other over shared edges at which the
    surface bends by less than `crease` (rad). Vertices at one position count as one; where more
    than two faces share an edge, successive neighbours are compared.
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    index = merge_vertices(vertices)[1]
    corners = index[faces]
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a)
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-30)
    ends = np.sort(np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]]), 1)
    owner = np.tile(np.arange(len(faces)), 3)
    order = np.lexsort((owner, ends[:, 1], ends[:, 0]))
    ends, owner = ends[order], owner[order]
    shared = (ends[1:] == ends[:-1]).all(1)
    first, second = owner[:-1][shared], owner[1:][shared]
    # Neighbours may be wound in either order.
    flat = np.abs((normal[first] * normal[second]).sum(1)) > np.cos(crease)
    first, second = first[flat], second[flat]
    graph = coo_matrix((np.ones(len(first), np.int8), (first, second)), shape=(len(faces),) * 2)
    return unique_in_order(connected_components(graph, directed=False)[1])[1]
