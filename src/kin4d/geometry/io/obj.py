"""OBJ, read and written: file vertices keep their order, polygons become triangles.

General readers regroup an OBJ's faces by material and renumber its vertices on the way; here the
first V vertices are the file's own V vertices, so what is known by vertex stays known by vertex.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from kin4d.errors import InputError
from kin4d.files import atomic_path
from kin4d.geometry.io.asset_paths import optional_path
from kin4d.geometry.io.mtl import read_mtl, write_mtl
from kin4d.geometry.io.polygons import triangulate
from kin4d.geometry.io.uv_seams import per_vertex, split_seams
from kin4d.geometry.material import SurfaceMaterial
from kin4d.geometry.mesh import Mesh, RawMesh


def read_obj(path: Path) -> RawMesh:
    """Read an OBJ, unchecked.

    Vertices come in file order; one that carries several UVs or normals is repeated after them,
    once for each further combination (`source_index` says whose copy it is). Objects and groups
    become groups. A corner that names no vertex becomes -1.
    """
    statements = _Statements(path)
    positions = _table(path, "v", statements.rows["v"])
    vertices, colors = np.full((len(positions), 3), np.nan), None
    vertices[:, : positions.shape[1]] = positions[:, :3]
    if positions.shape[1] >= 6:
        tint = np.nan_to_num(positions[:, 3:6], nan=1.0)
        colors = np.full((len(positions), 4), 255, np.uint8)
        colors[:, :3] = np.rint(np.clip(tint, 0, 1) * 255)
    corners, counts = _corners(path, statements.faces)
    if len(vertices) == 0 and len(counts) == 0:
        raise InputError(
            f"{path} is not an OBJ mesh: it has no 'v' and no 'f' lines",
            hint="check that the file is what its name says",
        )
    runs = np.array(statements.runs, np.int64).reshape(-1, 6)
    lengths = np.diff(np.append(runs[:, 0], len(counts)))
    face_state = np.repeat(runs[:, 1:], lengths, axis=0)
    sizes = (len(vertices), len(statements.rows["vt"]), len(statements.rows["vn"]))
    for column, size in enumerate(sizes):
        read_so_far = np.repeat(face_state[:, column], counts)
        corners[:, column] = _zero_based(corners[:, column], read_so_far, size)
    triangles, polygon = triangulate(vertices, corners[:, 0], counts)
    corners = corners[triangles.ravel()]
    index, source, example = split_seams(len(vertices), corners)
    uv = per_vertex(_table(path, "vt", statements.rows["vt"])[:, :2], corners[:, 1], example)
    normals = per_vertex(_table(path, "vn", statements.rows["vn"])[:, :3], corners[:, 2], example)
    return RawMesh(
        vertices=vertices[source],
        faces=index.reshape(-1, 3),
        uv=uv,
        normals=normals,
        colors=None if colors is None else colors[source],
        materials=_materials(path, statements, tinted=colors is not None),
        face_material=face_state[polygon, 4],
        groups=tuple(statements.groups) or ("mesh",),
        face_group=face_state[polygon, 3],
        source_index=source,
        name=path.stem,
    )


class _Statements:
    """The lines of an OBJ by kind, and what was in force where each run of faces begins."""

    def __init__(self, path: Path) -> None:
        text = path.read_bytes().decode("utf-8", "replace")
        # Lines may end in \\r, be indented, use tabs, and go on after a backslash.
        text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\\\n", " ")
        text = text.replace("\t", " ")
        if "\n " in text:
            text = re.sub(r"^ +", "", text, flags=re.MULTILINE)
        self.rows: dict[str, list[str]] = {"v": [], "vt": [], "vn": []}
        self.faces: list[str] = []
        self.libraries: list[str] = []
        self.materials: dict[str, int] = {}
        self.groups: dict[str, int] = {}
        # First face, counts of v, vt and vn so far, part, material.
        self.runs: list[tuple[int, ...]] = []
        names = {"o": "", "g": "", "usemtl": ""}
        run_is_open = False
        for line in text.split("\n"):
            key, _, rest = line.partition(" ")
            if key == "f":
                if not run_is_open:
                    part = "/".join(filter(None, (names["o"], names["g"]))) or "mesh"
                    self.runs.append(
                        (
                            len(self.faces),
                            *(len(rows) for rows in self.rows.values()),
                            self.groups.setdefault(part, len(self.groups)),
                            self.materials.setdefault(names["usemtl"], len(self.materials)),
                        )
                    )
                    run_is_open = True
                self.faces.append(rest)
                continue
            run_is_open = False
            if key in self.rows:
                self.rows[key].append(rest)
            elif key in names:
                names[key] = rest.strip()
            elif key == "mtllib":
                self.libraries.append(rest.strip())
        for rows in (*self.rows.values(), self.faces):
            if any("#" in row for row in rows):
                rows[:] = [row.partition("#")[0] for row in rows]


def _table(path: Path, key: str, rows: list[str]) -> np.ndarray:
    """[n, width] float64 of lines of numbers; short lines are filled with NaN."""
    widths = np.array([len(row.split()) for row in rows], np.int64)
    width = int(widths.max(initial=3))
    flat = _numbers(path, key, " ".join(rows), np.float64, int(widths.sum()))
    table = np.full((len(rows), width), np.nan)
    table[np.arange(width) < widths[:, None]] = flat
    return table


def _corners(path: Path, rows: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """[C, 3] v, vt, vn as written (0 where absent) of all face corners, and [F] corners a face."""
    counts = np.array([len(row.split()) for row in rows], np.int64)
    slashes = np.array([row.count("/") for row in rows], np.int64)
    total = int(counts.sum())
    corners = np.zeros((total, 3), np.int64)
    for style in (0, 1, 2):
        if (slashes == counts * style).all():
            text = " ".join(rows).replace("//", "/0/").replace("/", " ")
            flat = _numbers(path, "f", text, np.int64, total * (style + 1))
            corners[:, : style + 1] = flat.reshape(total, style + 1)
            return corners, counts
    for row, word in enumerate(" ".join(rows).split()):
        for column, digits in enumerate(word.split("/")[:3]):
            if digits:
                corners[row, column] = _numbers(path, "f", digits, np.int64, 1)[0]
    return corners, counts


def _numbers(path: Path, key: str, text: str, dtype: type, count: int) -> np.ndarray:
    try:
        values = np.fromstring(text, dtype, sep=" ") if count else np.empty(0, dtype)
    except (ValueError, DeprecationWarning) as error:
        raise InputError(f"{path} has '{key}' lines that are not numbers") from error
    if len(values) != count:
        raise InputError(f"{path} has '{key}' lines that are not numbers")
    return values


def _zero_based(written: np.ndarray, read_so_far: np.ndarray, size: int) -> np.ndarray:
    """From OBJ's counting: from 1, or back from -1 over what was read so far; -1 if not there."""
    index = written - 1
    back = written < 0
    index[back] = read_so_far[back] + written[back]
    index[(index < 0) | (index >= size)] = -1
    return index


def _materials(path: Path, statements: _Statements, *, tinted: bool) -> tuple[SurfaceMaterial, ...]:
    library: dict[str, SurfaceMaterial] = {}
    for name in statements.libraries:
        file = optional_path(path, "material library", name)
        library |= {} if file is None else read_mtl(file)
    plain = (1.0, 1.0, 1.0, 1.0) if tinted else SurfaceMaterial().base_color
    names = statements.materials or {"": 0}
    return tuple(
        library.get(name) or SurfaceMaterial(name=name or "material", base_color=plain)
        for name in names
    )


def write_obj(mesh: Mesh, path: Path, *, library: str | None = None) -> None:
    """Write an OBJ with UVs, normals, colours, groups and, beside it, MTL and textures.

    Numbers are written in full, so that reading gives back the same vertices in the same order.
    `library` names an MTL that an earlier mesh with the same materials has left in the folder.
    """
    looks = [f"{i}_{'_'.join(material.name.split())}" for i, material in enumerate(mesh.materials)]
    names = [
        f"{name}.{i}" if name in mesh.groups[:i] else name for i, name in enumerate(mesh.groups)
    ]
    if library is None:
        library = path.with_suffix(".mtl").name
        write_mtl(mesh.materials, looks, path.with_name(library))
    positions = mesh.vertices
    if mesh.colors is not None:
        positions = np.concatenate([positions, mesh.colors[:, :3] / 255], axis=1)
    style = "{0}" + ("/{0}" if mesh.uv is not None else "/" * (mesh.normals is not None))
    style += "/{0}" * (mesh.normals is not None)
    corner = [style.format(i + 1) for i in range(len(mesh.vertices))]
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as out:
        out.write(f"mtllib {library}\n")
        for key, table in (("v", positions), ("vt", mesh.uv), ("vn", mesh.normals)):
            if table is not None:
                # By columns: a list for each row would keep the garbage collector busy.
                rows = zip(*table.astype(np.float64).T.tolist(), strict=True)
                out.writelines(f"{key} {' '.join(map(repr, row))}\n" for row in rows)
        part_before = look_before = None
        columns = (*mesh.faces.T, np.asarray(mesh.face_group), np.asarray(mesh.face_material))
        for a, b, c, part, look in zip(*(column.tolist() for column in columns), strict=True):
            # Said once per run: a second "o" would begin a second object in most readers.
            if part != part_before:
                out.write(f"o {names[part]}\n")
            if look != look_before:
                out.write(f"usemtl {looks[look]}\n")
            part_before, look_before = part, look
            out.write(f"f {corner[a]} {corner[b]} {corner[c]}\n")
