"""Over-segmentation of a connected surface: many small patches that end at creases and grooves.

Patches are Voronoi cells of seeds on a graph of surface points, in which a step over a bend is long
and one over a groove longer still: where a door meets its frame, cells end.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra
from scipy.spatial import KDTree

_NEIGHBOURS = 10
_BEND = 6.0  # a right angle makes a step this many times longer
_GROOVE = 20.0  # the same for a concave one, beside
_MOVES = 2  # of the seeds to the middles of their cells
_APART = 10.0  # distance of what cannot be reached


def cut_into_patches(
    points: np.ndarray, normals: np.ndarray, count: int, rng: np.random.Generator
) -> np.ndarray:
    """[M] int64 patch of each surface point, numbered from 0.

    Args:
        points: [M, 3] spread evenly; in units of the object's largest extent.
        normals: [M, 3] unit.
        count: Patches, at most.
        rng: Draws the seeds.
    """
    if count <= 1 or len(points) <= _NEIGHBOURS:
        return np.zeros(len(points), np.int64)
    graph = _surface_graph(points, normals)
    seeds = np.array([int(rng.integers(len(points)))])
    while len(seeds) < count:  # far from those there are, as many again
        far = np.minimum(dijkstra(graph, indices=seeds, min_only=True), _APART) ** 2
        more = min(count - len(seeds), len(seeds), int(np.count_nonzero(far)))
        if more == 0:
            break
        new = rng.choice(len(points), more, replace=False, p=far / far.sum())
        seeds = np.concatenate([seeds, new])
    for _ in range(_MOVES):
        label = _cells(graph, seeds)
        size = np.maximum(np.bincount(label), 1)[:, None]
        middle = np.stack([np.bincount(label, column) for column in points.T], 1) / size
        order = np.lexsort((np.square(points - middle[label]).sum(1), label))
        seeds = order[np.searchsorted(label[order], np.unique(label))]
    return _cells(graph, seeds)


def _cells(graph: Any, seeds: np.ndarray) -> np.ndarray:
    """[M] the seed each point is nearest to, numbered from 0; what no seed reaches is one cell."""
    nearest = dijkstra(graph, indices=seeds, min_only=True, return_predecessors=True)[2]
    return np.unique(nearest, return_inverse=True)[1].astype(np.int64)


def _surface_graph(points: np.ndarray, normals: np.ndarray) -> Any:
    """Neighbouring points, and how long the step between them is."""
    far, near = (np.asarray(x)[:, 1:] for x in KDTree(points).query(points, k=_NEIGHBOURS + 1))
    start, stop = np.repeat(np.arange(len(points)), _NEIGHBOURS), near.ravel()
    length = np.maximum(far.ravel(), 1e-9)
    bend = 1 - (normals[start] * normals[stop]).sum(1)
    step = (points[stop] - points[start]) / length[:, None]
    groove = np.maximum((step * (normals[start] - normals[stop])).sum(1), 0)
    cost = length * (1 + _BEND * bend + _GROOVE * groove)
    graph = csr_array((cost, (start, stop)), shape=(len(points), len(points)))
    return graph.maximum(graph.T)
