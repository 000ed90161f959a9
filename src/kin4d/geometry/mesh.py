"""Mesh: the static surface everything starts from. A `Mesh` that exists is valid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from kin4d.errors import InputError
from kin4d.geometry.material import SurfaceMaterial
from kin4d.geometry.topology import degenerate, in_range
from kin4d.geometry.up_axis import UpAxis


@dataclass(frozen=True, eq=False, kw_only=True)
class RawMesh:
    """A mesh as read from a file, before anything is checked. Same fields as `Mesh`."""

    vertices: np.ndarray
    faces: np.ndarray
    uv: np.ndarray | None = None
    normals: np.ndarray | None = None
    tangents: np.ndarray | None = None
    colors: np.ndarray | None = None
    materials: tuple[SurfaceMaterial, ...] = (SurfaceMaterial(),)
    face_material: np.ndarray | None = None
    groups: tuple[str, ...] = ("mesh",)
    face_group: np.ndarray | None = None
    source_index: np.ndarray | None = None
    name: str = "mesh"
    source_up: UpAxis | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Mesh(RawMesh):
    """A triangle surface in metres with z up, with its source's look.

    Constructing one checks it: at least one face of non-zero area, finite vertices, indices in
    range; otherwise `InputError`. Arrays are made contiguous and read-only.

    Attributes:
        vertices: [V, 3] float64, metres.
        faces: [F, 3] int64, counter-clockwise seen from outside.
        uv: [V, 2] float32 or None, origin at the lower left (OBJ, trimesh).
        normals: [V, 3] float32 or None: the source's own, at rest.
        tangents: [V, 4] float32 or None: the source's own, as glTF defines them: xyz and
            handedness.
        colors: [V, 4] uint8 or None: sRGB and alpha, multiplied with the material's colour.
        materials: One or more; `face_material` [F] int64 indexes them.
        groups: Names of the source's objects or groups; `face_group` [F] int64 indexes them.
        source_index: [V] int64: which vertex of the file each vertex is. Formats that store
            texture seams per corner repeat a file vertex here.
        name: For people.
        source_up: The axis that points up in the file it came from, which `save` gives back; None
            if it came from none. The vertices here are z-up whatever it is.
    """

    def __post_init__(self) -> None:
        vertices = _array(self.vertices, np.float64, "vertices", (None, 3))
        faces = _array(self.faces, np.int64, "faces", (None, 3))
        count, face_count = len(vertices), len(faces)
        _check_geometry(self.name, vertices, faces)
        fields: dict[str, np.ndarray | None] = {"vertices": vertices, "faces": faces}
        for name, dtype, shape in (
            ("uv", np.float32, (count, 2)),
            ("normals", np.float32, (count, 3)),
            ("tangents", np.float32, (count, 4)),
            ("colors", np.uint8, (count, 4)),
            ("face_material", np.int64, (face_count,)),
            ("face_group", np.int64, (face_count,)),
            ("source_index", np.int64, (count,)),
        ):
            value = getattr(self, name)
            if value is None and name in ("face_material", "face_group"):
                value = np.zeros(face_count, np.int64)
            if value is None and name == "source_index":
                value = np.arange(count)
            fields[name] = None if value is None else _array(value, dtype, name, shape)
        for index, table in (("face_material", self.materials), ("face_group", self.groups)):
            _check_range(fields[index], len(table), index)
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @classmethod
    def load(cls, path: str | Path, *, up: UpAxis | None = None) -> Mesh:
        """Read OBJ, glTF, GLB, PLY, STL, OFF or DAE; a bad file is an `InputError` saying why.

        Args:
            path: The file; lengths are taken to be metres.
            up: The axis of the file that points up. None: y, or what a DAE file states.
        """
        from kin4d.geometry.io.mesh_file import load_mesh

        return load_mesh(path, up=up)

    def save(self, path: str | Path) -> Path:
        """Write .obj, .ply, .glb or any other format of `Clip.save`, by suffix.

        The file has the up axis of the source, y if there is none; GLB is always y-up.
        """
        from kin4d.geometry.clip import Clip
        from kin4d.geometry.io.mesh_file import WRITES, save_mesh

        if Path(path).suffix.lower() in WRITES:
            return save_mesh(self, path)
        return Clip.still(self).save(path)

    def show(self, *, port: int = 8080) -> None:
        """Show it in the browser until interrupted; needs ``kin4d[viewer]``."""
        from kin4d.geometry.clip import Clip

        Clip.still(self).show(port=port)

    @classmethod
    def concatenate(cls, meshes: Sequence[Mesh], *, name: str = "mesh") -> Mesh:
        """Join meshes in order; attributes that only some of them have are filled with defaults."""
        from kin4d.geometry.mesh_ops import concatenate_meshes

        return concatenate_meshes(meshes, name=name)

    @cached_property
    def components(self) -> np.ndarray:
        """[V] int64: connected component of each vertex.

        Two vertices are connected when they share a face or have exactly the same position, so
        texture seams and triangle soups do not fall apart. Numbered by first vertex.
        """
        from kin4d.geometry.mesh_ops import connected_components

        return connected_components(self.vertices, self.faces)

    @cached_property
    def face_areas(self) -> np.ndarray:
        """[F] float64, square metres."""
        return 0.5 * np.linalg.norm(face_normals(self.vertices, self.faces), axis=-1)

    @cached_property
    def bounds(self) -> np.ndarray:
        """[2, 3] metres: lower and upper corner of the axis-aligned box."""
        return np.stack([self.vertices.min(0), self.vertices.max(0)])

    @property
    def bbox_diagonal(self) -> float:
        """Diagonal of the bounding box, metres."""
        return float(np.linalg.norm(self.bounds[1] - self.bounds[0]))

    def replace_vertices(self, vertices: np.ndarray) -> Mesh:
        """The surface with other vertices [V, 3] (m); normals and tangents are dropped."""
        if np.shape(vertices) != self.vertices.shape:
            raise InputError(
                "replacement vertices have another shape",
                value=np.shape(vertices),
                allowed=str(self.vertices.shape),
            )
        return replace(self, vertices=vertices, normals=None, tangents=None)

    def transformed(self, matrix: np.ndarray) -> Mesh:
        """The mesh moved by a [4, 4] affine matrix; a mirroring one flips the faces' order."""
        matrix = np.asarray(matrix, np.float64)
        linear, vertices = matrix[:3, :3], self.vertices @ matrix[:3, :3].T + matrix[:3, 3]
        normals, tangents = self.normals, self.tangents
        return replace(
            self,
            vertices=vertices,
            faces=self.faces[:, ::-1] if np.linalg.det(linear) < 0 else self.faces,
            normals=None if normals is None else transform_normals(linear, normals),
            tangents=None if tangents is None else transform_tangents(linear, tangents),
        )


def face_normals(vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """[..., F, 3] unnormalised face normals (length is twice the area) of [..., V, 3] vertices."""
    a, b, c = (vertices[..., faces[:, i], :] for i in range(3))
    return np.cross(b - a, c - a)


def vertex_normals(vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """[..., V, 3] unit area-weighted vertex normals of [..., V, 3] vertices."""
    from scipy.sparse import csr_matrix

    rows = faces.T.ravel()
    columns = np.tile(np.arange(len(faces)), 3)
    incidence = csr_matrix(
        (np.ones(len(rows)), (rows, columns)), shape=(vertices.shape[-2], len(faces))
    )
    flat = face_normals(vertices, faces).reshape(-1, len(faces), 3)
    summed = np.stack([incidence @ one for one in flat]).reshape(*vertices.shape)
    return summed / np.maximum(np.linalg.norm(summed, axis=-1, keepdims=True), 1e-30)


def transform_normals(linear: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """[V, 3] unit normals of a surface moved by one [3, 3] matrix or one each [V, 3, 3]."""
    # Cofactors are the inverse transpose up to the determinant, and exist for flat scalings too.
    cofactor = np.cross(np.roll(linear, -1, -1), np.roll(linear, -2, -1), axis=-2)
    sign = np.where(np.linalg.det(linear) < 0, -1.0, 1.0)[..., None]
    rotated = sign * (cofactor @ normals[..., None].astype(np.float64))[..., 0]
    return rotated / np.maximum(np.linalg.norm(rotated, axis=-1, keepdims=True), 1e-30)


def transform_tangents(linear: np.ndarray, tangents: np.ndarray) -> np.ndarray:
    """[V, 4] tangents of a surface moved by one [3, 3] matrix or one each [V, 3, 3]."""
    rotated = (linear @ tangents[..., :3, None].astype(np.float64))[..., 0]
    rotated = rotated / np.maximum(np.linalg.norm(rotated, axis=-1, keepdims=True), 1e-30)
    handedness = tangents[..., 3] * np.where(np.linalg.det(linear) < 0, -1, 1)
    return np.concatenate([rotated, handedness[..., None]], axis=-1)


def _array(value: np.ndarray, dtype: type, name: str, shape: tuple[int | None, ...]) -> np.ndarray:
    array = np.asarray(value)
    if array.ndim != len(shape) or any(
        want not in (None, got) for want, got in zip(shape, array.shape, strict=True)
    ):
        wanted = "[" + ", ".join("n" if n is None else str(n) for n in shape) + "]"
        raise InputError(f"{name} has the wrong shape", value=array.shape, allowed=wanted)
    given = array
    with np.errstate(invalid="ignore"):
        array = np.array(given, dtype, order="C")
    if np.issubdtype(dtype, np.integer) and not np.array_equal(array, given):
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        raise InputError(f"{name} must be whole numbers", allowed=f"{low} to {high}")
    array.flags.writeable = False
    return array


def _check_range(index: np.ndarray | None, count: int, what: str) -> None:
    if index is not None and (index.min() < 0 or index.max() >= count):
        bad = int(index.min() if index.min() < 0 else index.max())
        raise InputError(
            f"{what} holds an index out of range", value=bad, allowed=f"0 to {count - 1}"
        )


def _check_geometry(name: str, vertices: np.ndarray, faces: np.ndarray) -> None:
    repair = "run `kin4d inspect FILE --repair OUT` to see and repair it"
    if len(vertices) == 0 or len(faces) == 0:
        raise InputError(
            f"mesh '{name}' is empty: {len(vertices)} vertices, {len(faces)} faces",
            hint="export it again as a triangle mesh; point clouds and curves have no surface",
        )
    bad = ~np.isfinite(vertices).all(-1)
    if bad.any():
        raise InputError(
            f"mesh '{name}' has {int(bad.sum())} vertices with NaN or infinite coordinates, "
            f"the first is vertex {int(bad.argmax())}",
            hint=repair,
        )
    if faces.min() < 0 or faces.max() >= len(vertices):
        outside = int((~in_range(faces, len(vertices))).sum())
        raise InputError(
            f"mesh '{name}' has {outside} faces that name vertices which do not exist",
            value=int(faces.min() if faces.min() < 0 else faces.max()),
            allowed=f"0 to {len(vertices) - 1}",
            hint=repair,
        )
    if degenerate(vertices, faces).all():
        raise InputError(
            f"mesh '{name}' has no area: all {len(faces)} faces are points or lines",
            hint="check the export; a surface needs at least one real triangle",
        )
