"""Arrays that several writers need: bounds of points, and the faces of each material."""

from __future__ import annotations

import numpy as np

from kin4d.geometry.mesh import Mesh

# Points reduced side by side: long rows let numpy use vector instructions, columns of 3 do not.
_BLOCK = 256


def column_bounds(points: np.ndarray) -> np.ndarray:
    """[2, C] lowest and highest value of each column of contiguous `points` [N >= 1, C]."""
    count, width = points.shape
    whole = count - count % _BLOCK
    bounds = []
    for reduce in (np.minimum.reduce, np.maximum.reduce):
        pieces = [points[whole:]]
        if whole:
            rows = points[:whole].reshape(-1, _BLOCK * width)
            pieces.append(reduce(rows, axis=0).reshape(-1, width))
        bounds.append(reduce(np.concatenate(pieces), axis=0))
    return np.stack(bounds)


def faces_by_material(mesh: Mesh) -> dict[int, np.ndarray | slice]:
    """Indices of the faces of each material in use; all of them, uncopied, if there is one."""
    face_material = np.asarray(mesh.face_material)
    used = np.flatnonzero(np.bincount(face_material)).tolist()
    if len(used) == 1:
        return {used[0]: slice(None)}
    return {material: np.flatnonzero(face_material == material) for material in used}
