"""COLLADA (.dae) meshes.

Scene transforms and the file's unit are applied here. Its up axis is stated, and applied by
`Mesh.load`, except to link meshes: robot descriptions are drawn in the axes of the numbers in the
file (as RViz, Gazebo and Pinocchio do).
"""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

from kin4d.errors import InputError
from kin4d.geometry.io.asset_paths import optional_path
from kin4d.geometry.io.safe_xml import parse_xml
from kin4d.geometry.material import SurfaceMaterial, linear_color
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.mesh_ops import merge_vertices
from kin4d.reading import reading

_MOST_NODES = 100_000


def load_dae(path: str | Path) -> Mesh:
    """Read a .dae file into one mesh in metres and its own axes, with its materials."""
    with reading(path, "COLLADA file"):
        return _load(Path(path))


def _load(path: Path) -> Mesh:
    root = parse_xml(path)
    _drop_broken_textures(root)
    _check_instances(root)
    import trimesh

    scene = trimesh.load_scene(
        io.BytesIO(etree.tostring(root)),
        file_type="dae",
        resolver=_Beside(path),  # pyright: ignore[reportArgumentType]
        process=False,
    )
    unit = trimesh.units.unit_conversion(scene.units or "meters", "meters")
    scale = np.diag([unit, unit, unit, 1.0])
    pieces = []
    for node in scene.graph.nodes_geometry:
        transform, key = scene.graph[node]
        solid = scene.geometry[key]
        if isinstance(solid, trimesh.Trimesh) and solid.area > 0:
            pieces.append(_piece(solid, str(key)).transformed(scale @ np.asarray(transform)))
    if not pieces:
        raise InputError(f"{path} holds no triangles", allowed="a mesh with at least one face")
    mesh = pieces[0] if len(pieces) == 1 else Mesh.concatenate(pieces, name=path.stem)
    return replace(mesh, source_up="z" if root.findtext(".//{*}up_axis") == "Z_UP" else "y")


class _Beside:
    """Hands the reader the images a file names, if they lie where it may point."""

    def __init__(self, source: Path) -> None:
        self.source = source

    def get(self, name: str) -> bytes:
        path = optional_path(self.source, "texture", name)
        if path is None:
            raise FileNotFoundError(name)
        return path.read_bytes()


def _check_instances(root: etree._Element) -> None:
    """Refuse nodes that instantiate each other without end, or double at every level."""
    named = {node.get("id"): node for node in root.iterfind(".//{*}node")}
    sizes: dict[str | None, int] = {}

    def size(node: etree._Element) -> int:
        name = node.get("id")
        if name in sizes:
            if sizes[name] < 0:
                raise InputError("a node holds an instance of itself", value=name)
            return sizes[name]
        sizes[name] = -1
        total = 1 + sum(size(child) for child in node.iterfind("{*}node"))
        for instance in node.iterfind("{*}instance_node"):
            target = named.get((instance.get("url") or "").removeprefix("#"))
            total += 0 if target is None else size(target)
        if total > _MOST_NODES:
            raise InputError("nodes stand for too many others", allowed=f"{_MOST_NODES} in all")
        sizes.pop(name)
        if name is not None:
            sizes[name] = total
        return total

    for scene in root.iterfind(".//{*}visual_scene"):
        for node in scene.iterfind("{*}node"):
            size(node)


def _drop_broken_textures(root: etree._Element) -> None:
    """Paint plain what has a texture that leads nowhere: the reader would drop its whole mesh."""
    for effect in root.iterfind(".//{*}effect"):
        params = {param.get("sid"): param for param in effect.iterfind(".//{*}newparam")}
        for sid, param in params.items():
            if all(source.text in params for source in param.iterfind(".//{*}source")):
                continue
            param.getparent().remove(param)
            for texture in effect.findall(f".//{{*}}texture[@texture='{sid}']"):
                texture.tag = texture.tag.replace("texture", "color")
                texture.text = "0.6 0.6 0.6 1"


def _piece(solid: Any, name: str) -> Mesh:
    """One geometry; equal corners (place, normal, texture point) become one vertex again."""
    uv = getattr(solid.visual, "uv", None)
    uv = np.asarray(uv) if uv is not None and len(uv) == len(solid.vertices) else None
    normals = np.asarray(solid.vertex_normals)
    # Normals that only repeat the faces' own say nothing, and would keep every corner apart.
    flat = np.abs(normals[solid.faces] - solid.face_normals[:, None]).max() < 1e-2
    columns = [np.asarray(solid.vertices)]
    columns += [] if flat else [normals]
    columns += [] if uv is None else [uv]
    rows = np.concatenate(columns, 1)
    first, index = merge_vertices(rows)
    rows = rows[first]
    return Mesh(
        vertices=rows[:, :3],
        normals=None if flat else rows[:, 3:6],
        uv=None if uv is None else rows[:, -2:],
        faces=index[np.asarray(solid.faces)],
        materials=(_material(solid.visual),),
        groups=(name,),
        name=name,
    )


def _material(visual: Any) -> SurfaceMaterial:
    source = getattr(visual, "material", None)
    if source is None:
        return SurfaceMaterial()
    factor = getattr(source, "baseColorFactor", None)
    rgba = np.ones(4) if factor is None else np.asarray(factor, np.float64) / 255.0
    image = getattr(source, "baseColorTexture", None)
    return SurfaceMaterial(
        name=str(getattr(source, "name", None) or "material"),
        base_color=linear_color(rgba),
        textures={} if image is None else {"base_color": image},
    )
