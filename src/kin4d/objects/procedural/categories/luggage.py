"""Suitcases, upright and flat."""

from __future__ import annotations

import numpy as np

from kin4d.objects.procedural.assembly import ArticulatedObject
from kin4d.objects.procedural.builder import Builder
from kin4d.objects.procedural.hardware import bail, wheel
from kin4d.objects.procedural.palette import sample_color, shaded
from kin4d.objects.procedural.profiles import rounded_rectangle


def suitcase(rng: np.random.Generator) -> ArticulatedObject:
    """An upright trolley with a telescopic handle, or a briefcase that lies flat."""
    make = Builder("suitcase", rng, size=0.7)
    (_trolley if make.chance(0.5) else _briefcase)(make)
    return make.build()


def _trolley(make: Builder) -> None:
    shapes = make.shapes
    width, depth, height = (
        make.between(0.32, 0.5),
        make.between(0.18, 0.3),
        make.between(0.45, 0.75),
    )
    color, dark = sample_color(make, "plastic", "fabric", "metal"), sample_color(make, "dark")
    radius = make.between(0.03, 0.08)
    outline = rounded_rectangle(width, height, radius, shapes.sides)
    roller = make.between(0.02, 0.035)
    lift = 2 * roller + 0.005
    split = depth * make.between(0.35, 0.65)
    middle = lift + height / 2
    # The back half stands; the front half is the lid. Both are tubs lying on their sides.
    back = (
        shapes.tub(outline, 0, depth - split, 0.005, color)
        .rotated("x", np.pi / 2)
        .moved(0, depth, middle)
    )
    base = make.base(back)
    side = make.pick("left", "bottom")
    gap = make.pick(0.0, 0.003)
    front = (
        shapes.tub(outline, 0, split - gap, 0.005, color)
        .rotated("x", -np.pi / 2)
        .moved(0, 0, middle)
    )
    at, axis = (
        ((-width / 2, split - gap, 0), (0, 0, -1))
        if side == "left"
        else ((0, split - gap, lift), (1, 0, 0))
    )
    limits = (0.0, make.between(1.2, 1.6) if side == "bottom" else make.between(1.2, 2.8))
    lid = make.hinge("lid", base, at, axis, limits)
    lid.add(front)
    for z in (0.3, 0.7) if make.chance(0.5) else ():
        rib = shapes.box(
            (-0.42 * width, -0.006, -0.008), (0.42 * width, 0.001, 0.008), shaded(color)
        )
        lid.add(rib.moved(z=lift + z * height))
    top = lift + height
    reach = make.between(0.25, 0.5) * height / 0.6
    rods, rod_y = 0.25 * width, depth - (depth - split) * 0.4
    pole = make.slider("handle", base, (0, 0, 1), (0.0, reach))
    # The rods run down behind the shell's back, on the outside.
    rod_y = depth + 0.012
    for x in (-rods, rods):
        pole.add(
            shapes.box(
                (x - 0.008, rod_y - 0.006, lift + 0.1),
                (x + 0.008, rod_y + 0.006, top + 0.02),
                sample_color(make, "metal"),
            )
        )
        base.add(
            shapes.ring_plate(
                rounded_rectangle(0.03, 0.024, 0.003, 8),
                rounded_rectangle(0.018, 0.0135, 0.002, 8),
                top - 0.2,
                top - 0.02,
                dark,
            ).moved(x, rod_y)
        )
    pole.add(
        shapes.rounded_box(
            (-rods - 0.02, rod_y - 0.014, top + 0.02),
            (rods + 0.02, rod_y + 0.014, top + 0.045),
            0.01,
            dark,
        )
    )
    if make.chance(0.6):
        grip = bail(make, 0.07, 0.03, 0.007, dark, square=True)
        base.add(grip.moved(0, (split + depth) / 2, top - 0.002))
    count = make.pick(2, 4)
    spin = make.chance(0.5)
    for x in (-0.38 * width, 0.38 * width):
        for y in (0.85 * depth, 0.15 * depth)[: count // 2]:
            base_part = base if y > split else lid
            if base_part is lid and side == "bottom":
                continue
            fork = shapes.box((-0.012, -0.012, 0), (0.012, 0.012, 0.008), dark).moved(
                x, y, lift - 0.008
            )
            base_part.add(fork)
            disc = (
                wheel(make, roller, 0.016, dark)
                .moved(z=-0.008)
                .rotated("y", np.pi / 2)
                .moved(x, y, roller - 0.004)
            )
            if spin and base_part is base:
                make.hinge("wheel", base, (x, y, roller - 0.004), (1, 0, 0), (-np.pi, np.pi)).add(
                    disc
                )
            else:
                base_part.add(disc)


def _briefcase(make: Builder) -> None:
    shapes = make.shapes
    width, depth, height = (
        make.between(0.35, 0.7),
        make.between(0.25, 0.5),
        make.between(0.08, 0.25),
    )
    color, metal = (
        sample_color(make, "fabric", "dark", "metal", "wood"),
        sample_color(make, "metal"),
    )
    radius = make.between(0.01, 0.05)
    outline = rounded_rectangle(width, depth, radius, shapes.sides)
    split = height * make.between(0.4, 0.75)
    gap = make.pick(0.0, 0.002)
    base = make.base(shapes.tub(outline, 0, split, 0.005, color))
    lid = make.hinge(
        "lid", base, (0, depth / 2, split + gap), (-1, 0, 0), (0.0, make.between(1.2, 1.8))
    )
    cover = (
        shapes.tub(outline, 0, height - split - gap, 0.005, color)
        .rotated("x", np.pi)
        .moved(z=height)
    )
    lid.add(cover)
    for x in (-0.3, 0.3):
        clasp = shapes.box((-0.02, -0.006, 0), (0.02, 0, 0.02), metal)
        lid.add(clasp.moved(x * width, -depth / 2, split + gap + 0.002))
        if make.chance(0.5):
            base.add(clasp.moved(x * width, -depth / 2, split - 0.024))
    half = make.between(0.05, 0.08)
    z = 0.55 * split
    thick = 0.006
    for side in (-1, 1):
        lug = shapes.box((-0.008, -0.02, -0.01), (0.008, 0, 0.01), metal)
        base.add(lug.moved(side * (half + thick + 0.01), -depth / 2, z))
    # Hangs outwards in front; turns down to the ground side and up against the lid's edge.
    loop = bail(make, half, 0.04, thick, color if make.chance(0.5) else metal, square=True).rotated(
        "x", np.pi / 2
    )
    limit = float(np.arcsin(min(0.95, (z - 0.01) / 0.05)))
    grip = make.hinge(
        "grip", base, (0, -depth / 2 - 0.01, z), (1, 0, 0), (-min(limit, 1.0), min(limit, 1.0))
    )
    grip.add(loop.moved(0, -depth / 2 - 0.01, z))
