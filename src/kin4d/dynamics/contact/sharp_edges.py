"""Sharp edges of a surface: where it meets other edges, which points inside its faces never see."""

from __future__ import annotations

import numpy as np

from kin4d.geometry.mesh import Mesh, face_normals
from kin4d.geometry.mesh_ops import merge_vertices
from kin4d.geometry.patches import CREASE
from kin4d.geometry.sampling import SurfaceSamples


def sample_sharp_edges(mesh: Mesh, count: int, *, crease: float = CREASE) -> SurfaceSamples:
    """`count` points at equal steps along the edges that bend outwards by more than `crease` (rad);
    none if there are no such edges."""
    face, side = _sharp_sides(mesh, crease)
    ends = mesh.vertices[mesh.faces[face, side]], mesh.vertices[mesh.faces[face, (side + 1) % 3]]
    total = np.cumsum(np.linalg.norm(ends[1] - ends[0], axis=1))
    if not len(total) or not total[-1] > 0:
        count = 0
    edge, share = np.zeros(count, np.int64), np.zeros(count)
    if count:
        at = (np.arange(count) + 0.5) / count * total[-1]
        edge = np.minimum(np.searchsorted(total, at, side="right"), len(total) - 1)
        start = np.concatenate([[0.0], total])[edge]
        share = (at - start) / np.maximum(total[edge] - start, 1e-300)
    rows, barycentric = np.arange(count), np.zeros((count, 3))
    barycentric[rows, side[edge]] = 1 - share
    barycentric[rows, (side[edge] + 1) % 3] = share
    return SurfaceSamples(face=face[edge], corners=mesh.faces[face[edge]], barycentric=barycentric)


def _sharp_sides(mesh: Mesh, crease: float) -> tuple[np.ndarray, np.ndarray]:
    """Faces and their sides (0 from the first corner to the second) that are sharp, once an edge.

    Vertices at one position count as one. An edge of more or fewer than two faces is not sharp.
    """
    index = merge_vertices(mesh.vertices)[1]
    face, side = np.divmod(np.arange(3 * len(mesh.faces)), 3)
    ends = np.stack([mesh.faces[face, side], mesh.faces[face, (side + 1) % 3]], 1)
    ends = np.sort(index[ends], axis=1)
    _, edge, uses = np.unique(ends[:, 0] * len(index) + ends[:, 1], return_inverse=True,
                              return_counts=True)  # fmt: skip
    order = np.argsort(edge, kind="stable")
    one, two = order[:-1], order[1:]
    paired = (edge[one] == edge[two]) & (uses[edge[one]] == 2)
    one, two = one[paired], two[paired]
    normal = face_normals(mesh.vertices, mesh.faces)
    normal = normal / np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
    bend = (normal[face[one]] * normal[face[two]]).sum(1)
    # Outwards: the far corner of the second face lies below the first.
    far = mesh.vertices[mesh.faces[face[two], (side[two] + 2) % 3]]
    near = mesh.vertices[mesh.faces[face[one], side[one]]]
    below = ((far - near) * normal[face[one]]).sum(1) < 0
    sharp = one[(bend < np.cos(crease)) & below]
    return face[sharp], side[sharp]
