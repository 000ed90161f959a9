"""Fused meshes: all pieces of an object welded and remeshed into one component.

The surface is thickened by a little more than half a cell, what it encloses is filled, and the
boundary is drawn by surface nets (one vertex in every cell that the boundary crosses): as scans,
generated meshes and printable files are, without a trace of the parts they were made of.
"""

from __future__ import annotations

import numpy as np
from scipy import ndimage
from scipy.spatial import KDTree

from kin4d.benchmarks.prior.comparison import spread_points
from kin4d.geometry.mesh import Mesh

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


def surface_nets(field: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Vertices [V, 3] and triangles [F, 3] of the surface where a field on a grid is zero.

    Args:
        field: [X, Y, Z], negative inside, not negative on the border of the grid.
    """
    inside = field < 0
    corners = [(i, j, k) for i in (0, 1) for j in (0, 1) for k in (0, 1)]
    size = np.array(field.shape) - 1
    of_corner = np.stack([inside[i : size[0] + i, j : size[1] + j, k : size[2] + k]
                          for i, j, k in corners])  # fmt: skip
    crossed = of_corner.any(0) & ~of_corner.all(0)
    number = np.full(crossed.shape, -1)
    where = np.argwhere(crossed)
    number[crossed] = np.arange(len(where))
    total, hits = np.zeros((len(where), 3)), np.zeros(len(where))
    for a in range(8):
        for axis in range(3):
            if corners[a][axis]:
                continue
            first = np.array(corners[a])
            second = first + np.eye(3, dtype=np.int64)[axis]
            one, two = (field[tuple((where + at).T)] for at in (first, second))
            cuts = (one < 0) != (two < 0)
            share = np.where(cuts, one / np.where(cuts, one - two, 1.0), 0.0)
            total += cuts[:, None] * (first + share[:, None] * (second - first))
            hits += cuts
    vertices = where + total / hits[:, None]
    quads = []
    for axis in range(3):
        # Every grid edge that is cut has a quadrilateral of the four cells around it.
        start, stop = (np.moveaxis(inside, axis, 0)[s] for s in (slice(None, -1), slice(1, None)))
        edge = np.argwhere(np.moveaxis(start != stop, 0, axis))
        flips = np.moveaxis(start, 0, axis)[tuple(edge.T)]
        u, v = np.eye(3, dtype=np.int64)[[(axis + 1) % 3, (axis + 2) % 3]]
        around = [number[tuple((edge - shift).T)] for shift in (u + v, v, 0 * u, u)]
        quad = np.stack(around, 1)
        quads.append(np.where(flips[:, None], quad, quad[:, ::-1]))
    quad = np.concatenate(quads)
    return vertices, np.concatenate([quad[:, [0, 1, 2]], quad[:, [0, 2, 3]]])


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
