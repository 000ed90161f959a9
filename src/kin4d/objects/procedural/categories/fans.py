"""Fans that stand or hang."""

from __future__ import annotations

import numpy as np

from kin4d.objects.procedural.assembly import ArticulatedObject
from kin4d.objects.procedural.builder import Builder
from kin4d.objects.procedural.doors_drawers import add_dials
from kin4d.objects.procedural.hardware import stand
from kin4d.objects.procedural.palette import sample_color
from kin4d.objects.procedural.parts import Color, MeshPart
from kin4d.objects.procedural.profiles import superellipse, unit_circle


def fan(rng: np.random.Generator) -> ArticulatedObject:
    """A table or standing fan that turns its head, or a ceiling fan."""
    make = Builder("fan", rng, size=0.8)
    (_ceiling_fan if make.chance(0.3) else _standing_fan)(make)
    return make.build()


def _blades(make: Builder, count: int, inner: float, outer: float, color: Color) -> list[MeshPart]:
    """Pitched blades about z at height zero."""
    shapes = make.shapes
    wide = min(make.between(0.35, 0.6) * outer, 1.3 * outer * np.sin(np.pi / count))
    pitch = make.between(0.2, 0.5)
    outline = superellipse(
        (outer - inner) / 2, wide / 2, make.between(2.2, 5), max(12, shapes.sides // 2)
    )
    thick = 0.012 * outer + 0.001
    blade = (
        shapes.prism(outline, -thick / 2, thick / 2, color)
        .rotated("x", pitch)
        .moved((inner + outer) / 2)
    )
    return [blade.rotated("z", 2 * np.pi * i / count) for i in range(count)]


def _standing_fan(make: Builder) -> None:
    shapes = make.shapes
    radius = make.between(0.12, 0.22)
    color, metal = (
        sample_color(make, "plastic", "appliance", "dark"),
        sample_color(make, "metal", "dark"),
    )
    foot = make.between(0.8, 1.0) * radius
    base, z = stand(make, color, foot)
    floor = make.chance(0.4)
    pole = radius * 1.15 + (make.between(0.4, 0.8) if floor else make.between(0.02, 0.1))
    carrier = base
    r = make.between(0.01, 0.016)
    base.add(shapes.cylinder(1.4 * r, z, z + (0.5 * pole if floor else 0.02), metal))
    if floor and make.chance(0.6):
        carrier = make.slider("lift", base, (0, 0, 1), (0.0, 0.25 * pole), bearing=1.2 * r)
        carrier.add(shapes.cylinder(r, z + 0.2 * pole, z + pole, metal))
    else:
        base.add(shapes.cylinder(r, z, z + pole, metal))
    z += pole
    angle = make.between(0.5, 1.0)
    yaw = make.hinge("yaw", carrier, (0, 0, z), (0, 0, 1), (-angle, angle))
    yaw.add(
        shapes.cylinder(1.5 * r, z, z + 0.02, color),
        shapes.box((-0.012, -0.01, z + 0.02), (0.012, 0.01, z + 0.045), color),
    )
    z += 0.05
    head = yaw
    motor = 0.3 * radius
    if make.chance(0.7):
        head = make.hinge("tilt", yaw, (0, 0, z), (1, 0, 0), (-0.25, 0.3), bearing=0.03)
    long = make.between(0.08, 0.12)
    body = shapes.lathe(
        [(0, 0), (0.7 * motor, 0), (motor, 0.3 * long), (motor, long), (0, long)], color
    )
    # The motor sits on the pivot and reaches forwards to the blades.
    body = body.rotated("x", np.pi / 2).moved(0, 0.4 * long, z + motor + 0.004)
    head.add(body, shapes.box((-0.008, -0.008, z - 0.004), (0.008, 0.008, z + motor), color))
    y, z = -0.6 * long, z + motor + 0.004
    deep = 0.35 * radius
    rotor = make.hinge("rotor", head, (0, y, z), (0, -1, 0), (-np.pi, np.pi))
    blades = _blades(
        make,
        make.count(3, 5),
        0.1 * radius,
        0.88 * radius,
        sample_color(make, "plastic", "glass", "dark"),
    )
    middle = -deep / 2
    rotor.add(p.facing_front().moved(0, y + middle, z) for p in blades)
    hub = shapes.lathe(
        [
            (0, 0.002),
            (0.16 * radius, 0.002),
            (0.16 * radius, 0.6 * deep),
            (0.08 * radius, 0.8 * deep),
            (0, 0.8 * deep),
        ],
        color,
    )
    rotor.add(hub.facing_front().moved(0, y, z))
    if make.chance(0.85):
        head.add(p.moved(0, y, z) for p in _cage(make, radius, deep, metal))
    if make.chance(0.5):
        front = -foot - 0.01
        base.add(shapes.box((-0.03, front, 0.0), (0.03, -0.5 * foot, 0.03), color))
        add_dials(make, base, [(0.0, 0.015)], front, 0.011, metal, moving=1)


def _cage(make: Builder, radius: float, deep: float, color: Color) -> list[MeshPart]:
    """Rings and spokes around blades that turn about y, from y = 0 to about ``-1.1 deep``."""
    shapes = make.shapes
    wire = 0.008 * radius + 0.0008
    sides = max(16, shapes.sides)
    parts = []
    for size, y in ((1.0, -0.5), (0.75, 0.04), (0.75, -1.04), (0.35, -1.1)):
        circle = unit_circle(sides) * (size * radius)
        path = np.stack([circle[:, 0], np.full(sides, y * deep), circle[:, 1]], -1)
        parts.append(
            shapes.tube(path, wire, (0, -1, 0), color, outline=unit_circle(5), closed=True)
        )
    count = make.count(8, 16)
    front = np.array([(0.3, -1.1), (0.75, -1.04), (1.0, -0.5), (0.75, 0.04), (0.32, 0.05)]) * (
        radius,
        deep,
    )
    spoke = shapes.tube(
        np.column_stack([front[:, 0], front[:, 1], np.zeros(5)]),
        wire,
        (0, 0, 1),
        color,
        outline=unit_circle(4),
    )
    parts += [spoke.rotated("y", 2 * np.pi * i / count) for i in range(count)]
    badge = shapes.cylinder(0.3 * radius, 1.05 * deep, 1.12 * deep, color).facing_front()
    back = shapes.cylinder(0.34 * radius, -0.12 * deep, -0.02 * deep, color).facing_front()
    return [*parts, badge, back]


def _ceiling_fan(make: Builder) -> None:
    shapes = make.shapes
    radius, drop = make.between(0.4, 0.65), make.between(0.15, 0.4)
    color, metal = sample_color(make, "wood", "paint", "dark"), sample_color(make, "metal", "dark")
    # Hung from the ceiling at z = drop.
    base = make.base(
        shapes.lathe([(0, drop - 0.04), (0.03, drop - 0.04), (0.07, drop), (0, drop)], metal)
    )
    base.add(shapes.cylinder(0.012, 0.05, drop, metal))
    rotor = make.hinge("rotor", base, (0, 0, 0), (0, 0, 1), (-np.pi, np.pi), bearing=0.02)
    rotor.add(
        shapes.lathe([(0, -0.05), (0.08, -0.04), (0.1, 0.0), (0.08, 0.05), (0, 0.055)], metal)
    )
    count = make.count(3, 6)
    rotor.add(_blades(make, count, 0.18, radius, color))
    for i in range(count):
        rotor.add(
            shapes.box((0.06, -0.015, -0.006), (0.22, 0.015, 0.006), metal).rotated(
                "z", 2 * np.pi * i / count
            )
        )
    if make.chance(0.6):
        # The light hangs on the pole through the rotor and does not turn with it.
        lit = shapes.lathe(
            [(0, -0.14), (0.05, -0.13), (0.08, -0.09), (0.07, -0.056), (0, -0.056)], (245, 240, 220)
        )
        base.add(lit, shapes.cylinder(0.01, -0.06, 0.06, metal))
        if make.chance(0.6):
            chain = make.slider("chain", base, (0, 0, -1), (0.0, 0.05))
            chain.add(
                shapes.cylinder(0.002, -0.3, -0.1, metal).moved(0.095),
                shapes.sphere(0.008, metal).moved(0.095, 0, -0.3),
            )
