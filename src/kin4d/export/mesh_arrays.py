"""Arrays that several writers need: bounds of points, faces of materials, colours of vertices."""

from __future__ import annotations

import numpy as np

from kin4d.geometry.material import linear_to_srgb, srgb_to_linear
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


def vertex_colors(mesh: Mesh, vertex: np.ndarray, material: np.ndarray) -> np.ndarray:
    """sRGB [N, 3] uint8 of vertices [N] as parts of triangles with materials [N]: base colour,
    the colour texture at the vertex, and the vertex's own colour."""
    linear = np.array([one.base_color[:3] for one in mesh.materials], np.float64)[material]
    for number, one in enumerate(mesh.materials):
        image, own = one.textures.get("base_color"), material == number
        if image is None or mesh.uv is None or not own.any():
            continue
        texels = np.asarray(image.convert("RGB"), np.float64) / 255
        u, v = (mesh.uv[vertex[own]].astype(np.float64) % 1.0).T
        row = ((1 - v) * image.height).astype(int).clip(0, image.height - 1)
        column = (u * image.width).astype(int).clip(0, image.width - 1)
        linear[own] *= srgb_to_linear(texels[row, column])
    if mesh.colors is not None:
        linear *= srgb_to_linear(mesh.colors[vertex, :3].astype(np.float64) / 255)
    return np.rint(255 * linear_to_srgb(np.clip(linear, 0, 1))).astype(np.uint8)
