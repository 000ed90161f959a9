"""Surface nets: the surface where a field on a grid is zero, with one vertex in every cell that it
crosses (Gibson 1998)."""

from __future__ import annotations

import numpy as np


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
