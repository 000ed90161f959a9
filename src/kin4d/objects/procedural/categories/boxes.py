"""Boxes with lids or flaps, and coolers."""

from __future__ import annotations

import numpy as np

from kin4d.objects.procedural.assembly import ArticulatedObject
from kin4d.objects.procedural.builder import Builder, LinkBuilder
from kin4d.objects.procedural.hardware import bail
from kin4d.objects.procedural.palette import sample_color, shaded
from kin4d.objects.procedural.panels import tray
from kin4d.objects.procedural.parts import Color, MeshPart
from kin4d.objects.procedural.profiles import ellipse, rounded_rectangle


def storage_box(rng: np.random.Generator) -> ArticulatedObject:
    """Cardboard with flaps, a case with a hinged lid, or a tin whose lid lifts off."""
    make = Builder("box", rng, size=0.5)
    width, depth, height = (
        make.between(0.15, 0.6),
        make.between(0.12, 0.45),
        make.between(0.06, 0.4),
    )
    kind = make.pick("flaps", "lid", "lid", "lid", "lift", "double")
    if kind == "flaps":
        _cardboard(make, width, depth, height)
        return make.build()
    shapes, color = make.shapes, sample_color(make, "wood", "plastic", "paint", "metal")
    wall = make.between(0.004, 0.015)
    rounded = make.chance(0.4)
    radius = make.between(0.05, 0.3) * min(width, depth)
    outline = rounded_rectangle(width, depth, radius, shapes.sides)
    if rounded:
        base = make.base(shapes.tub(outline, 0, height, wall, color))
    else:
        low, high = (-width / 2, -depth / 2, 0), (width / 2, depth / 2, height)
        base = make.base(tray(make, low, high, wall, color))
        for x in np.linspace(-0.5, 0.5, make.count(2, 4))[1:-1] * width if make.chance(0.5) else ():
            part = shapes.box(
                (x - 0.003, low[1] + wall, wall), (x + 0.003, high[1] - wall, 0.8 * height)
            )
            base.add(part)
    gap, lid_color = (
        make.pick(0.0, 0.0, 0.002),
        color if make.chance(0.6) else sample_color(make, "wood", "plastic", "paint"),
    )
    z, thick = height + gap, make.between(0.006, 0.02)
    deep = make.between(0.2, 0.5) * height if make.chance(0.5) else 0.0
    lid_part = _lid_shape(
        make, outline if rounded else None, (width, depth), thick, deep, lid_color
    )
    lid_parts = [part.moved(z=z) for part in lid_part]
    if kind == "lift":
        make.slider("lid", base, (0, 0, 1), (0.0, make.between(0.5, 1.2) * height)).add(lid_parts)
    elif kind == "double" and not rounded and not deep:
        for side in (-1, 1):
            x0, x1 = sorted((0.0, side * width / 2))
            half = shapes.box((x0, -depth / 2, z), (x1, depth / 2, z + thick), lid_color)
            limits = (0.0, make.between(1.2, 2.4))
            make.hinge("lid", base, (side * width / 2, 0, z), (0, side, 0), limits).add(half)
    else:
        limits = (0.0, make.between(1.2, 1.9 if deep else 2.6))
        lid = make.hinge("lid", base, (0, depth / 2, z), (-1, 0, 0), limits).add(lid_parts)
        if make.chance(0.6):
            size = make.between(0.02, 0.05)
            clasp = shapes.box(
                (-size / 2, -depth / 2 - 0.006, z),
                (size / 2, -depth / 2, z + 0.6 * (thick + deep)),
                sample_color(make, "metal"),
            )
            lid.add(clasp)
        if make.chance(0.3):
            _carry_handle(make, base, (0, -depth / 2, 0.6 * height), 0.25 * width)
    return make.build()


def _lid_shape(
    make: Builder,
    outline: np.ndarray | None,
    size: tuple[float, float],
    thick: float,
    deep: float,
    color: Color,
) -> list[MeshPart]:
    """A flat or hollow lid standing on z = 0, with the box's own outline."""
    shapes, (width, depth) = make.shapes, size
    if deep <= 0:
        if outline is not None:
            return [shapes.prism(outline, 0, thick, color, bevel=0.3 * thick)]
        return [shapes.box((-width / 2, -depth / 2, 0), (width / 2, depth / 2, thick), color)]
    wall = min(0.008, thick)
    if outline is not None:
        part = shapes.tub(outline, 0, deep + thick, wall, color)
    else:
        corner = (-width / 2, -depth / 2, 0), (width / 2, depth / 2, deep + thick)
        return [
            p.rotated("x", np.pi).moved(z=deep + thick) for p in tray(make, *corner, wall, color)
        ]
    return [part.rotated("x", np.pi).moved(z=deep + thick)]


def _carry_handle(
    make: Builder, base: LinkBuilder, at: tuple[float, float, float], half: float
) -> None:
    """A bail on the front face that swings up and out."""
    x, y, z = at
    thick = 0.004
    color = sample_color(make, "metal", "dark")
    for side in (-1, 1):
        lug = make.shapes.box((-0.006, -0.016, -0.008), (0.006, 0, 0.008), color)
        base.add(lug.moved(x + side * (half + 0.011), y, z))
    loop = bail(make, half, make.between(0.3, 0.6) * half, thick, color, square=True).rotated(
        "x", np.pi
    )
    link = make.hinge("handle", base, (x, y - 0.009, z), (-1, 0, 0), (0.0, make.between(1.2, 2.6)))
    link.add(loop.moved(x, y - 0.009, z))


def _cardboard(make: Builder, width: float, depth: float, height: float) -> None:
    """Two flaps that close the top and, sometimes, two more that stay up."""
    wall, color = make.between(0.002, 0.005), sample_color(make, "wood")
    low, high = (-width / 2, -depth / 2, 0), (width / 2, depth / 2, height)
    base = make.base(tray(make, low, high, wall, color))
    shapes = make.shapes
    length = width / 2 * make.between(0.7, 1.0)
    for side in (-1, 1):
        x0, x1 = sorted((side * width / 2, side * (width / 2 - length)))
        flap = shapes.box((x0, low[1], height), (x1, high[1], height + wall), shaded(color, 0.95))
        limits = (0.0, make.between(2.2, np.pi))
        make.hinge("flap", base, (side * width / 2, 0, height), (0, side, 0), limits).add(flap)
    for side in (-1, 1) if make.chance(0.6) else ():
        y0, y1 = sorted((side * depth / 2, side * (depth / 2 + wall)))
        flap = shapes.box(
            (low[0], y0, height), (high[0], y1, height + 0.45 * width), shaded(color, 0.95)
        )
        limits = (0.0, make.between(1.2, np.pi / 2))
        make.hinge("flap", base, (0, side * depth / 2, height), (-side, 0, 0), limits).add(flap)


def cooler(rng: np.random.Generator) -> ArticulatedObject:
    """An ice chest: thick rounded walls, a lid hinged behind and a bail over it."""
    make = Builder("cooler", rng, size=0.6)
    shapes = make.shapes
    width, depth, height = (
        make.between(0.35, 0.7),
        make.between(0.25, 0.42),
        make.between(0.25, 0.42),
    )
    color, lid_color = sample_color(make, "plastic"), sample_color(make, "plastic", "paint")
    outline = rounded_rectangle(width, depth, make.between(0.02, 0.07), shapes.sides)
    wall = make.between(0.02, 0.04)
    base = make.base(shapes.tub(outline, 0, height, wall, color, taper=make.between(1.0, 1.08)))
    taper = base.parts[0].vertices[:, 0].max() / (width / 2)
    y, thick = depth / 2 * taper, make.between(0.03, 0.07)
    gap = make.pick(0.0, 0.002)
    lid = make.hinge("lid", base, (0, y, height + gap), (-1, 0, 0), (0.0, make.between(1.2, 1.8)))
    lid.add(
        shapes.prism(
            outline * taper, height + gap, height + gap + thick, lid_color, bevel=0.3 * thick
        )
    )
    if make.chance(0.6):
        dark = sample_color(make, "dark", "paint")
        reach = width / 2 * taper + 0.016
        for side in (-1, 1):
            x0, x1 = sorted((side * 0.45 * width, side * (reach - 0.008)))
            base.add(shapes.box((x0, -0.02, 0.7 * height), (x1, 0.02, 0.7 * height + 0.04), dark))
        # Lies forward, below the lid's edge, so that lid and handle never meet.
        reach_down = make.between(0.2, 0.6)
        rise, z = (y + 0.02) / np.cos(reach_down), 0.7 * height + 0.02
        loop = make.hinge("handle", base, (0, 0, z), (1, 0, 0), (0.0, reach_down))
        loop.add(
            bail(make, reach, rise, 0.008, dark, square=True).rotated("x", np.pi / 2).moved(z=z)
        )
    else:
        for side in (-1, 1):
            grip = shapes.box((0, -0.06, 0), (0.025, 0.06, 0.03), shaded(color))
            grip = (grip if side > 0 else grip.mirrored(0)).moved(
                side * width / 2 * 0.99, 0, 0.75 * height
            )
            base.add(grip)
    if make.chance(0.5):
        tap = ellipse(0.012, 0.012, 8)
        base.add(shapes.prism(tap, 0, 0.02, lid_color).facing_front().moved(0, -depth / 2, 0.05))
    return make.build()
