"""dense_mesh: the same shape with more vertices."""

from __future__ import annotations

import numpy as np

from kin4d.geometry.mesh import Mesh


def dense_mesh(mesh: Mesh, *, vertices: int) -> Mesh:
    """A mesh with its edges cut until it has at least `vertices` vertices, and few more."""
    import trimesh

    short, long = 1e-4 * mesh.bbox_diagonal, mesh.bbox_diagonal
    best = None
    for _ in range(24):
        edge = float(np.sqrt(short * long))
        points, faces, source = trimesh.remesh.subdivide_to_size(  # pyright: ignore[reportAssignmentType]
            mesh.vertices, mesh.faces, edge, max_iter=30, return_index=True
        )
        if len(points) >= vertices:
            best, short = (points, faces, source), edge
        else:
            long = edge
        if vertices <= len(points) < 1.02 * vertices:
            break
    assert best is not None
    points, faces, source = best
    assert mesh.face_material is not None
    return Mesh(
        vertices=points,
        faces=faces,
        materials=mesh.materials,
        face_material=mesh.face_material[source],
        name=mesh.name,
    )
