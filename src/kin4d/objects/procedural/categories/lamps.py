"""Lamps and fans."""

from __future__ import annotations

import numpy as np

from kin4d.objects.procedural.assembly import ArticulatedObject
from kin4d.objects.procedural.builder import Builder
from kin4d.objects.procedural.hardware import stand
from kin4d.objects.procedural.palette import sample_color, shaded
from kin4d.objects.procedural.parts import Color, MeshPart


def lamp(rng: np.random.Generator) -> ArticulatedObject:
    """A desk or floor lamp with jointed arms, or with a neck of many segments."""
    make = Builder("lamp", rng, size=0.6)
    (_gooseneck if make.chance(0.3) else _jointed_lamp)(make)
    return make.build()


def _shade(make: Builder, size: float, color: Color) -> list[MeshPart]:
    """A shade hanging from the origin along -z, with a bulb."""
    shapes = make.shapes
    style = make.pick("cone", "bell", "drum", "bar")
    long = size * make.between(1.0, 1.5)
    if style == "bar":
        return [
            shapes.rounded_box(
                (-1.6 * size, -0.35 * size, -0.3 * size),
                (1.6 * size, 0.35 * size, 0),
                0.2 * size,
                color,
            )
        ]
    rows = {
        "cone": [(0.3, 0.0), (0.35, -0.2), (1.0, -1.0)],
        "bell": [(0.25, 0.0), (0.45, -0.15), (0.75, -0.4), (0.9, -0.7), (1.0, -1.0)],
        "drum": [(0.85, 0.0), (0.85, -1.0)],
    }[style]
    outer = np.array(rows) * (size, long)
    wall = 0.04 * size
    inner = outer[::-1] - (wall, 0)
    inner[-1, 1] -= wall
    # From the rim's inside up to the crown, then down the outside.
    profile = [(0, inner[-1, 1]), *inner[::-1], *outer[::-1], (0, 0)]
    parts = [shapes.lathe(profile, color)]
    bulb = shapes.sphere(0.28 * size, (250, 240, 200)).moved(z=-0.55 * long)
    stem = shapes.cylinder(0.12 * size, -0.4 * long, inner[-1, 1], shaded(color))
    return [*parts, bulb, stem]


def _jointed_lamp(make: Builder) -> None:
    shapes = make.shapes
    color = sample_color(make, "metal", "dark", "plastic", "paint")
    accent = color if make.chance(0.5) else sample_color(make, "metal", "dark")
    scale = make.pick(1.0, 1.0, make.between(1.5, 3.0))
    base, z = stand(make, color, make.between(0.08, 0.11) * scale**0.5)
    link = base
    if make.chance(0.6):
        link = make.hinge("turn", base, (0, 0, z), (0, 0, 1), (-1.5, 1.5))
        link.add(shapes.cylinder(0.025, z, z + 0.015, accent))
        z += 0.015
    if scale > 1:
        pole = make.between(0.4, 1.0)
        link.add(shapes.cylinder(0.012, z, z + pole, accent))
        z += pole
    bar = make.between(0.005, 0.01)
    lengths = [make.between(0.16, 0.32) * scale**0.5 for _ in range(make.count(1, 2))]
    lug = 0.02
    link.add(shapes.box((-0.006, -0.01, z), (0.006, 0.01, z + lug), accent))
    z += lug
    # Arms lie in alternate layers across x, so that they fold past each other.
    ranges = [(-0.5, 0.6)] if len(lengths) == 1 else [(-0.6, 0.4), (0.5, 1.9)]
    for i, length in enumerate(lengths):
        link = make.hinge("arm", link, (0, 0, z), (1, 0, 0), ranges[i], bearing=0.02)
        sides = (0.0,) if i == 1 else (-0.014, 0.014)
        for x in sides:
            link.add(shapes.box((x - bar / 2, -bar, z), (x + bar / 2, bar, z + length), accent))
        link.add(shapes.cylinder(0.011, -0.02, 0.02, color).rotated("y", np.pi / 2).moved(0, 0, z))
        if make.chance(0.4):
            spring = shapes.cylinder(0.006, z + 0.1 * length, z + 0.5 * length, shaded(accent))
            link.add(spring.moved(sides[0], 1.5 * bar + 0.004))
        z += length
    size = make.between(0.05, 0.085) * scale**0.4
    bend, nod = make.between(0.2, 0.7), 0.0 if len(lengths) == 2 else make.between(1.3, 1.6)
    # Bent further than this, a wide shade would touch its own arm.
    limits = (nod - bend, min(nod + bend, 1.95))
    head = make.hinge("head", link, (0, 0, z), (1, 0, 0), limits, bearing=0.025)
    head.add(shapes.cylinder(0.009, -0.02, 0.02, color).rotated("y", np.pi / 2).moved(0, 0, z))
    neck = 0.03 + 0.3 * size
    head.add(shapes.box((-0.005, -0.005, z), (0.005, 0.005, z + neck), accent))
    # Drawn looking up at the end of straight arms; the joints bend it forwards and down.
    head.add(p.rotated("x", np.pi).moved(0, 0, z + neck) for p in _shade(make, size, color))


def _gooseneck(make: Builder) -> None:
    shapes = make.shapes
    color, accent = (
        sample_color(make, "plastic", "dark", "metal"),
        sample_color(make, "metal", "dark"),
    )
    base, z = stand(make, color, make.between(0.07, 0.1))
    count = make.count(4, 11)
    length, radius = make.between(0.25, 0.45) / count, make.between(0.006, 0.011)
    link = base
    link.add(shapes.cylinder(1.3 * radius, z - 0.005, z + 0.012, accent))
    z += 0.012
    bend = min(0.35, 2.0 / count)
    for i in range(count):
        axis = (1, 0, 0) if i % 2 == 0 or make.chance(0.5) else (0, 1, 0)
        link = make.hinge(
            "segment", link, (0, 0, z), axis, (-0.15 * bend, bend), bearing=1.5 * radius
        )
        link.add(
            shapes.cylinder(radius, z, z + length, accent),
            shapes.sphere(radius, shaded(accent)).moved(z=z),
        )
        z += length
    size = make.between(0.04, 0.07)
    link.add(p.rotated("x", np.pi).moved(0, 0, z) for p in _shade(make, size, color))
