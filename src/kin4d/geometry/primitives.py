"""Simple closed meshes: boxes, cylinders, spheres. Sizes in metres, centred on the origin."""

from __future__ import annotations

import numpy as np

from kin4d.errors import InputError
from kin4d.geometry.material import SurfaceMaterial, hex_color
from kin4d.geometry.mesh import Mesh


def box(size: tuple[float, float, float], *, color: str = "#c8c8c8", name: str = "box") -> Mesh:
    """A box with edge lengths `size`."""
    import trimesh

    return _mesh(trimesh.creation.box(extents=_positive(size, "box size")), color, name)


def cylinder(
    radius: float, length: float, *, sections: int = 32, color: str = "#c8c8c8", name="cylinder"
) -> Mesh:
    """A closed cylinder along z."""
    import trimesh

    radius, length = _positive((radius, length), "cylinder radius and length")
    return _mesh(trimesh.creation.cylinder(radius, length, sections=sections), color, name)


def capsule(
    radius: float, length: float, *, sections: int = 32, color: str = "#c8c8c8", name="capsule"
) -> Mesh:
    """A capsule along z; `length` is that of its straight part."""
    import trimesh

    radius, length = _positive((radius, length), "capsule radius and length")
    solid = trimesh.creation.capsule(length, radius, count=[sections, sections])
    solid.apply_translation(-solid.bounds.mean(0))
    return _mesh(solid, color, name)


def sphere(
    radius: float, *, subdivisions: int = 3, color: str = "#c8c8c8", name: str = "sphere"
) -> Mesh:
    """An icosphere."""
    import trimesh

    (radius,) = _positive((radius,), "sphere radius")
    return _mesh(trimesh.creation.icosphere(subdivisions, radius), color, name)


def _positive(values: tuple[float, ...], what: str) -> tuple[float, ...]:
    values = tuple(float(v) for v in values)
    if not all(np.isfinite(v) and v > 0 for v in values):
        raise InputError(f"{what} must be positive", value=values, allowed="metres, > 0")
    return values


def _mesh(solid, color: str, name: str) -> Mesh:
    material = SurfaceMaterial(name=name, base_color=hex_color(color))
    return Mesh(
        vertices=solid.vertices, faces=solid.faces, materials=(material,), groups=(name,), name=name
    )
