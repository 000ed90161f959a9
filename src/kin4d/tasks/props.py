"""Props: loose objects, rendered as simple parts and collided as boxes and cylinders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kin4d.geometry.material import SurfaceMaterial
from kin4d.geometry.mesh import Mesh
from kin4d.objects.procedural.parts import Color, MeshPart, PartShapes
from kin4d.objects.procedural.profiles import unit_circle

COLORS: dict[str, Color] = {
    "red": (200, 44, 40),
    "orange": (232, 122, 34),
    "yellow": (238, 196, 44),
    "green": (58, 150, 74),
    "teal": (38, 150, 152),
    "blue": (44, 92, 196),
    "purple": (122, 66, 164),
    "pink": (230, 130, 160),
    "white": (236, 234, 228),
    "black": (44, 44, 50),
}
_SHAPES = PartShapes(sides=16)


@dataclass(frozen=True)
class Geom:
    """A shape to collide with, in its body's frame.

    Attributes:
        kind: "box" (half sizes x, y, z) or "cylinder" (radius, half length; along z).
        size: Metres.
        position: Its centre, m.
        slippery: Slides easily, so that a finger that pushes it does not stick.
    """

    kind: str
    size: tuple[float, ...]
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    slippery: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class Prop:
    """A loose object, standing upright; its frame is at the middle of its height.

    Attributes:
        kind: What it is.
        color: Name of its main colour.
        mesh: Its surface.
        geoms: What it collides as.
        half: Half its height, m.
        grip: Width to grasp it by, m: along x for boxes.
        depth: The other horizontal extent, m.
        round: Whether it can be grasped from any side.
        mass: kg.
    """

    kind: str
    color: str
    mesh: Mesh
    geoms: tuple[Geom, ...]
    half: float
    grip: float
    depth: float
    round: bool
    mass: float

    @property
    def phrase(self) -> str:
        """For instructions: "the red mug"."""
        return f"the {self.color} {self.kind}"


def prop_material(rng: np.random.Generator, *, besides: Sequence[str] = ()) -> tuple[str, Color]:
    """The name of a colour, not one of `besides`, and the colour itself, a little varied."""
    name = str(rng.choice([name for name in COLORS if name not in besides]))
    shade = rng.uniform(0.86, 1.1)
    red, green, blue = (int(min(255, max(0, c * shade))) for c in COLORS[name])
    return name, (red, green, blue)


def mesh_of(parts: Sequence[MeshPart], name: str) -> Mesh:
    """One mesh of parts, coloured by vertex."""
    counts = [len(part.vertices) for part in parts]
    starts = np.cumsum([0, *counts[:-1]])
    colors = np.repeat([(*part.color, 255) for part in parts], counts, axis=0).astype(np.uint8)
    return Mesh(
        vertices=np.concatenate([part.vertices for part in parts]),
        faces=np.concatenate([p.faces + start for p, start in zip(parts, starts, strict=True)]),
        colors=colors,
        materials=(WHITE,),
        name=name,
    )


WHITE = SurfaceMaterial(name="vertex colours", base_color=(1.0, 1.0, 1.0, 1.0), roughness=0.6)


def block(
    rng: np.random.Generator, *, besides: Sequence[str] = (), cube: bool = False, size: float = 0.0
) -> Prop:
    """A cube or brick, plain, banded or with a lid of another colour."""
    name, color = prop_material(rng, besides=besides)
    x = size or rng.uniform(0.042, 0.058)
    y = x if cube else rng.uniform(0.042, 0.075)
    z = x if cube else rng.uniform(0.045, 0.085)
    parts = [_SHAPES.box((-x / 2, -y / 2, -z / 2), (x / 2, y / 2, z / 2), color)]
    _, other = prop_material(rng, besides=(name,))
    style, e = rng.integers(4), 0.0006
    if style == 1:
        low, high = sorted(rng.uniform(-0.4, 0.4, 2) * z)
        parts.append(
            _SHAPES.box((-x / 2 - e, -y / 2 - e, low), (x / 2 + e, y / 2 + e, high + 0.008), other)
        )
    elif style == 2:
        w = 0.25
        parts.append(_SHAPES.box((-w * x, -w * y, -z / 2 - e), (w * x, w * y, z / 2 + e), other))
    elif style == 3:
        parts.append(
            _SHAPES.box(
                (-x / 2 - e, -0.12 * y, -z / 2 - e), (x / 2 + e, 0.12 * y, z / 2 + e), other
            )
        )
    return Prop(
        kind="cube" if cube else "box",
        color=name,
        mesh=mesh_of(parts, "block"),
        geoms=(Geom("box", (x / 2, y / 2, z / 2)),),
        half=z / 2,
        grip=x,
        depth=y,
        round=False,
        mass=rng.uniform(0.05, 0.12),
    )


def can(rng: np.random.Generator, *, besides: Sequence[str] = ()) -> Prop:
    """A tin with a label."""
    name, color = prop_material(rng, besides=besides)
    radius, height = rng.uniform(0.024, 0.032), rng.uniform(0.06, 0.105)
    rim = 0.1 * height
    metal = (176, 180, 186)
    parts = [
        _SHAPES.cylinder(0.97 * radius, -height / 2, height / 2, metal),
        _SHAPES.cylinder(radius, -height / 2 + rim, height / 2 - rim, color),
    ]
    if rng.random() < 0.5:
        _, other = prop_material(rng, besides=(name,))
        band = rng.uniform(0.05, 0.12) * height
        parts.append(_SHAPES.cylinder(1.015 * radius, -band, band, other))
    return _round("can", name, parts, radius, height, rng)


def mug(rng: np.random.Generator, *, besides: Sequence[str] = ()) -> Prop:
    """A mug; its handle points along +x and is only seen."""
    name, color = prop_material(rng, besides=besides)
    radius, height = rng.uniform(0.028, 0.034), rng.uniform(0.06, 0.085)
    body = _SHAPES.tub(radius * unit_circle(16), -height / 2, height / 2, 0.004, color)
    angle = np.linspace(-np.pi / 2, np.pi / 2, 7)
    loop = 0.3 * height
    path = np.stack(
        [radius + 0.8 * loop * np.cos(angle) - 0.003, 0 * angle, loop * np.sin(angle)], -1
    )
    handle = _SHAPES.tube(path, 0.005, (0, 1, 0), color)
    return _round("mug", name, [body, handle], radius, height, rng)


def bottle_prop(rng: np.random.Generator, *, besides: Sequence[str] = ()) -> Prop:
    """A bottle with a cap."""
    name, color = prop_material(rng, besides=besides)
    radius, height = rng.uniform(0.024, 0.03), rng.uniform(0.12, 0.16)
    neck, low = 0.4 * radius, -height / 2
    _, cap = prop_material(rng, besides=(name,))
    profile = [(0, low), (radius, low), (radius, low + 0.58 * height)]
    profile += [(neck, low + 0.8 * height), (neck, low + 0.9 * height), (0, low + 0.9 * height)]
    parts = [
        _SHAPES.lathe(profile, color),
        _SHAPES.cylinder(1.25 * neck, low + 0.88 * height, height / 2, cap),
    ]
    label = rng.uniform(0.15, 0.25) * height
    parts.append(
        _SHAPES.lathe(
            [(1.01 * radius, low + 0.3 * height - label / 2),
             (1.01 * radius, low + 0.3 * height + label / 2)],
            cap,
        )
    )  # fmt: skip
    prop = _round("bottle", name, parts, radius, height, rng)
    trunk, rest = 0.68 * height, 0.32 * height
    geoms = (
        Geom("cylinder", (radius, trunk / 2), (0, 0, low + trunk / 2)),
        Geom("cylinder", (1.25 * neck, rest / 2), (0, 0, height / 2 - rest / 2)),
    )
    return Prop(**{**vars(prop), "geoms": geoms})


def nut(rng: np.random.Generator, *, besides: Sequence[str] = ()) -> Prop:
    """A short six-sided or round pillar."""
    name, color = prop_material(rng, besides=besides)
    radius, height = rng.uniform(0.024, 0.031), rng.uniform(0.045, 0.08)
    _, top = prop_material(rng, besides=(name,))
    parts = [
        _SHAPES.cylinder(radius, -height / 2, height / 2, color),
        _SHAPES.cylinder(0.55 * radius, height / 2 - 0.004, height / 2 + 0.0006, top),
    ]
    return _round("cylinder", name, parts, radius, height, rng)


def _round(
    kind: str,
    color: str,
    parts: list[MeshPart],
    radius: float,
    height: float,
    rng: np.random.Generator,
) -> Prop:
    return Prop(
        kind=kind,
        color=color,
        mesh=mesh_of(parts, kind),
        geoms=(Geom("cylinder", (radius, height / 2)),),
        half=height / 2,
        grip=2 * radius,
        depth=2 * radius,
        round=True,
        mass=rng.uniform(0.05, 0.12),
    )


GRASPABLE = (block, can, mug, bottle_prop, nut)
SQUAT = (block, can, mug, nut)


def any_prop(
    rng: np.random.Generator, makers: Sequence = GRASPABLE, *, besides: Sequence[str] = ()
) -> Prop:
    """A prop of any of the kinds."""
    return makers[int(rng.integers(len(makers)))](rng, besides=besides)
