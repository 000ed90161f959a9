"""closed_faces: triangles of closed surfaces, whose backs cannot be seen."""

from __future__ import annotations

import numpy as np

from kin4d.geometry.mesh_ops import label_components, merge_vertices


def closed_faces(vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """[F] bool: which triangles belong to a piece of surface that is closed and faces outwards.

    Such a piece has every edge once in each direction, and a positive volume. Vertices at the same
    position count as one.

    Args:
        vertices: [V, 3] m.
        faces: [F, 3] indices into them.
    """
    if not len(faces):
        return np.zeros(0, bool)
    first, index = merge_vertices(vertices)
    merged, count = index[faces], len(first)
    piece = label_components(count, merged)[merged[:, 0]]
    start = merged.reshape(-1)
    end = np.roll(merged, -1, axis=1).reshape(-1)
    there, back = start * count + end, end * count + start
    known, times = np.unique(there, return_counts=True)
    at = np.minimum(np.searchsorted(known, back), len(known) - 1)
    own = times[np.searchsorted(known, there)]
    paired = (known[at] == back) & (own == 1) & (start != end)
    wrong = np.bincount(piece.repeat(3), ~paired) > 0
    a, b, c = (vertices[corner] for corner in faces.T)
    middle = vertices.mean(0)
    volume = np.bincount(piece, np.einsum("fi,fi->f", a - middle, np.cross(b - middle, c - middle)))
    return (~wrong & (volume > 0))[piece]
