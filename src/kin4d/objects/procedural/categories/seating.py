"""Chairs."""

from __future__ import annotations

import numpy as np

from kin4d.objects.procedural.assembly import ArticulatedObject
from kin4d.objects.procedural.builder import Builder, LinkBuilder
from kin4d.objects.procedural.palette import sample_color, shaded
from kin4d.objects.procedural.parts import Color
from kin4d.objects.procedural.profiles import rounded_path, rounded_rectangle


def swivel_chair(rng: np.random.Generator) -> ArticulatedObject:
    """An office chair: star foot on casters, a column that rises, a seat that turns."""
    make = Builder("swivel_chair", rng, size=1.0)
    shapes = make.shapes
    legs, reach = make.pick(4, 5, 5), make.between(0.25, 0.34)
    dark, fabric = sample_color(make, "dark", "metal"), sample_color(make, "fabric", "plastic")
    wheel = make.between(0.022, 0.032)
    hub = 2 * wheel + make.between(0.03, 0.05)
    base = make.base(shapes.cylinder(0.04, hub - 0.03, hub + 0.05, dark))
    casters, spin = make.chance(0.8), make.chance(0.3)
    limit = 12 - 3
    for i in range(legs):
        angle = 2 * np.pi * i / legs
        tip = reach * np.array([np.cos(angle), np.sin(angle)])
        path = np.array([(0.02, 0, hub + 0.01), (0.6 * reach, 0, hub), (reach, 0, hub - 0.012)])
        leg = shapes.tube(
            path, [0.02, 0.017, 0.012], (0, 1, 0), dark, outline=rounded_rectangle(1.6, 2.0, 0.4, 8)
        )
        base.add(leg.rotated("z", angle))
        if not casters:
            base.add(shapes.cylinder(0.02, 0, hub - 0.02, dark).moved(*tip))
            continue
        joint = (
            make.hinge(
                "caster", base, (*tip, hub - 0.03), (0, 0, 1), (-np.pi, np.pi), bearing=0.012
            )
            if limit > 0
            else base
        )
        limit -= 1
        joint.add(shapes.cylinder(0.006, 2 * wheel, hub - 0.012, dark).moved(*tip))
        offset = 0.012
        joint.add(
            shapes.box(
                (-0.006, -wheel * 0.4, wheel), (0.006, wheel * 0.9 + offset, 2 * wheel), dark
            ).moved(*tip)
        )
        rolls = [
            shapes.cylinder(wheel, a, b, shaded(dark, 0.8))
            .rotated("y", np.pi / 2)
            .moved(tip[0], tip[1] + offset, wheel)
            for a, b in ((-0.022, -0.007), (0.007, 0.022))
        ]
        if spin and limit > 0 and joint is not base:
            limit -= 1
            swivel = make.hinge(
                "wheel", joint, (*tip[:1], tip[1] + offset, wheel), (1, 0, 0), (-np.pi, np.pi)
            )
            swivel.add(rolls)
        else:
            joint.add(rolls)
    lift = make.between(0.06, 0.12)
    column = make.slider("lift", base, (0, 0, 1), (0.0, lift), bearing=0.03)
    low = hub + 0.05
    seat_z = make.between(0.4, 0.46)
    base.add(shapes.cylinder(0.027, low - 0.01, 0.5 * (low + seat_z), dark))
    column.add(shapes.cylinder(0.018, low, seat_z, sample_color(make, "metal")))
    _chair_top(make, column, seat_z, fabric, dark)
    return make.build()


def _chair_top(make: Builder, column: LinkBuilder, z: float, fabric: Color, dark: Color) -> None:
    """Seat, back and armrests on a column whose top is at `z`."""
    shapes = make.shapes
    width, depth = make.between(0.42, 0.52), make.between(0.4, 0.5)
    seat = make.hinge("seat", column, (0, 0, z), (0, 0, 1), (-np.pi, np.pi))
    seat.add(shapes.box((-0.09, -0.09, z), (0.09, 0.09, z + 0.025), dark))
    thick = make.between(0.04, 0.08)
    cushion_z = z + 0.025
    if make.chance(0.2):
        seat.add(shapes.cylinder(width / 2, cushion_z, cushion_z + thick, fabric))
        return
    seat.add(
        shapes.rounded_box(
            (-width / 2, -depth / 2, cushion_z),
            (width / 2, depth / 2, cushion_z + thick),
            make.between(0.03, 0.12),
            fabric,
            bevel=0.3 * thick,
        )
    )
    tall, rise = make.between(0.35, 0.65), make.between(0.06, 0.14)
    y = depth / 2 + 0.05
    hinge = (0, y, z + 0.012)
    seat.add(shapes.box((-0.03, 0.08, z + 0.002), (0.03, y - 0.016, z + 0.022), dark))
    lean = make.between(0.2, 0.5)
    back = seat
    if make.chance(0.75):
        back = make.hinge("back", seat, hinge, (-1, 0, 0), (0.0, lean), bearing=0.03)
    back.add(
        shapes.box(
            (-0.03, y - 0.016, z - 0.002), (0.03, y + 0.004, cushion_z + thick + rise + 0.1), dark
        )
    )
    outline = rounded_rectangle(
        width * make.between(0.8, 1.0), tall, make.between(0.04, 0.15), shapes.sides
    )
    panel = shapes.prism(outline, 0, 0.05, fabric, bevel=0.015).facing_front()
    back.add(panel.moved(0, y - 0.016, cushion_z + thick + rise + tall / 2))
    if make.chance(0.6):
        out = width / 2 + 0.03
        for side in (-1, 1):
            corners = [
                (side * 0.3 * width, 0, z + 0.012),
                (side * out, 0, z + 0.012),
                (side * out, 0, cushion_z + thick + 0.16),
            ]
            post = shapes.tube(rounded_path(np.array(corners), 0.05, 4), 0.012, (0, 1, 0), dark)
            seat.add(post)
            pad_z = cushion_z + thick + 0.16
            seat.add(
                shapes.rounded_box(
                    (side * out - 0.03, -0.13, pad_z),
                    (side * out + 0.03, 0.1, pad_z + 0.025),
                    0.02,
                    dark,
                )
            )
