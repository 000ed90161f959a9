"""How the bodies of a compiled MuJoCo model look: geoms to meshes, materials and textures."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from kin4d.geometry.material import SurfaceMaterial, linear_color
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.mesh_ops import merge_vertices
from kin4d.geometry.primitives import box, capsule, cylinder, sphere

_SPHERE, _CAPSULE, _ELLIPSOID, _CYLINDER, _BOX, _MESH = range(2, 8)
# Geom groups that MuJoCo's own viewer shows; by convention collision shapes are in the others.
_SHOWN = 2
_RGB_ROLE = 1


def body_meshes(model: Any, names: list[str], poses: np.ndarray) -> list[Mesh | None]:
    """Each body's visible surface in its own frame; `poses` [G, 4, 4] are the geoms' in theirs."""
    shown = [g for g in range(model.ngeom) if model.geom_group[g] <= _SHOWN]
    materials: dict[int, SurfaceMaterial] = {}
    pieces: list[list[Mesh]] = [[] for _ in names]
    for geom in shown or range(model.ngeom):
        surface = _shape(model, geom)
        if surface is not None:
            painted = replace(
                surface, materials=(_material(model, geom, materials),), source_up="z"
            )
            pieces[model.geom_bodyid[geom]].append(painted.transformed(poses[geom]))
    return [
        Mesh.concatenate(own, name=name) if own else None
        for own, name in zip(pieces, names, strict=True)
    ]


def _shape(model: Any, geom: int) -> Mesh | None:
    """A geom's surface in its own frame; None for planes and other shapes without an outline."""
    kind, size = int(model.geom_type[geom]), [float(s) for s in model.geom_size[geom]]
    if kind == _MESH:
        return _mesh(model, int(model.geom_dataid[geom]))
    if kind == _SPHERE:
        return sphere(size[0])
    if kind == _ELLIPSOID:
        return sphere(1.0).transformed(np.diag([*size, 1.0]))
    if kind == _CAPSULE:
        return capsule(size[0], 2 * size[1])
    if kind == _CYLINDER:
        return cylinder(size[0], 2 * size[1])
    if kind == _BOX:
        return box((2 * size[0], 2 * size[1], 2 * size[2]))
    return None


def _mesh(model: Any, mesh: int) -> Mesh:
    vertices = model.mesh_vert[model.mesh_vertadr[mesh] :][: model.mesh_vertnum[mesh]]
    rows = slice(model.mesh_faceadr[mesh], model.mesh_faceadr[mesh] + model.mesh_facenum[mesh])
    faces = model.mesh_face[rows]
    name = model.mesh(mesh).name or "mesh"
    if model.mesh_texcoordadr[mesh] < 0:
        return Mesh(vertices=vertices, faces=faces, name=name, groups=(name,))
    uv = model.mesh_texcoord[model.mesh_texcoordadr[mesh] :][: model.mesh_texcoordnum[mesh]]
    corners = np.stack([faces.ravel(), model.mesh_facetexcoord[rows].ravel()], 1)
    first, index = merge_vertices(corners)
    vertex, texture = corners[first].T
    # MuJoCo counts v downwards from the top of the image.
    return Mesh(
        vertices=vertices[vertex],
        uv=uv[texture] * (1, -1) + (0, 1),
        faces=index.reshape(-1, 3),
        name=name,
        groups=(name,),
    )


def _material(model: Any, geom: int, known: dict[int, SurfaceMaterial]) -> SurfaceMaterial:
    index = int(model.geom_matid[geom])
    if index < 0:
        return SurfaceMaterial(name="geom", base_color=linear_color(model.geom_rgba[geom]))
    if index not in known:
        texture = int(model.mat_texid[index][_RGB_ROLE])
        known[index] = SurfaceMaterial(
            name=model.mat(index).name or "material",
            base_color=linear_color(model.mat_rgba[index]),
            textures={} if texture < 0 else {"base_color": _image(model, texture)},
        )
    return known[index]


def _image(model: Any, texture: int) -> Any:
    from PIL import Image

    shape = (model.tex_height[texture], model.tex_width[texture], model.tex_nchannel[texture])
    start = model.tex_adr[texture]
    pixels = model.tex_data[start : start + int(np.prod(shape))].reshape(shape)
    return Image.fromarray(np.array(pixels[..., 0] if shape[2] == 1 else pixels, np.uint8))
