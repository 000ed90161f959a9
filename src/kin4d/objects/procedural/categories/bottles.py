"""Bottles and their caps."""

from __future__ import annotations

import numpy as np

from kin4d.objects.procedural.assembly import ArticulatedObject
from kin4d.objects.procedural.builder import Builder, LinkBuilder
from kin4d.objects.procedural.palette import sample_color, shaded
from kin4d.objects.procedural.parts import Color, MeshPart


def bottle(rng: np.random.Generator) -> ArticulatedObject:
    """A bottle whose cap screws, lifts, flips open or pumps."""
    make = Builder("bottle", rng, size=0.3)
    shapes = make.shapes
    radius, height = make.between(0.025, 0.06), make.between(0.12, 0.32)
    neck, shoulder = radius * make.between(0.3, 0.6), make.between(0.55, 0.85)
    color = sample_color(make, "plastic", "glass", "ceramic", "metal")
    t = np.linspace(0, 1, 5)
    curve = neck + (radius - neck) * 0.5 * (1 + np.cos(np.pi * t))
    profile = [
        (0, 0),
        (0.92 * radius, 0),
        (radius, 0.02 * height),
        (radius, shoulder * 0.9 * height),
    ]
    profile += list(
        zip(curve, height * (shoulder * 0.9 + (0.92 - shoulder * 0.9) * t), strict=True)
    )[1:]
    body = shapes.lathe([*profile, (neck, height), (0, height)], color)
    oval = make.between(0.6, 1.0) if make.chance(0.3) else 1.0
    if oval < 1:
        stretch = body.vertices.copy()
        below = stretch[:, 2] < 0.9 * height
        stretch[below, 1] *= oval
        body = MeshPart(stretch, body.faces, color)
    base = make.base(body)
    if make.chance(0.4):
        low, high = 0.2 * height, 0.5 * height
        band = shapes.lathe(
            [(0, low), (1.01 * radius, low), (1.01 * radius, high), (0, high)],
            sample_color(make, "plastic", "paint"),
        )
        band = MeshPart(band.vertices * (1, oval, 1), band.faces, band.color)
        base.add(band)
    cap = sample_color(make, "plastic", "dark", "metal")
    kind = make.pick("screw", "screw", "lift", "flip", "pump")
    wide = neck * make.between(1.15, 1.4)
    tall = make.between(0.06, 0.12) * height
    if kind == "pump":
        _pump(make, base, neck, height, cap)
    elif kind == "flip":
        base.add(shapes.cylinder(wide, height, height + 0.5 * tall, cap))
        limits = (0.0, make.between(1.5, 2.3))
        hinge = (0, wide, height + 0.5 * tall)
        top = make.hinge("cap", base, hinge, (-1, 0, 0), limits)
        top.add(shapes.cylinder(wide, hinge[2], height + tall, cap, tip=0.95))
        top.add(
            shapes.box(
                (-0.3 * wide, -1.25 * wide, hinge[2]),
                (0.3 * wide, -0.9 * wide, hinge[2] + 0.3 * tall),
                cap,
            )
        )
    elif kind == "lift":
        plug = make.slider("cap", base, (0, 0, 1), (0.0, make.between(0.5, 3.0) * tall))
        if make.chance(0.5):
            plug.add(
                shapes.lathe(
                    [(0, height), (wide, height), (wide, height + tall), (0, height + tall)], cap
                )
            )
        else:
            r = wide * make.between(0.6, 0.9)
            plug.add(
                shapes.cylinder(0.9 * neck, height, height + 0.4 * tall, cap),
                shapes.sphere(r, cap).moved(z=height + 0.3 * tall + r),
            )
    else:
        _screw_cap(make, base, wide, height, tall, cap)
    return make.build()


def _screw_cap(
    make: Builder, base: LinkBuilder, wide: float, z: float, tall: float, color: Color
) -> None:
    """A ribbed cap that turns, on a collar that may lift."""
    angle = np.arange(teeth := 2 * max(10, make.shapes.sides // 2)) * (2 * np.pi / teeth)
    ribs = wide * (1 + 0.04 * (-1.0) ** np.arange(teeth))
    outline = ribs[:, None] * np.stack([np.cos(angle), np.sin(angle)], -1)
    collar = 0.25 * tall
    carrier = base
    ring = make.shapes.cylinder(wide, z, z + collar, shaded(color, 0.9))
    if make.chance(0.6):
        carrier = make.slider("collar", base, (0, 0, 1), (0.0, make.between(0.5, 2.0) * tall))
    carrier.add(ring)
    cap = make.hinge(
        "cap", carrier, (0, 0, z + collar), (0, 0, 1), (0.0, make.pick(np.pi, 2 * np.pi))
    )
    cap.add(make.shapes.prism(outline, z + collar, z + collar + tall, color, bevel=0.1 * tall))


def _pump(make: Builder, base: LinkBuilder, neck: float, z: float, color: Color) -> None:
    """A soap dispenser's head: presses down and turns."""
    shapes = make.shapes
    collar, stroke = 0.4 * neck + 0.012, make.between(0.012, 0.03)
    base.add(shapes.cylinder(1.15 * neck, z, z + collar, color))
    stem, head_z = 0.25 * neck, z + collar + stroke + 0.004
    head = make.slider("head", base, (0, 0, -1), (0.0, stroke), bearing=1.3 * stem)
    head.add(shapes.cylinder(stem, z + collar - 0.005, head_z, shaded(color)))
    nozzle = make.hinge("nozzle", head, (0, 0, head_z), (0, 0, 1), (-np.pi, np.pi))
    tall = 0.9 * neck
    nozzle.add(shapes.cylinder(0.6 * neck, head_z, head_z + tall, color))
    out, middle = 1.6 * neck + 0.01, head_z + 0.5 * tall
    path = [(0, 0, middle), (out, 0, middle), (1.2 * out, 0, head_z + 0.1 * tall)]
    nozzle.add(
        shapes.tube(np.array(path), [0.35 * neck, 0.25 * neck, 0.18 * neck], (0, 1, 0), color)
    )
