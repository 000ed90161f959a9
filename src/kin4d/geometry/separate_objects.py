"""Separate objects: which parts of a mesh lie so far apart that they are objects of a scene."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components as label_graph
from scipy.spatial import KDTree

from kin4d.geometry.mesh import Mesh
from kin4d.geometry.mesh_ops import connected_components, submesh
from kin4d.geometry.sampling import sample_surface

GAP = 0.05
"""Of the longest side: what lies farther apart may be separate objects."""

_LEAST = 0.05  # of the surface: what is smaller belongs to the object nearest to it
_SAMPLES = 6000


def separate_objects(mesh: Mesh, *, gap: float = GAP) -> np.ndarray:
    """[F] int64 object of each face, the largest first: groups of surface with a gap around them.

    A part that floats by intent, as a lid held over its pot, counts as an object too if it is
    large: the surface alone does not tell.
    """
    if not len(mesh.faces):
        return np.zeros(0, np.int64)
    component = connected_components(mesh.vertices, mesh.faces)[mesh.faces[:, 0]]
    count = int(component.max()) + 1
    samples = sample_surface(mesh, _SAMPLES, seed=0)
    first = np.unique(component, return_index=True)[1]  # so that each has a point at least
    corners = mesh.vertices[mesh.faces[first]].mean(1)
    points = np.concatenate([samples.points(mesh.vertices), corners])
    owner = np.concatenate([component[samples.face], component[first]])
    size = float(np.ptp(mesh.bounds, axis=0).max())
    pairs = KDTree(points).query_pairs(gap * size, output_type="ndarray")
    links = owner[pairs].reshape(-1, 2)
    graph = coo_array((np.ones(len(links), np.int8), links.T), shape=(count, count))
    group = np.asarray(label_graph(graph, directed=False)[1])
    area = np.bincount(group[component], mesh.face_areas)
    large = area >= _LEAST * area.sum()
    of_large = large[group[owner]]
    nearest = np.asarray(KDTree(points[of_large]).query(points)[1])
    joins = group[owner[of_large][nearest]]
    joined = np.arange(len(area))
    for small in np.flatnonzero(~large):
        own = np.flatnonzero(group[owner] == small)
        joined[small] = np.bincount(joins[own]).argmax()
    rank = np.empty(len(area), np.int64)
    total = np.bincount(joined[group[component]], mesh.face_areas, len(area))
    rank[np.argsort(-total, kind="stable")] = np.arange(len(area))
    return rank[joined[group[component]]]


def split_objects(mesh: Mesh) -> list[Mesh]:
    """The separate objects of a mesh, the largest first; itself alone if it is one."""
    label = separate_objects(mesh)
    count = int(label.max(initial=-1)) + 1
    if count < 2:
        return [mesh]
    return [submesh(mesh, label == k, name=f"{mesh.name}_{k + 1}") for k in range(count)]
