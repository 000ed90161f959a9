"""Ovens of both kinds: microwave and cooker."""

from __future__ import annotations

import numpy as np

from kin4d.objects.procedural.assembly import ArticulatedObject
from kin4d.objects.procedural.builder import Builder, LinkBuilder, side_by_side
from kin4d.objects.procedural.doors_drawers import add_buttons, add_dials, add_door, add_drawer
from kin4d.objects.procedural.hardware import feet
from kin4d.objects.procedural.palette import sample_color, sample_color_scheme, shaded
from kin4d.objects.procedural.panels import Point, housing
from kin4d.objects.procedural.parts import Color, MeshPart
from kin4d.objects.procedural.profiles import unit_circle


def _rack(make: Builder, low: Point, high: Point, color: Color) -> list[MeshPart]:
    """A flat grid of bars filling a box."""
    (x0, y0, z0), (x1, y1, z1) = low, high
    bar = min(0.006, 0.02 * (x1 - x0))
    count = make.count(4, 9)
    boxes = [((x, y0, z0), (x + bar, y1, z1)) for x in np.linspace(x0, x1 - bar, count)]
    boxes += [((x0, y, z0), (x1, y + bar, z1)) for y in (y0, y1 - bar)]
    return make.shapes.boards(boxes, color)


def microwave(rng: np.random.Generator) -> ArticulatedObject:
    """A door beside a panel of buttons or dials, and a plate that turns."""
    make = Builder("microwave", rng, size=0.6)
    width, depth, height = (
        make.between(0.42, 0.62),
        make.between(0.3, 0.45),
        make.between(0.24, 0.36),
    )
    colors, wall = sample_color_scheme(make, "appliance"), make.between(0.012, 0.03)
    panel = width * make.between(0.18, 0.3)
    thick, foot = make.between(0.018, 0.045), make.pick(0.0, make.between(0.006, 0.015))
    low, high = (-width / 2, 0.0, foot), (width / 2, depth, foot + height)
    split = high[0] - panel
    hollow = (low[0] + wall, 0.0, foot + wall), (split - 0.01, depth - 1.5 * wall, high[2] - wall)
    base = make.base(
        make.shapes.boards(housing(low, high, hollow), colors.body, merged=make.merged)
    )
    if foot:
        base.add(feet(make, low[:2], high[:2], foot, colors.accent))
    gap = make.pick(0.0, 0.002, 0.004)
    face = -thick if make.chance(0.7) else 0.0
    if face < 0:
        box = ((split + gap, face, foot), (high[0], 0.0, high[2]))
        base.add(make.shapes.box(*box, sample_color(make, "dark", "appliance")))
    style, grip = make.pick("glazed", "glazed", "framed", "slab"), make.pick("bar", "bow", "none")
    add_door(
        make,
        base,
        (low[0], -thick, foot),
        (split, 0.0, high[2]),
        "left",
        colors.front,
        colors.accent,
        style=style,
        grip=grip,
        free=make.chance(0.7),
    )
    _microwave_controls(make, base, (split + gap, foot), (high[0], high[2]), face, colors.accent)
    if make.chance(0.7):
        radius = 0.42 * min(hollow[1][0] - hollow[0][0], hollow[1][1])
        x, y, z = (hollow[0][0] + hollow[1][0]) / 2, hollow[1][1] / 2, foot + wall
        profile = [
            (0, 0.012),
            (0.9 * radius, 0.012),
            (radius, 0.022),
            (radius, 0.026),
            (0.88 * radius, 0.017),
            (0, 0.017),
        ]
        plate = make.shapes.lathe(profile, sample_color(make, "glass")).moved(x, y, z)
        hub = make.shapes.prism(
            0.15 * radius * np.array([[1, 1], [-1, 1], [-1, -1], [1, -1.0]]), 0.002, 0.012
        )
        limits = (-np.pi, np.pi)
        make.hinge("plate", base, (x, y, z), (0, 0, 1), limits).add(plate, hub.moved(x, y, z))
    return make.build()


def _microwave_controls(
    make: Builder,
    base: LinkBuilder,
    low: tuple[float, float],
    high: tuple[float, float],
    y: float,
    color: Color,
) -> None:
    """A display above buttons or dials in the rectangle `low` to `high` (x, z)."""
    (x0, z0), (x1, z1) = low, high
    width, height = x1 - x0, z1 - z0
    inner = 0.15 * width
    screen = z1 - 0.06 * height, z1 - 0.2 * height
    base.add(
        make.shapes.box(
            (x0 + inner, y - 0.002, screen[1]), (x1 - inner, y, screen[0]), (30, 60, 50)
        )
    )
    if make.chance(0.45):
        count = make.count(1, 2)
        radius = min(0.3 * width, 0.13 * height)
        positions = [((x0 + x1) / 2, z0 + height * (0.22 + 0.32 * i)) for i in range(count)]
        add_dials(make, base, positions, y, radius, color, moving=count)
    else:
        grid = make.count(2, 4), make.count(3, 6)
        moving = make.pick(0, 0, 1, 3, 8)
        corners = (x0 + inner, z0 + 0.08 * height), (x1 - inner, screen[1] - 0.06 * height)
        add_buttons(make, base, *corners, y, grid, shaded(color, 1.2), moving=moving)


def oven(rng: np.random.Generator) -> ArticulatedObject:
    """A cooker: dials over a door that drops open, sometimes a drawer below and hobs on top."""
    make = Builder("oven", rng, size=1.0)
    tall = make.chance(0.7)
    width, depth = make.between(0.5, 0.9), make.between(0.45, 0.65)
    height = make.between(0.75, 0.95) if tall else make.between(0.4, 0.6)
    colors, wall, thick = (
        sample_color_scheme(make, "appliance"),
        make.between(0.03, 0.06),
        make.between(0.02, 0.05),
    )
    foot = make.pick(0.0, make.between(0.02, 0.08))
    low, high = (-width / 2, 0.0, foot), (width / 2, depth, foot + height)
    drawer = make.between(0.12, 0.2) if tall and make.chance(0.5) else 0.0
    strip = make.between(0.08, 0.14)
    gap = make.pick(0.0, 0.003)
    hollow = (
        (low[0] + wall, 0.0, foot + drawer + wall),
        (high[0] - wall, depth - wall, high[2] - strip - wall / 2),
    )
    walls = housing(low, high, hollow)
    if drawer:
        # The drawer's own cavity is cut into the bottom wall.
        space = (low[0] + wall, 0.0, foot + 0.015), (high[0] - wall, depth - wall, foot + drawer)
        walls[2:3] = housing(
            (space[0][0], 0.0, foot),
            (space[1][0], depth, hollow[0][2]),
            (
                (space[0][0] + 0.01, 0.0, space[0][2]),
                (space[1][0] - 0.01, depth - wall, space[1][2]),
            ),
        )
    base = make.base(make.shapes.boards(walls, colors.body, merged=make.merged))
    if foot:
        base.add(feet(make, low[:2], high[:2], foot, colors.accent))
    for z in np.linspace(hollow[0][2], hollow[1][2], make.count(1, 3) + 2)[1:-1]:
        if make.chance(0.7):
            box = (hollow[0][0], 0.03, z), (hollow[1][0], hollow[1][1], z + 0.006)
            base.add(_rack(make, *box, sample_color(make, "metal")))
    top = high[2] - strip
    add_door(
        make,
        base,
        (low[0], -thick, foot + drawer),
        (high[0], 0.0, top - gap),
        "bottom",
        colors.front,
        colors.accent,
        free=not drawer,
        style=make.pick("glazed", "glazed", "slab"),
        grip=make.pick("bar", "bar", "bow"),
        widest=1.6,
    )
    if drawer:
        # Stops short of the door's edge so that both can be open.
        front = (low[0], -thick, foot), (high[0], 0.0, foot + drawer - gap)
        opening = (
            (space[0][0] + 0.01, 0.0, space[0][2]),
            (space[1][0] - 0.01, depth - wall, space[1][2]),
        )
        add_drawer(
            make,
            base,
            *front,
            opening,
            colors,
            style="slab",
            grip=make.pick("none", "ledge", "block"),
        )
    face = -thick if make.chance(0.7) else 0.0
    if face < 0:
        base.add(make.shapes.box((low[0], face, top), (high[0], 0.0, high[2]), colors.body))
    count = make.count(2, 6)
    positions = [
        ((a + b) / 2, top + strip / 2) for a, b in side_by_side(low[0], high[0], count, 0.0)
    ]
    radius = min(0.3 * strip, 0.25 * width / count)
    add_dials(make, base, positions, face, radius, colors.accent, moving=make.count(0, count))
    if tall and make.chance(0.8):
        _hobs(make, base, width, depth, high[2])
    return make.build()


def _hobs(make: Builder, base: LinkBuilder, width: float, depth: float, z: float) -> None:
    """Four rings, plates or a glass top."""
    shapes, dark = make.shapes, sample_color(make, "dark")
    style = make.pick("glass", "plate", "ring")
    if style == "glass":
        base.add(shapes.box((-width / 2, 0, z), (width / 2, depth, z + 0.008), dark))
    for x in (-0.24, 0.24):
        for y in (0.27, 0.73):
            radius = make.between(0.1, 0.16) * width
            if style == "ring":
                outer, inner = (
                    unit_circle(shapes.sides) * radius,
                    unit_circle(shapes.sides) * (0.75 * radius),
                )
                part = shapes.ring_plate(outer, inner, 0, 0.02, dark)
            else:
                part = shapes.cylinder(radius, 0, 0.012, shaded(dark, 0.8))
            base.add(part.moved(x * width, y * depth, z))
    if make.chance(0.4):
        base.add(
            shapes.box(
                (-width / 2, depth - 0.03, z), (width / 2, depth, z + make.between(0.05, 0.2))
            )
        )
