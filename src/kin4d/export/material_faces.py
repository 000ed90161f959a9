"""Which faces of a mesh wear which material."""

from __future__ import annotations

import numpy as np

from kin4d.geometry.mesh import Mesh


def faces_by_material(mesh: Mesh) -> dict[int, np.ndarray | slice]:
    """Indices of the faces of each material in use; all of them, uncopied, if there is one."""
    wears = np.asarray(mesh.face_material)
    used = np.flatnonzero(np.bincount(wears)).tolist()
    if len(used) == 1:
        return {used[0]: slice(None)}
    return {material: np.flatnonzero(wears == material) for material in used}
