"""Operations on meshes that need more than one field at a time: components, joining, welding."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kin4d.errors import InputError
from kin4d.geometry.mesh import Mesh


def weld(vertices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Merge vertices at exactly the same place.

    Args:
        vertices: [V, 3].

    Returns:
        ``first`` [W]: the first vertex at each distinct place, ascending; and ``index`` [V]:
        which of these each vertex is, so ``vertices == vertices[first][index]``.
    """
    # Adding zero turns -0.0 into 0.0, so that equal numbers have equal bytes.
    rows = np.ascontiguousarray(vertices + 0.0).view(f"V{vertices.shape[1] * vertices.itemsize}")
    _, first, index = np.unique(rows[:, 0], return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[index]


def connected_components(vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """[V] int64 component ids, connected by faces and by exactly equal positions."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components as label

    first, index = weld(vertices)
    corners = index[faces]
    ends = np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]]])
    graph = coo_matrix((np.ones(len(ends), np.int8), ends.T), shape=(len(first), len(first)))
    _, labels = label(graph, directed=False)
    # Renumber by first appearance: ids then do not depend on the labelling algorithm.
    _, first_seen, labels = np.unique(labels[index], return_index=True, return_inverse=True)
    rank = np.empty(len(first_seen), np.int64)
    rank[np.argsort(first_seen)] = np.arange(len(first_seen))
    return rank[labels]


def concatenate(meshes: Sequence[Mesh], *, name: str = "mesh") -> Mesh:
    """Join meshes in order; see `Mesh.concatenate`."""
    if not meshes:
        raise InputError("there is no mesh to join", value=0, allowed="one mesh or more")
    offsets = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
    material_offsets = np.cumsum([0, *(len(mesh.materials) for mesh in meshes)])
    part_offsets = np.cumsum([0, *(len(mesh.parts) for mesh in meshes)])

    def shifted(field: str, by: np.ndarray) -> np.ndarray:
        return np.concatenate(
            [getattr(mesh, field) + shift for mesh, shift in zip(meshes, by, strict=False)]
        )

    def filled(field: str, width: int, default: float) -> np.ndarray | None:
        values = [getattr(mesh, field) for mesh in meshes]
        if all(value is None for value in values):
            return None
        return np.concatenate(
            [
                np.full((len(mesh.vertices), width), default) if value is None else value
                for mesh, value in zip(meshes, values, strict=True)
            ]
        )

    has_normals = all(mesh.normals is not None for mesh in meshes)
    return Mesh(
        vertices=np.concatenate([mesh.vertices for mesh in meshes]),
        faces=shifted("faces", offsets),
        uv=filled("uv", 2, 0.0),
        normals=np.concatenate([mesh.normals for mesh in meshes]) if has_normals else None,  # pyright: ignore[reportCallIssue, reportArgumentType]
        colors=filled("colors", 4, 255),
        materials=tuple(material for mesh in meshes for material in mesh.materials),
        face_material=shifted("face_material", material_offsets),
        parts=tuple(part for mesh in meshes for part in mesh.parts),
        face_part=shifted("face_part", part_offsets),
        source_index=shifted("source_index", offsets),
        name=name,
    )
