"""Ladder and hand cart."""

from __future__ import annotations

import numpy as np

from kin4d.objects.procedural.assembly import ArticulatedObject
from kin4d.objects.procedural.builder import Builder, LinkBuilder
from kin4d.objects.procedural.palette import sample_color, shaded
from kin4d.objects.procedural.panels import tray
from kin4d.objects.procedural.parts import MeshPart
from kin4d.objects.procedural.profiles import rounded_rectangle


def ladder(rng: np.random.Generator) -> ArticulatedObject:
    """A step ladder: two frames on a hinge at the top."""
    make = Builder("ladder", rng, size=1.5)
    shapes = make.shapes
    height, half, lean = make.between(0.6, 2.2), make.between(0.18, 0.28), make.between(0.15, 0.3)
    color, rail = sample_color(make, "metal", "wood", "plastic"), make.between(0.02, 0.035)
    steps = max(2, round(height / make.between(0.22, 0.32)))
    splay = make.between(0.0, 0.12)
    top = (0, 0, height)

    def frame(depth: float, narrower: float, treads: bool) -> list[MeshPart]:
        parts = []
        for side in (-1, 1):
            x0, x1 = side * (half - narrower + splay), side * (half - narrower)
            path = np.array([(x0, depth, 0.0), (x1, depth, height - 0.02)])
            section = rounded_rectangle(rail, 1.6 * rail, 0.1 * rail, 8)
            parts.append(shapes.tube(path, 1.0, (0, 1, 0), color, outline=section))
        for i in range(steps):
            z = height * (i + 1) / (steps + 1)
            reach = half - narrower + splay * (1 - z / height)
            # Treads stand out on the side that is outside when the ladder is folded.
            out = np.sign(depth)
            y0, y1 = sorted((depth - 0.012 * out, depth + (0.045 if treads else 0.012) * out))
            parts.append(shapes.box((-reach, y0, z - 0.012), (reach, y1, z + 0.012), shaded(color)))
        return parts

    gap = 1.8 * rail
    base = make.base(p.rotated("x", -lean, top) for p in frame(-gap / 2 - 0.003, 0.0, True))
    base.add(
        shapes.box((-half - 0.02, -0.12, height - 0.012), (half + 0.02, 0.0, height + 0.012), color)
    )
    limits = (-(2 * lean - 0.02), make.between(0.0, 0.15) + 0.01)
    back = make.hinge("back", base, top, (1, 0, 0), limits, bearing=0.06)
    back.add(p.rotated("x", lean, top) for p in frame(gap / 2 + 0.003, 0.01, make.chance(0.2)))
    return make.build()


def cart(rng: np.random.Generator) -> ArticulatedObject:
    """A hand wagon: a tray on four wheels, a front axle that steers and a pole to pull."""
    make = Builder("cart", rng, size=1.0)
    shapes = make.shapes
    length, width, height = (
        make.between(0.6, 1.1),
        make.between(0.35, 0.55),
        make.between(0.12, 0.3),
    )
    radius, tyre = make.between(0.08, 0.13), make.between(0.03, 0.05)
    color, dark, metal = (
        sample_color(make, "plastic", "wood", "paint"),
        sample_color(make, "dark"),
        sample_color(make, "metal"),
    )
    floor = 2 * radius + 0.05
    base = make.base(
        tray(
            make,
            (-length / 2, -width / 2, floor),
            (length / 2, width / 2, floor + height),
            0.012,
            color,
        )
    )
    spin = make.chance(0.85)
    track = width / 2 - tyre

    def wheels(carrier: LinkBuilder, x: float) -> None:
        axle = (
            shapes.cylinder(0.008, -track, track, metal).rotated("x", np.pi / 2).moved(x, 0, radius)
        )
        carrier.add(axle)
        for side in (-1, 1):
            y = side * (track + 0.006)
            link = carrier
            if spin:
                link = make.hinge(
                    "wheel", carrier, (x, y, radius), (0, 1, 0), (-np.pi, np.pi), bearing=0.02
                )
            profile = [
                (0, 0.25),
                (0.5, 0.25),
                (0.7, 0),
                (0.95, 0),
                (1, 0.25),
                (1, 0.75),
                (0.95, 1),
                (0.7, 1),
                (0.5, 0.75),
                (0, 0.75),
            ]
            part = shapes.lathe(
                np.array(profile) * (radius, tyre), dark, sides=max(16, shapes.sides)
            )
            part = part.rotated("x", -np.pi / 2)
            part = part.moved(x, y, radius) if side > 0 else part.moved(x, y - tyre, radius)
            spokes = shapes.box(
                (-0.45 * radius, 0.2 * tyre, -0.01), (0.45 * radius, 0.8 * tyre, 0.01), metal
            )
            link.add(part, spokes.moved(x, y if side > 0 else y - tyre, radius))

    rear, front = 0.32 * length, -0.32 * length
    for side in (-1, 1):
        y = side * 0.5 * track
        base.add(
            shapes.box((rear - 0.02, y - 0.012, radius), (rear + 0.02, y + 0.012, floor), metal)
        )
    wheels(base, rear)
    steer_limit = min(0.5, float(np.arctan2(0.12 * length, width / 2)))
    pivot = (front, 0, floor - 0.02)
    steer = make.hinge("steer", base, pivot, (0, 0, 1), (-steer_limit, steer_limit))
    base.add(shapes.cylinder(0.05, floor - 0.02, floor, metal).moved(front))
    steer.add(
        shapes.box(
            (front - 0.03, -0.6 * track, radius - 0.01),
            (front + 0.03, 0.6 * track, floor - 0.02),
            metal,
        )
    )
    wheels(steer, front)
    # The pole is hinged on a drawbar, ahead of the tray even when the axle is turned.
    tip = front - 0.22 * length - 0.06
    steer.add(shapes.box((tip, -0.02, radius - 0.01), (front, 0.02, radius + 0.02), metal))
    long = make.between(0.5, 0.8)
    z = radius + 0.02
    steer.add(
        shapes.box((tip - 0.02, -0.03, z - 0.015), (tip, -0.015, z + 0.015), metal),
        shapes.box((tip - 0.02, 0.015, z - 0.015), (tip, 0.03, z + 0.015), metal),
    )
    pole = make.hinge("pole", steer, (tip - 0.012, 0, z), (0, 1, 0), (-0.1, make.between(0.8, 1.4)))
    pole.add(
        shapes.box((tip - 0.012 - long, -0.01, z - 0.008), (tip - 0.008, 0.01, z + 0.008), metal)
    )
    pole.add(
        shapes.cylinder(0.012, -0.07, 0.07, dark)
        .rotated("x", np.pi / 2)
        .moved(tip - 0.012 - long, 0, z)
    )
    return make.build()
