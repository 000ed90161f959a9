"""Mesh files in and out: every way a file can be bad ends in an `InputError` that says so."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import numpy as np

from kin4d.errors import InputError, OutputError
from kin4d.files import existing_file
from kin4d.geometry.material import SurfaceMaterial
from kin4d.geometry.mesh import Mesh, RawMesh
from kin4d.geometry.mesh_ops import fields_of, join_meshes
from kin4d.geometry.up_axis import DEFAULT_UP, UpAxis, from_z_up, to_z_up
from kin4d.reading import reading

READS = (".obj", ".gltf", ".glb", ".ply", ".stl", ".off", ".dae")
WRITES = (".obj", ".ply")


def load_mesh(path: str | Path, *, up: UpAxis | None = None) -> Mesh:
    """Read a mesh file and check it; what is wrong is an `InputError` saying why.

    Vertex order is the file's. Polygons are triangulated, scenes flattened with their transforms,
    each object or group a part. Lengths are taken to be metres, as `kin4d inspect` will question.
    A texture or material file that cannot be read is warned about and left out. `up` is the axis
    of the file that points up; see `DEFAULT_UP`.
    """
    return Mesh(**fields_of(read_raw(path, up=up)))


def read_raw(path: str | Path, *, up: UpAxis | None = None) -> RawMesh:
    """Read a mesh file without checking its geometry, for inspection and repair."""
    raw = _read(path)
    up = up or raw.source_up or DEFAULT_UP
    normals, tangents = raw.normals, raw.tangents
    if normals is not None:
        normals = to_z_up(normals, up)
    if tangents is not None:
        tangents = np.concatenate([to_z_up(tangents[:, :3], up), tangents[:, 3:]], axis=1)
    vertices = to_z_up(raw.vertices, up)
    return replace(raw, vertices=vertices, normals=normals, tangents=tangents, source_up=up)


def _read(path: str | Path) -> RawMesh:
    """The file's own numbers; `source_up` is set if the file states it."""
    path = existing_file(path)
    suffix = path.suffix.lower()
    if suffix not in READS:
        raise InputError(f"cannot read {path}", value=suffix, allowed=", ".join(READS))
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty", hint="export or download it again")
    with reading(path, f"{suffix[1:].upper()} file", hint="export or download it again"):
        if suffix == ".obj":
            from kin4d.geometry.io.obj import read_obj

            return read_obj(path)
        if suffix in (".gltf", ".glb"):
            from kin4d.geometry.io.gltf import read_gltf

            return read_gltf(path)
        if suffix == ".ply":
            from kin4d.geometry.io.ply import read_ply

            return read_ply(path)
        if suffix == ".dae":
            from kin4d.geometry.io.dae import load_dae

            return load_dae(path)
        return _read_with_trimesh(path, suffix)


def save_mesh(mesh: Mesh, path: str | Path) -> Path:
    """Write a mesh, atomically, with its source's axis up. `Mesh.save` writes GLB and more.

    Args:
        mesh: The surface.
        path: .obj (with .mtl and textures beside it) or .ply (no materials); both exact.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    up = mesh.source_up or DEFAULT_UP
    normals = None if mesh.normals is None else from_z_up(mesh.normals, up)
    mesh = replace(mesh, vertices=from_z_up(mesh.vertices, up), normals=normals)
    if suffix == ".obj":
        from kin4d.geometry.io.obj import write_obj

        write_obj(mesh, path)
    elif suffix == ".ply":
        from kin4d.geometry.io.ply import write_ply

        write_ply(mesh, path)
    else:
        raise OutputError(f"cannot write {path}", value=suffix, allowed=", ".join(WRITES))
    return path


def _read_with_trimesh(path: Path, suffix: str) -> RawMesh:
    """STL and OFF: tables of triangles without a look."""
    import trimesh

    data = path.read_bytes()
    if suffix == ".stl" and not data.lstrip().startswith(b"solid"):
        _check_binary_stl(path, data)
    # A stream without a name: it has no folder in which to look for other files.
    scene = trimesh.load_scene(io.BytesIO(data), file_type=suffix[1:], process=False)
    solids = {n: s for n, s in scene.geometry.items() if isinstance(s, trimesh.Trimesh)}
    if not solids:
        raise InputError(
            f"{path} holds no triangles",
            hint="export it as a triangle mesh; point clouds and curves have no surface",
        )
    material = SurfaceMaterial()
    meshes = [
        RawMesh(
            vertices=np.asarray(solid.vertices, np.float64).reshape(-1, 3),
            faces=np.asarray(solid.faces, np.int64).reshape(-1, 3),
            materials=(material,),
            groups=("mesh" if len(solids) == 1 else str(name),),
        )
        for name, solid in solids.items()
    ]
    return join_meshes(meshes, name=path.stem)


def _check_binary_stl(path: Path, data: bytes) -> None:
    """A binary STL is a header of 84 bytes that ends with a count, then 50 bytes a triangle."""
    wanted = 84 + 50 * int.from_bytes(data[80:84], "little")
    if len(data) < wanted:
        raise InputError(
            f"{path} is truncated or not STL: it needs {wanted} bytes and has {len(data)}",
            hint="export or download it again",
        )
