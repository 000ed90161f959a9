"""Machines that wash: dishwasher and washing machine."""

from __future__ import annotations

import numpy as np

from kin4d.objects.procedural.assembly import ArticulatedObject
from kin4d.objects.procedural.builder import Builder, LinkBuilder
from kin4d.objects.procedural.doors_drawers import add_buttons, add_dials, add_door, add_drawer
from kin4d.objects.procedural.hardware import feet
from kin4d.objects.procedural.palette import sample_color, sample_color_scheme, shaded
from kin4d.objects.procedural.panels import housing, panel, tray
from kin4d.objects.procedural.parts import Color
from kin4d.objects.procedural.profiles import rectangle_by_angle, unit_circle


def dishwasher(rng: np.random.Generator) -> ArticulatedObject:
    """A door that drops open over the whole front, baskets inside, controls above or on it."""
    make = Builder("dishwasher", rng, size=0.9)
    width, depth, height = (
        make.between(0.44, 0.62),
        make.between(0.5, 0.62),
        make.between(0.5, 0.88),
    )
    colors, wall, thick = (
        sample_color_scheme(make, "appliance"),
        make.between(0.015, 0.04),
        make.between(0.025, 0.06),
    )
    foot = make.pick(0.0, make.between(0.04, 0.12))
    low, high = (-width / 2, 0.0, foot), (width / 2, depth, foot + height)
    strip = make.pick(0.0, make.between(0.06, 0.12))
    top = high[2] - strip
    hollow = (low[0] + wall, 0.0, foot + 2 * wall), (high[0] - wall, depth - wall, top - wall)
    base = make.base(
        make.shapes.boards(housing(low, high, hollow), colors.body, merged=make.merged)
    )
    if foot:
        base.add(feet(make, (low[0], 0.02), high[:2], foot, colors.accent))
    gap = make.pick(0.0, 0.003)
    door = add_door(
        make,
        base,
        (low[0], -thick, foot),
        (high[0], 0.0, top - gap),
        "bottom",
        colors.front,
        colors.accent,
        style=make.pick("slab", "slab", "rounded", "panelled"),
        grip=make.pick("bar", "bow", "ledge", "none"),
        widest=1.6,
    )
    if make.chance(0.5):
        # The inner side of a real door is a shallow moulding.
        m = 2 * wall + 0.01
        box = (low[0] + m, 0.0, foot + m + 0.02), (high[0] - m, 0.012, top - m)
        door.add(make.shapes.box(*box, shaded(colors.inside, 0.9)))
    basket = sample_color(make, "metal", "paint")
    for z in (hollow[0][2] + 0.03, (hollow[0][2] + hollow[1][2]) / 2) if make.chance(0.7) else ():
        box = (hollow[0][0] + 0.01, 0.05, z), (hollow[1][0] - 0.01, hollow[1][1] - 0.02, z + 0.1)
        base.add(tray(make, *box, 0.006, basket))
    if strip:
        face = -thick if make.chance(0.8) else 0.0
        if face < 0:
            base.add(make.shapes.box((low[0], face, top), (high[0], 0.0, high[2]), colors.front))
        corners = (-0.4 * width, top + 0.3 * strip), (0.1 * width, top + 0.7 * strip)
        moving = make.pick(0, 1, 2, 5)
        add_buttons(make, base, *corners, face, (make.count(3, 7), 1), colors.accent, moving=moving)
        if make.chance(0.5):
            dial = [(0.32 * width, top + strip / 2)]
            add_dials(make, base, dial, face, 0.3 * strip, colors.accent, moving=1)
    if make.chance(0.4):
        box = (low[0], -thick, high[2]), (high[0], depth, high[2] + 0.025)
        base.add(make.shapes.box(*box, sample_color(make, "wood", "paint")))
    return make.build()


def washing_machine(rng: np.random.Generator) -> ArticulatedObject:
    """A front loader with a round door, or a top loader with a lid."""
    make = Builder("washing_machine", rng, size=1.0)
    width, depth, height = (
        make.between(0.5, 0.68),
        make.between(0.45, 0.65),
        make.between(0.75, 1.0),
    )
    colors = sample_color_scheme(make, "appliance")
    foot = make.pick(0.0, make.between(0.015, 0.05))
    base = make.base()
    if foot:
        base.add(feet(make, (-width / 2, 0), (width / 2, depth), foot, colors.accent))
    shapes, wall = make.shapes, 0.02
    strip = make.between(0.1, 0.16)
    low, high = (-width / 2, 0.0, foot), (width / 2, depth, foot + height)
    if make.chance(0.7):
        sides = max(16, shapes.sides)
        body_top = high[2] - strip
        middle = (foot + body_top) / 2
        radius = make.between(0.26, 0.36) * min(width, body_top - foot)
        face = rectangle_by_angle(width, body_top - foot, sides)
        hole = unit_circle(sides) * radius
        plate = (
            shapes.ring_plate(face, hole, -wall, 0, colors.body).facing_front().moved(0, 0, middle)
        )
        base.add(plate)
        shell = [
            ((low[0], wall, foot), (low[0] + wall, depth, body_top)),
            ((high[0] - wall, wall, foot), (high[0], depth, body_top)),
            ((low[0] + wall, wall, foot), (high[0] - wall, depth, foot + wall)),
            ((low[0] + wall, depth - wall, foot + wall), (high[0] - wall, depth, body_top)),
        ]
        base.add(shapes.boards(shell, colors.body, merged=make.merged))
        deep = 0.75 * depth
        profile = [
            (0, -deep),
            (1.02 * radius, -deep),
            (1.02 * radius, -wall),
            (radius, -wall),
            (0.99 * radius, -deep + 0.01),
            (0, -deep + 0.01),
        ]
        drum = shapes.lathe(profile, sample_color(make, "metal"), sides=sides).facing_front()
        if make.chance(0.5):
            link = make.hinge("drum", base, (0, wall, middle), (0, 1, 0), (-np.pi, np.pi))
            link.add(drum.moved(0, 0.002, middle))
        else:
            base.add(drum.moved(0, 0.002, middle))
        _porthole(make, base, radius, middle, colors.accent, sides)
        _washer_panel(make, base, width, depth, body_top, high[2], colors)
    else:
        _top_loader(make, base, low, high, strip, colors)
    return make.build()


def _porthole(
    make: Builder, base: LinkBuilder, radius: float, z: float, accent: Color, sides: int
) -> None:
    """A round glass door hinged at its left."""
    shapes = make.shapes
    rim, thick = radius * make.between(1.08, 1.2), make.between(0.02, 0.045)
    gap = make.pick(0.0, 0.003)
    y = -gap
    door = make.hinge("door", base, (-rim, y - thick, z), (0, 0, -1), (0.0, make.between(1.4, 2.7)))
    outer, inner = unit_circle(sides) * rim, unit_circle(sides) * (0.78 * radius)
    ring = shapes.ring_plate(
        outer, inner, 0, thick, accent if make.chance(0.5) else sample_color(make, "appliance")
    )
    door.add(ring.facing_front().moved(0, y, z))
    bulge = make.between(0.02, 0.06)
    glass = [
        (0, -bulge),
        (0.55 * radius, -0.8 * bulge),
        (0.78 * radius, 0.3 * thick),
        (0.78 * radius, 0.6 * thick),
        (0, 0.6 * thick),
    ]
    door.add(
        shapes.lathe(glass, sample_color(make, "glass", "dark"), sides=sides)
        .facing_front()
        .moved(0, y, z)
    )
    grip = shapes.box((0.88 * rim, -0.018, -0.05), (0.97 * rim, 0.0, 0.05), shaded(accent))
    door.add(grip.moved(0, y - thick, z))


def _washer_panel(
    make: Builder, base: LinkBuilder, width: float, depth: float, z0: float, z1: float, colors
) -> None:
    """Detergent drawer, dial and buttons above the door."""
    shapes, wall = make.shapes, 0.02
    x = -width / 2 + 0.3 * width
    boards = [
        ((x, 0, z0), (width / 2, depth, z1 - wall)),
        ((-width / 2, 0, z1 - wall), (width / 2, depth, z1)),
        ((-width / 2, 0, z0), (-width / 2 + wall, depth, z1 - wall)),
        ((-width / 2 + wall, 0.6 * depth, z0), (x, depth, z1 - wall)),
        ((-width / 2 + wall, 0, z0), (x, 0.6 * depth, z0 + 0.006)),
    ]
    base.add(shapes.boards(boards, colors.body, merged=make.merged))
    front = (-width / 2 + wall, 0.0, z0 + 0.006), (x, 0.015, z1 - wall)
    opening = (-width / 2 + wall, 0.015, z0 + 0.006), (x, 0.58 * depth, z1 - wall)
    if make.chance(0.7):
        grip = make.pick("none", "ledge", "block")
        add_drawer(
            make,
            base,
            *front,
            opening,
            colors,
            style="slab",
            grip=grip,
        )
    else:
        base.add(panel(make, *front, colors.front, style="slab"))
    middle = (z0 + z1) / 2
    if make.chance(0.7):
        dial = [(x + 0.14 * width, middle)]
        add_dials(make, base, dial, 0.0, 0.28 * (z1 - z0), colors.accent, moving=1)
    corners = (x + 0.3 * width, middle - 0.015), (width / 2 - 0.03, middle + 0.015)
    add_buttons(
        make,
        base,
        *corners,
        0.0,
        (make.count(2, 6), 1),
        colors.accent,
        moving=make.pick(0, 0, 2, 6),
    )


def _top_loader(make: Builder, base: LinkBuilder, low, high, strip: float, colors) -> None:
    """A lid on top in front of a raised panel, a drum below it."""
    shapes, wall = make.shapes, 0.02
    (x0, y0, z0), (x1, y1, z1) = low, high
    sides = max(16, shapes.sides)
    panel = make.between(0.12, 0.18)
    radius = 0.42 * min(x1 - x0, y1 - y0 - panel)
    middle = (y0 + y1 - panel) / 2
    hole = unit_circle(sides) * radius
    face = rectangle_by_angle(x1 - x0, y1 - y0 - panel, sides)
    base.add(shapes.ring_plate(face, hole, z1 - wall, z1, colors.body).moved(0, middle))
    shell = [
        ((x0, y0, z0), (x0 + wall, y1, z1 - wall)),
        ((x1 - wall, y0, z0), (x1, y1, z1 - wall)),
        ((x0 + wall, y0, z0), (x1 - wall, y0 + wall, z1 - wall)),
        ((x0 + wall, y1 - wall, z0), (x1 - wall, y1, z1 - wall)),
        ((x0, y1 - panel, z1 - wall), (x1, y1, z1)),
        ((x0, y1 - 0.6 * panel, z1), (x1, y1, z1 + strip)),
    ]
    base.add(shapes.boards(shell, colors.body, merged=make.merged))
    deep = 0.6 * (z1 - z0)
    profile = [
        (0, z1 - deep),
        (0.99 * radius, z1 - deep),
        (0.99 * radius, z1 - wall),
        (0.96 * radius, z1 - wall),
        (0.96 * radius, z1 - deep + 0.01),
        (0, z1 - deep + 0.01),
    ]
    drum = shapes.lathe(profile, sample_color(make, "metal"), sides=sides).moved(0, middle)
    if make.chance(0.5):
        make.hinge("drum", base, (0, middle, z1 - deep), (0, 0, 1), (-np.pi, np.pi)).add(drum)
    else:
        base.add(drum)
    gap, hinge_y = make.pick(0.0, 0.002), y1 - panel - 0.01
    lid = make.hinge(
        "lid", base, (0, hinge_y, z1 + gap), (-1, 0, 0), (0.0, make.between(1.2, 1.55))
    )
    margin = make.between(0.0, 0.04)
    lid.add(
        shapes.rounded_box(
            (x0 + margin, y0 + margin, z1 + gap),
            (x1 - margin, hinge_y, z1 + gap + 0.02),
            0.02,
            colors.front,
        )
    )
    face_y, z = y1 - 0.6 * panel, z1 + strip / 2
    positions = [(x, z) for x in np.linspace(-0.3, 0.3, make.count(1, 3)) * (x1 - x0)]
    # Short dials: the open lid leans towards them.
    add_dials(
        make,
        base,
        positions,
        face_y,
        min(0.25 * strip, 0.02),
        colors.accent,
        moving=make.count(0, len(positions)),
    )
