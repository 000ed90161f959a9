"""Coarse meshes: fewer triangles where a small image would not show them anyway."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kin4d.geometry.mesh import Mesh


def decimate(mesh: Mesh, cell: float) -> Mesh:
    """The same surface with at most one vertex per cube of side `cell` (m), by clustering.

    Every vertex goes to the one of its cube that lies nearest to their mean; triangles that
    collapse are dropped. Materials stay; UVs and colours are those of the vertices that are kept.
    A mesh that would lose all its triangles is returned as it is.
    """
    kept, faces, chosen = cluster(mesh, cell)
    if len(chosen) == 0:
        return mesh
    assert mesh.face_material is not None
    assert mesh.face_group is not None
    return replace(
        mesh,
        vertices=mesh.vertices[kept],
        faces=faces,
        uv=None if mesh.uv is None else mesh.uv[kept],
        colors=None if mesh.colors is None else mesh.colors[kept],
        normals=None,
        tangents=None,
        face_material=mesh.face_material[chosen],
        face_group=mesh.face_group[chosen],
        source_index=None,
    )


def cluster(mesh: Mesh, cell: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What `decimate` keeps: vertices [N], triangles [M, 3] as indices into these, and which
    triangles [M] of the mesh they were."""
    cube = np.floor((mesh.vertices - mesh.bounds[0]) / cell + 0.5).astype(np.int64)
    _, cluster = np.unique(cube, axis=0, return_inverse=True)
    cluster = cluster.ravel()
    count = np.bincount(cluster)
    mean = np.stack([np.bincount(cluster, axis) for axis in mesh.vertices.T], 1) / count[:, None]
    order = np.lexsort((np.linalg.norm(mesh.vertices - mean[cluster], axis=1), cluster))
    kept = order[np.searchsorted(cluster[order], np.arange(len(count)))]
    faces = cluster[mesh.faces]
    a, b, c = faces.T
    whole = (a != b) & (b != c) & (c != a)
    # Triangles that now lie on each other show once.
    _, first = np.unique(np.sort(faces, axis=1), axis=0, return_index=True)
    chosen = np.sort(first[whole[first]])
    return kept, faces[chosen], chosen
