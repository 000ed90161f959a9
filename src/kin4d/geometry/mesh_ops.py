"""Operations on meshes that need more than one field: components, joining, cutting, welding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from kin4d.errors import InputError
from kin4d.geometry.mesh import Mesh, RawMesh
from kin4d.geometry.topology import unique_in_order
from kin4d.geometry.up_axis import UpAxis


def merge_vertices(vertices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Merge vertices at exactly the same position.

    Args:
        vertices: [V, 3].

    Returns:
        ``first`` [W]: the first vertex at each distinct position, ascending; and ``index`` [V]:
        which of these each vertex is, so ``vertices == vertices[first][index]``.
    """
    # Adding zero turns -0.0 into 0.0, so that equal numbers have equal bits.
    bits = np.ascontiguousarray(np.asarray(vertices, np.float64) + 0.0).view(np.uint64)
    first, index = unique_in_order(_hash_rows(bits))
    if not (bits == bits[first][index]).all():  # two positions share a hash: compare the rows whole
        rows = bits.view(f"V{bits.shape[1] * bits.itemsize}")[:, 0]
        first, index = unique_in_order(rows)
    return first, index


def connected_components(vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """[V] int64 component ids, connected by faces and by exactly equal positions."""
    first, index = merge_vertices(vertices)
    labels = label_components(len(first), index[faces])[index]
    # By first appearance, ids do not depend on the labelling algorithm.
    return unique_in_order(labels)[1]


def label_components(count: int, faces: np.ndarray) -> np.ndarray:
    """[count] component ids of vertices that are connected by [F, 3] faces alone."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components as label

    ends = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]]])
    graph = coo_matrix((np.ones(len(ends), np.int8), ends.T), shape=(count, count))
    return label(graph, directed=False)[1]


def fields_of(mesh: RawMesh) -> dict[str, Any]:
    """The fields of a mesh by name, without copying: ``Mesh(**fields_of(raw))`` checks it."""
    return {item.name: getattr(mesh, item.name) for item in fields(RawMesh)}


def concatenate_meshes(meshes: Sequence[Mesh], *, name: str = "mesh") -> Mesh:
    """Join meshes in order; see `Mesh.concatenate`."""
    return Mesh(**fields_of(join_meshes(meshes, name=name)))


def join_meshes(meshes: Sequence[RawMesh], *, name: str = "mesh") -> RawMesh:
    """Join meshes in order, unchecked.

    A material that several of them hold (the same object) appears once. UVs and colours that only
    some of them have are filled with zero and white; normals and tangents are kept if all have
    them. A face corner out of its own mesh's range becomes -1, so that it cannot land in another's.
    """
    if not meshes:
        raise InputError("there is no mesh to join", value=0, allowed="one mesh or more")
    counts = [len(mesh.vertices) for mesh in meshes]
    starts = np.cumsum([0, *counts])[:-1]
    part_starts = np.cumsum([0, *(len(mesh.groups) for mesh in meshes)])[:-1]
    materials = tuple({id(m): m for mesh in meshes for m in mesh.materials}.values())
    index_of = {id(material): index for index, material in enumerate(materials)}

    def filled(field: str, width: int, default: float, dtype: type) -> np.ndarray | None:
        values = [getattr(mesh, field) for mesh in meshes]
        missing = [value is None for value in values]
        if all(missing) or (field in ("normals", "tangents") and any(missing)):
            return None
        blanks = [np.full((count, width), default, dtype) for count in counts]
        return np.concatenate([_or(*pair) for pair in zip(values, blanks, strict=True)])

    faces, face_material, face_part, source_index = [], [], [], []
    for mesh, count, start, part_start in zip(meshes, counts, starts, part_starts, strict=True):
        zeros = np.zeros(len(mesh.faces), np.int64)
        inside = (mesh.faces >= 0) & (mesh.faces < count)
        faces.append(np.where(inside, mesh.faces + start, -1))
        table = np.array([index_of[id(material)] for material in mesh.materials])
        face_material.append(table[_or(mesh.face_material, zeros)])
        face_part.append(_or(mesh.face_group, zeros) + part_start)
        source_index.append(_or(mesh.source_index, np.arange(count)) + start)
    ups: list[UpAxis] = [mesh.source_up for mesh in meshes if mesh.source_up]
    return RawMesh(
        vertices=np.concatenate([mesh.vertices for mesh in meshes]),
        faces=np.concatenate(faces),
        uv=filled("uv", 2, 0.0, np.float32),
        normals=filled("normals", 3, 0.0, np.float32),
        tangents=filled("tangents", 4, 0.0, np.float32),
        colors=filled("colors", 4, 255, np.uint8),
        materials=materials,
        face_material=np.concatenate(face_material),
        groups=tuple(part for mesh in meshes for part in mesh.groups),
        face_group=np.concatenate(face_part),
        source_index=np.concatenate(source_index),
        name=name,
        source_up=ups[0] if len(set(ups)) == 1 else None,
    )


def submesh(mesh: Mesh, keep: np.ndarray, *, name: str | None = None) -> Mesh:
    """Some triangles, `keep` [F] bool or indices, with only the vertices and materials they use."""
    used, faces = np.unique(mesh.faces[keep], return_inverse=True)
    own, look = np.unique(np.asarray(mesh.face_material)[keep], return_inverse=True)
    by_vertex = ("vertices", "uv", "normals", "tangents", "colors", "source_index")
    values = {field: getattr(mesh, field) for field in by_vertex}
    return replace(
        mesh,
        **{field: None if value is None else value[used] for field, value in values.items()},
        faces=faces.reshape(-1, 3),
        materials=tuple(mesh.materials[i] for i in own),
        face_material=look,
        face_group=np.asarray(mesh.face_group)[keep],
        name=name or mesh.name,
    )


def _or(value: np.ndarray | None, default: np.ndarray) -> np.ndarray:
    return default if value is None else value


def _hash_rows(bits: np.ndarray) -> np.ndarray:
    """[V] uint64 of [V, n] uint64, mixed well enough that equal hashes mean equal rows."""
    mixed = np.zeros(len(bits), np.uint64)
    for column in bits.T:
        mixed = (mixed ^ column) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return mixed
