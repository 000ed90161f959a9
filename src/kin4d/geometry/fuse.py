"""Fused meshes: all pieces of an object welded and remeshed into one component.

The surface is thickened by a little more than half a cell, what it encloses is filled, and the
boundary is drawn by surface nets (one vertex in every cell that the boundary crosses): as scans,
generated meshes and printable files are, without a trace of the parts they were made of.
"""

from __future__ import annotations

import numpy as np
from scipy import ndimage
from scipy.spatial import KDTree

from kin4d.geometry.mesh import Mesh
from kin4d.geometry.sampling import spread_points
from kin4d.geometry.surface_nets import surface_nets

CELLS = 96
"""Along the longest side."""

_THICKNESS = (0.9, 1.4, 2.1, 3.0)  # cells: the first that leaves one component, else the last
_PER_CELL = 4.0  # samples per cell's face of surface, so that thin sheets have no holes
_MOST = 400_000  # samples


def fuse_mesh(
    mesh: Mesh, face_link: np.ndarray, *, cells: int = CELLS, seed: int = 0
) -> tuple[Mesh, np.ndarray]:
    """One surface around all pieces of a mesh, and [F] the link of each new triangle.

    That is the link its first corner is nearest to, as bodies assign vertices to parts.
    Pieces that are farther apart than six cells stay apart.

    Args:
        mesh: Any.
        face_link: [F] link of every triangle.
        cells: Along the longest side.
        seed: Of surface samples.
    """
    low, high = mesh.bounds
    cell = float((high - low).max()) / cells
    count = min(int(_PER_CELL * mesh.face_areas.sum() / cell**2) + 1000, _MOST)
    face, points, _ = spread_points(mesh, face_link, count=count, least=50, seed=seed)
    points = np.concatenate([points, mesh.vertices[mesh.faces].reshape(-1, 3)])
    face = np.concatenate([face, np.repeat(np.arange(len(mesh.faces)), 3)])
    margin = int(np.ceil(_THICKNESS[-1])) + 2
    origin = low - margin * cell
    shape = np.ceil((high - low) / cell).astype(np.int64) + 2 * margin + 1
    tree = KDTree(points)
    distance = _distance_band(points, tree, origin, cell, shape, reach=_THICKNESS[-1] + 1.5)
    field = distance - _THICKNESS[-1]
    for thickness in _THICKNESS:
        field = distance - thickness
        if _components(field < 0, np.ones((3, 3, 3))).max() == 1:
            break
    outside = _components(field >= 0, ndimage.generate_binary_structure(3, 1))
    field = np.where((field >= 0) & (outside != outside[0, 0, 0]), -1.0, field)
    vertices, faces = surface_nets(field)
    fused = Mesh(vertices=vertices * cell + origin, faces=faces, name=mesh.name)
    vertex_link = face_link[face[np.asarray(tree.query(fused.vertices)[1])]]
    return fused, vertex_link[fused.faces[:, 0]]


def _components(cells: np.ndarray, neighbours: np.ndarray) -> np.ndarray:
    """[X, Y, Z] number of the connected component of each cell, from 1; 0 elsewhere."""
    out = np.zeros(cells.shape, np.int32)
    ndimage.label(cells, neighbours, output=out)
    return out


def _distance_band(
    points: np.ndarray,
    tree: KDTree,
    origin: np.ndarray,
    cell: float,
    shape: np.ndarray,
    *,
    reach: float,
) -> np.ndarray:
    """[X, Y, Z] cells from each grid point to the nearest of `points`, up to `reach`."""
    near = np.zeros(shape, bool)
    x, y, z = np.round((points - origin) / cell).astype(np.int64).T
    near[x, y, z] = True
    wide = int(np.ceil(reach))
    near = np.asarray(ndimage.binary_dilation(near, np.ones((3, 3, 3)), iterations=wide), bool)
    out = np.full(shape, reach)
    where = np.argwhere(near)
    found = tree.query(where * cell + origin, distance_upper_bound=reach * cell)[0]
    out[near] = np.minimum(np.asarray(found) / cell, reach)
    return out
