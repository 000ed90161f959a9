"""PLY, read and written: text or binary, any polygons, UVs by vertex or by corner."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import numpy as np

from kin4d.files import write_bytes
from kin4d.geometry.io.asset_paths import open_image, optional_path, warn_asset
from kin4d.geometry.io.polygons import triangulate
from kin4d.geometry.io.uv_seams import per_vertex, split_seams
from kin4d.geometry.material import SurfaceMaterial
from kin4d.geometry.mesh import Mesh, RawMesh

_TYPES = {
    "char": "i1",
    "uchar": "u1",
    "short": "i2",
    "ushort": "u2",
    "int": "i4",
    "uint": "u4",
    "int8": "i1",
    "uint8": "u1",
    "int16": "i2",
    "uint16": "u2",
    "int32": "i4",
    "uint32": "u4",
    "float": "f4",
    "float32": "f4",
    "double": "f8",
    "float64": "f8",
}
_UV_NAMES = (("s", "t"), ("u", "v"), ("texture_u", "texture_v"))
_CHANNELS = ("red", "green", "blue", "alpha")


@dataclass
class _Element:
    """One table of the file: its columns, and for list columns the type of the length."""

    name: str
    count: int
    columns: list[tuple[str, str, str | None]] = field(default_factory=list)


def read_ply(path: Path) -> RawMesh:
    """Read a PLY, unchecked. Vertices come in file order, further ones at texture seams last."""
    data = path.read_bytes()
    elements, order, texture, start = _header(path, data)
    tables, at = {}, start
    if order == "ascii":
        numbers = np.fromstring(data[start:], np.float64, sep=" ")
        data, at, order = numbers.tobytes(), 0, "="
        for element in elements:  # text has one type for all
            element.columns = [(n, "f8", c and "f8") for n, _, c in element.columns]
    for element in elements:
        tables[element.name], at = _table(data, at, element, order)
    return _surface(path, tables, texture)


def _header(path: Path, data: bytes) -> tuple[list[_Element], str, str | None, int]:
    """Elements, byte order ("<", ">" or "ascii"), texture name, and where the tables begin."""
    end = data.find(b"end_header")
    start = data.find(b"\n", end) + 1
    if not data.startswith(b"ply") or end < 0 or start == 0:
        raise ValueError("it has no PLY header")
    elements: list[_Element] = []
    order, texture = "", None
    for line in data[:end].decode("latin1").splitlines():
        key, *words = line.split() or [""]
        if key == "format":
            order = {"ascii": "ascii", "binary_big_endian": ">"}.get(words[0], "<")
        elif key == "element":
            elements.append(_Element(words[0], int(words[1])))
            if not 0 <= elements[-1].count <= len(data):
                raise ValueError(f"it declares {words[1]} of {words[0]} in {len(data)} bytes")
        elif key == "property" and words[0] == "list":
            elements[-1].columns.append((words[3], _TYPES[words[2]], _TYPES[words[1]]))
        elif key == "property":
            elements[-1].columns.append((words[1], _TYPES[words[0]], None))
        elif key == "comment" and words and words[0].lower() == "texturefile":
            texture = line.split(None, 2)[2].strip()
    return elements, order, texture, start


def _table(data: bytes, at: int, element: _Element, order: str) -> tuple[dict, int]:
    """Columns by name, lists as (values, lengths), and the offset after them."""
    if not element.count:
        empty = np.empty(0, np.int64)
        return {n: (empty, empty) if c else empty for n, _, c in element.columns}, at
    if any(length for _, _, length in element.columns):
        rows = _even_rows(data, at, element, order)
        return rows if rows is not None else _uneven_rows(data, at, element, order)
    row = np.dtype([(name, order + kind) for name, kind, _ in element.columns])
    table = np.frombuffer(data, row, element.count, at)
    return {name: table[name] for name in row.names or ()}, at + row.itemsize * element.count


def _even_rows(data: bytes, at: int, element: _Element, order: str) -> tuple[dict, int] | None:
    """All rows at once if every list is as long as the first row's; else None."""
    spec, offset = [], at
    for index, (_, kind, length) in enumerate(element.columns):
        shape = ()
        if length is not None:
            shape = (int(np.frombuffer(data, order + length, 1, offset)[0]),)
            spec.append((f"length{index}", order + length))
        spec.append((f"value{index}", order + kind, shape))
        offset = at + np.dtype(spec).itemsize
    row = np.dtype(spec)
    if at + row.itemsize * element.count > len(data):
        return None
    table, result = np.frombuffer(data, row, element.count, at), {}
    for index, (name, _, length) in enumerate(element.columns):
        values = table[f"value{index}"]
        if length is not None:
            lengths = table[f"length{index}"].astype(np.int64)
            if (lengths != lengths[0]).any():
                return None
            values = (values.ravel(), lengths)
        result[name] = values
    return result, at + row.itemsize * element.count


def _uneven_rows(data: bytes, at: int, element: _Element, order: str) -> tuple[dict, int]:
    parts: list[list[np.ndarray]] = [[] for _ in element.columns]
    kinds = [(np.dtype(order + k), c) for _, k, c in element.columns]
    for _ in range(element.count):
        for values, (kind, length) in zip(parts, kinds, strict=True):
            many = 1
            if length is not None:
                many = int(np.frombuffer(data, order + length, 1, at)[0])
                at += np.dtype(length).itemsize
                if many < 0:
                    raise ValueError(f"it has a list of {many} numbers")
            values.append(np.frombuffer(data, kind, many, at))
            at += kind.itemsize * many
    result = {}
    for (name, _, length), values in zip(element.columns, parts, strict=True):
        flat = np.concatenate(values)
        result[name] = flat if length is None else (flat, np.array([len(v) for v in values]))
    return result, at


def _surface(path: Path, tables: dict[str, dict], texture: str | None) -> RawMesh:
    vertex, face = tables["vertex"], tables.get("face", {})
    vertices = np.stack([vertex[axis] for axis in "xyz"], axis=1).astype(np.float64)
    normals = None
    if all(name in vertex for name in ("nx", "ny", "nz")):
        normals = np.stack([vertex[name] for name in ("nx", "ny", "nz")], axis=1)
    uv = next((np.stack([vertex[u], vertex[v]], 1) for u, v in _UV_NAMES if u in vertex), None)
    colors = _colors(vertex)
    if _colors(face) is not None:
        warn_asset(path, "colours by face are left out; store them by vertex or as a texture")
    none = (np.empty(0), np.empty(0, np.int64))
    corner, counts = face.get("vertex_indices", face.get("vertex_index", none))
    corner = corner.astype(np.int64)
    corner = np.where((corner < 0) | (corner >= len(vertices)), -1, corner)
    triangles, _ = triangulate(vertices, corner, counts)
    faces, source = corner[triangles], np.arange(len(vertices))
    wedge = face.get("texcoord", none)[0].reshape(-1, 2)
    if len(wedge) and len(wedge) == len(corner):
        distinct, index = np.unique(wedge[triangles.ravel()], axis=0, return_inverse=True)
        corners = np.stack([faces.ravel(), index.ravel(), np.full(faces.size, -1)], axis=1)
        moved, source, example = split_seams(len(vertices), corners)
        faces, uv = moved.reshape(-1, 3), per_vertex(distinct, corners[:, 1], example)
    material = _material(path, texture, tinted=colors is not None)
    return RawMesh(
        vertices=vertices[source],
        faces=faces,
        uv=uv,
        normals=None if normals is None else normals[source],
        colors=None if colors is None else colors[source],
        materials=(material,),
        source_index=source,
        name=path.stem,
    )


def _colors(table: dict) -> np.ndarray | None:
    """[n, 4] uint8; whole numbers are 0 to 255, others 0 to 1."""
    if not all(name in table for name in _CHANNELS[:3]):
        return None
    channels = [table[name] for name in _CHANNELS if name in table]
    values = np.stack(channels, axis=1).astype(np.float64)
    if channels[0].dtype.kind == "f" and values.max(initial=0) <= 1 and (values % 1).any():
        values = values * 255
    full = np.full((len(values), 4), 255, np.uint8)
    full[:, : values.shape[1]] = np.rint(np.clip(values, 0, 255))
    return full


def _material(path: Path, texture: str | None, *, tinted: bool) -> SurfaceMaterial:
    file = None if texture is None else optional_path(path, "texture", texture)
    image = None if file is None else open_image(path, f"texture '{texture}'", file)
    if image is not None:
        textures = MappingProxyType({"base_color": image})
        return SurfaceMaterial(base_color=(1.0, 1.0, 1.0, 1.0), textures=textures)
    return SurfaceMaterial(base_color=(1.0, 1.0, 1.0, 1.0)) if tinted else SurfaceMaterial()


def write_ply(mesh: Mesh, path: Path) -> None:
    """Write a binary PLY: double precision positions, UVs, normals and colours, no materials."""
    columns = [(axis, "<f8", "double", mesh.vertices[:, i]) for i, axis in enumerate("xyz")]
    for names, table, kind, word in (
        (("nx", "ny", "nz"), mesh.normals, "<f4", "float"),
        (_UV_NAMES[0], mesh.uv, "<f4", "float"),
        (_CHANNELS, mesh.colors, "u1", "uchar"),
    ):
        if table is not None:
            columns += [(name, kind, word, table[:, i]) for i, name in enumerate(names)]
    vertex = np.empty(len(mesh.vertices), [(name, kind) for name, kind, _, _ in columns])
    for name, _, _, values in columns:
        vertex[name] = values
    face = np.empty(len(mesh.faces), [("length", "u1"), ("corner", "<i4", 3)])
    face["length"], face["corner"] = 3, mesh.faces
    header = [
        "ply",
        "format binary_little_endian 1.0",
        f"element vertex {len(vertex)}",
        *(f"property {word} {name}" for name, _, word, _ in columns),
        f"element face {len(face)}",
        "property list uchar int vertex_indices",
        "end_header\n",
    ]
    write_bytes(path, "\n".join(header).encode() + vertex.tobytes() + face.tobytes())
