"""On a desk or a wall: stapler, globe, clock."""

from __future__ import annotations

import numpy as np

from kin4d.objects.procedural.assembly import ArticulatedObject
from kin4d.objects.procedural.builder import Builder
from kin4d.objects.procedural.palette import sample_color, shaded
from kin4d.objects.procedural.parts import MeshPart
from kin4d.objects.procedural.profiles import arc, rounded_rectangle, unit_circle


def stapler(rng: np.random.Generator) -> ArticulatedObject:
    """A base, a magazine and an arm on one pin at the back."""
    make = Builder("stapler", rng, size=0.16)
    shapes = make.shapes
    length, width = make.between(0.1, 0.18), make.between(0.02, 0.032)
    color, metal = sample_color(make, "plastic", "dark"), sample_color(make, "metal")
    base_h, mag_h, arm_h = (
        make.between(0.006, 0.012),
        make.between(0.008, 0.013),
        make.between(0.012, 0.024),
    )
    # Along -y from the pin at the back.
    long = make.between(0.0, 0.02)
    outline = rounded_rectangle(width, length + long, 0.4 * width, shapes.sides)
    base = make.base(
        shapes.prism(outline, 0, base_h, color, bevel=0.2 * base_h).moved(
            0, -(length + long) / 2 + 0.012
        )
    )
    base.add(
        shapes.box(
            (-0.25 * width, -length + 0.004, base_h),
            (0.25 * width, -length + 0.018, base_h + 0.0012),
            metal,
        )
    )
    pin_z = base_h + make.between(0.008, 0.014)
    for side in (-1, 1):
        x0, x1 = sorted((side * width * 0.52, side * width * 0.42))
        base.add(shapes.box((x0, -0.012, base_h), (x1, 0.008, pin_z + 0.005), color))
    z = pin_z - 0.3 * mag_h
    magazine = make.hinge(
        "magazine", base, (0, 0, pin_z), (-1, 0, 0), (0.0, make.between(0.5, 1.2))
    )
    half = 0.3 * width
    wall = 0.15 * half
    rails = [
        ((-half, -length, z), (half, 0.004, z + 0.2 * mag_h)),
        ((-half, -length, z + 0.2 * mag_h), (-half + wall, 0.004, z + mag_h)),
        ((half - wall, -length, z + 0.2 * mag_h), (half, 0.004, z + mag_h)),
    ]
    magazine.add(shapes.boards(rails, metal, merged=make.merged))
    magazine.add(
        shapes.box(
            (-half + wall, -length + 0.002, z + 0.3 * mag_h),
            (half - wall, -0.6 * length, z + 0.9 * mag_h),
            shaded(metal),
        )
    )
    # The arm leans on the magazine at zero and lifts from there.
    arm = make.hinge("arm", magazine, (0, 0, pin_z), (-1, 0, 0), (0.0, make.between(0.3, 0.9)))
    bottom = z + mag_h + 0.0008
    side = 0.4 * width
    nose = make.between(0.3, 0.8)
    profile = np.array(
        [
            (-0.004, 0.0),
            (-0.004, 0.8),
            (-0.3 * length, 1.0),
            (-0.85 * length, nose + 0.1),
            (-length - 0.003, nose),
            (-length - 0.003, 0.0),
        ]
    )
    profile[:, 1] = bottom + profile[:, 1] * arm_h
    arm.add(shapes.prism(profile, -side, side, color, bevel=0.1 * side).facing_side())
    return make.build()


def globe(rng: np.random.Generator) -> ArticulatedObject:
    """A ball that turns on a tilted axis in its bracket."""
    make = Builder("globe", rng, size=0.4)
    shapes = make.shapes
    radius = make.between(0.08, 0.17)
    wood, tilt = sample_color(make, "wood", "metal", "dark"), make.between(0.2, 0.45)
    gap, bar = make.between(0.006, 0.014), make.between(0.004, 0.009)
    centre = radius + make.between(0.06, 0.12)
    foot = make.between(0.6, 0.9) * radius
    base = make.base(
        shapes.lathe(
            [
                (0, 0),
                (foot, 0),
                (foot, 0.012),
                (0.3 * foot, 0.025),
                (0.015, 0.05),
                (0.012, centre - radius - gap),
                (0, centre - radius - gap),
            ],
            wood,
        )
    )
    steps = max(12, shapes.sides)
    ring = radius + gap + bar
    span = np.pi if make.chance(0.6) else 2 * np.pi
    start = -np.pi / 2 + tilt
    flat = arc(ring, start, start + span, steps)
    path = np.stack([flat[:, 0], np.zeros(len(flat)), centre + flat[:, 1]], -1)
    # The bracket runs from pole to pole round one side and is carried by the stem.
    low = arc(ring, -np.pi / 2, start, 3)
    foot_path = np.stack([low[:, 0], np.zeros(len(low)), centre + low[:, 1]], -1)
    closed = span > np.pi + 1
    base.add(shapes.tube(path[:-1] if closed else path, bar, (0, 1, 0), wood, closed=closed))
    if not closed:
        base.add(shapes.tube(foot_path, bar, (0, 1, 0), wood))
    axis = (-np.sin(tilt), 0, np.cos(tilt))
    ball = make.hinge("ball", base, (0, 0, centre), axis, (-np.pi, np.pi), bearing=1.5 * bar)
    sphere = shapes.sphere(radius, (70, 120, 170)).rotated("y", -tilt).moved(z=centre)
    ball.add(sphere)
    for _ in range(make.count(3, 7)):
        ball.add(_patch(make, radius, centre))
    pole = shapes.cylinder(0.5 * bar, -ring, ring, wood).rotated("y", -tilt).moved(z=centre)
    ball.add(pole)
    return make.build()


def _patch(make: Builder, radius: float, centre: float) -> MeshPart:
    """A piece of land: a cap of a slightly larger sphere."""
    size = make.between(0.15, 0.5)
    t = np.linspace(0, size, 4)[1:]
    rows = np.stack([1.01 * radius * np.sin(t), 1.01 * radius * np.cos(t)], -1)
    cap = make.shapes.lathe(
        [(0, 0.95 * radius * np.cos(size)), *rows[::-1], (0, 1.01 * radius)],
        (110, 150, 90),
        sides=8,
    )
    rotated = cap.rotated("x", make.between(-1.1, 1.1) + np.pi / 2).rotated(
        "z", make.between(0, 2 * np.pi)
    )
    return rotated.moved(z=centre)


def clock(rng: np.random.Generator) -> ArticulatedObject:
    """A wall clock with two or three hands."""
    make = Builder("clock", rng, size=0.35)
    shapes = make.shapes
    radius, deep = make.between(0.1, 0.2), make.between(0.02, 0.05)
    color, face = (
        sample_color(make, "wood", "dark", "plastic", "metal"),
        sample_color(make, "paint", "appliance"),
    )
    sides = max(16, shapes.sides)
    outer = unit_circle(sides) * radius
    if make.chance(0.3):
        outer = rounded_rectangle(2 * radius, 2 * radius, 0.2 * radius, sides - 4)
    inner = outer * 0.9
    base = make.base(shapes.ring_plate(outer, inner, 0, deep, color).facing_front())
    base.add(shapes.prism(inner, 0, 0.4 * deep, face).facing_front())
    y = -0.4 * deep
    ink = shaded(face, 0.2) if sum(face) > 300 else (236, 236, 232)
    for hour in range(12) if make.chance(0.8) else range(0, 12, 3):
        mark = shapes.box(
            (-0.01 * radius, -0.001, 0.72 * radius),
            (0.01 * radius, 0.0, 0.82 * radius),
            ink,
        )
        base.add(mark.rotated("y", hour * np.pi / 6).moved(0, y))
    step = 0.12 * deep
    hands = [(0.5, 0.035), (0.75, 0.022), (0.78, 0.008)][: make.count(2, 3)]
    for i, (long, wide) in enumerate(hands):
        front, back = y - 0.002 - (i + 1) * step, y - 0.002 - i * step - 0.2 * step
        link = make.hinge("hand", base, (0, back, 0), (0, -1, 0), (0.0, 5.5))
        link.add(
            shapes.box(
                (-wide * radius, front, -0.12 * radius),
                (wide * radius, back, long * radius),
                ink,
            )
        )
    return make.build()
