"""Simple closed meshes: boxes, cylinders, spheres. Sizes in metres, centred on the origin."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from kin4d.errors import InputError
from kin4d.geometry.material import Material, srgb_to_linear
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


def hex_color(color: str) -> tuple[float, float, float, float]:
    """``"#rrggbb"`` (sRGB) to linear RGBA factors, as glTF wants them."""
    if not re.fullmatch("#[0-9a-fA-F]{6}", color):
        raise InputError("not a colour", value=color, allowed="#rrggbb")
    return linear_color([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])


def linear_color(rgba: Sequence[float] | np.ndarray) -> tuple[float, float, float, float]:
    """sRGB (or sRGB and alpha) in [0, 1] to linear RGBA factors."""
    values = [float(min(max(value, 0.0), 1.0)) for value in rgba]
    red, green, blue = (srgb_to_linear(value) for value in values[:3])
    return (red, green, blue, values[3] if len(values) > 3 else 1.0)


def _positive(values: tuple[float, ...], what: str) -> tuple[float, ...]:
    if not all(np.isfinite(v) and v > 0 for v in values):
        raise InputError(f"{what} must be positive", value=tuple(values), allowed="metres, > 0")
    return tuple(float(v) for v in values)


def _mesh(solid, color: str, name: str) -> Mesh:
    material = Material(name=name, base_color=hex_color(color))
    return Mesh(
        vertices=solid.vertices, faces=solid.faces, materials=(material,), parts=(name,), name=name
    )
