"""Toilets with seat, lid and flush."""

from __future__ import annotations

import numpy as np

from kin4d.objects.procedural.assembly import ArticulatedObject
from kin4d.objects.procedural.builder import Builder, LinkBuilder
from kin4d.objects.procedural.palette import sample_color
from kin4d.objects.procedural.profiles import ellipse


def toilet(rng: np.random.Generator) -> ArticulatedObject:
    """Bowl, cistern, seat and lid; the flush is a button or a lever."""
    make = Builder("toilet", rng, size=0.8)
    shapes, color = make.shapes, sample_color(make, "ceramic")
    half, long = make.between(0.17, 0.2), make.between(0.22, 0.27)
    height = make.between(0.36, 0.42)
    sides = max(16, shapes.sides)
    oval = ellipse(half, long, sides)
    oval[:, 1] = np.where(oval[:, 1] > 0, 0.8 * oval[:, 1], oval[:, 1])
    foot = make.between(0.5, 0.85)
    levels = [
        (0.0, foot),
        (0.3, foot * 0.9),
        (0.6, 0.85),
        (0.92, 1.0),
        (1.0, 1.0),
        (1.0, 0.82),
        (0.75, 0.72),
        (0.55, 0.4),
    ]
    rings = np.stack(
        [
            np.column_stack([oval * s + (0, 0.08 * (1 - h)), np.full(sides, h * height)])
            for h, s in levels
        ]
    )
    bowl = shapes.loft(
        rings, color, start=np.array([0, 0.08, 0]), end=np.array([0, 0.035, 0.55 * height])
    )
    base = make.base(bowl)
    thick, steep = make.between(0.012, 0.022), make.between(1.35, 1.7)
    # The hinge is behind everything that turns; the cistern behind where that leans back to.
    y = 0.8 * long * 1.01
    tank_y = y + 2 * thick + 0.035 + 2 * long * np.sin(max(0.0, steep - np.pi / 2))
    tank_w, tank_d, tank_h = (
        make.between(a, b) for a, b in ((0.36, 0.46), (0.15, 0.2), (0.3, 0.4))
    )
    low, high = (-0.7 * half, 0.4 * long, 0.55 * height), (0.7 * half, tank_y + tank_d, height)
    base.add(shapes.box(low, high, color))
    if make.chance(0.85):
        top = height + tank_h
        low, high = (-tank_w / 2, tank_y, height), (tank_w / 2, tank_y + tank_d, top)
        base.add(shapes.rounded_box(low, high, make.between(0.005, 0.05), color, bevel=0.005))
        low, high = (
            (low[0] - 0.01, tank_y - 0.005, top),
            (high[0] + 0.01, high[1] + 0.005, top + 0.03),
        )
        base.add(shapes.rounded_box(low, high, 0.03, color, bevel=0.008))
        _flush(make, base, (tank_w, tank_y, top))
    seat_color = color if make.chance(0.7) else sample_color(make, "wood", "dark", "plastic")
    kind = make.pick("lid", "both", "both", "seat")
    seat = shapes.ring_plate(oval * 1.01, oval * 0.68, height, height + thick, seat_color)
    share = make.between(0.6, 0.9)
    carrier = base
    # Turned past upright, the hinge's own edge of the seat dips by this much.
    hinge_z = height + thick * max(0.0, -float(np.cos(steep)))
    if kind != "lid":
        lean = steep if kind == "seat" else share * steep
        carrier = make.hinge("seat", base, (0, y, hinge_z), (-1, 0, 0), (0.0, lean))
    carrier.add(seat)
    if kind != "seat":
        z, lean = height + thick, steep if kind == "lid" else (1 - share) * steep
        lid = make.hinge("lid", carrier, (0, y, z), (-1, 0, 0), (0.0, lean))
        lid.add(shapes.prism(oval * 1.01, z, z + thick, seat_color, bevel=0.3 * thick))
    for x in (-0.07, 0.07):
        pin = shapes.cylinder(0.006, -0.02, 0.02, seat_color).rotated("y", np.pi / 2)
        base.add(pin.moved(x, y + 0.012, height - 0.004))
    return make.build()


def _flush(make: Builder, base: LinkBuilder, at: tuple[float, float, float]) -> None:
    width, y, top = at
    metal = sample_color(make, "metal")
    if make.chance(0.5):
        z = top + 0.03
        base.add(
            make.shapes.ring_plate(
                ellipse(0.03, 0.03, 16), ellipse(0.022, 0.022, 16), z, z + 0.006, metal
            ).moved(0, y + 0.08)
        )
        button = make.slider("button", base, (0, 0, -1), (0.0, make.between(0.006, 0.01)))
        button.add(make.shapes.cylinder(0.02, z + 0.012, z + 0.018, metal).moved(0, y + 0.08))
    else:
        x, z = -0.35 * width, top - 0.05
        lever = make.hinge("flush", base, (x, y, z), (0, -1, 0), (-0.1, make.between(0.4, 0.8)))
        lever.add(make.shapes.cylinder(0.012, 0, 0.015, metal).facing_front().moved(x, y, z))
        lever.add(
            make.shapes.box(
                (x - 0.008, y - 0.024, z - 0.008), (x + 0.08, y - 0.012, z + 0.008), metal
            )
        )
