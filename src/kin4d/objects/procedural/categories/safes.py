"""Safes, and the locks on their doors."""

from __future__ import annotations

import numpy as np

from kin4d.objects.procedural.assembly import ArticulatedObject
from kin4d.objects.procedural.builder import Builder, LinkBuilder
from kin4d.objects.procedural.doors_drawers import add_buttons, add_dials, add_door
from kin4d.objects.procedural.hardware import feet
from kin4d.objects.procedural.palette import sample_color_scheme
from kin4d.objects.procedural.panels import Point, housing
from kin4d.objects.procedural.parts import Color


def safe(rng: np.random.Generator) -> ArticulatedObject:
    """Thick walls, a thick door, and on it a dial, a wheel, a lever or keys."""
    make = Builder("safe", rng, size=0.7)
    width, depth = make.between(0.3, 0.7), make.between(0.28, 0.6)
    height = make.pick(make.between(0.2, 0.45), make.between(0.4, 0.9), make.between(0.9, 1.5))
    colors = sample_color_scheme(make, "dark", "appliance", "paint")
    wall, thick = make.between(0.03, 0.07), make.between(0.03, 0.06)
    foot = make.pick(0.0, make.between(0.015, 0.05))
    low, high = (-width / 2, 0.0, foot), (width / 2, depth, foot + height)
    hollow = (low[0] + wall, 0.0, foot + wall), (high[0] - wall, depth - wall, high[2] - wall)
    base = make.base(
        make.shapes.boards(housing(low, high, hollow), colors.body, merged=make.merged)
    )
    if foot:
        base.add(feet(make, low[:2], high[:2], foot, colors.accent))
    inset, gap = make.chance(0.5), make.pick(0.001, 0.004)
    if inset:
        low_d = (hollow[0][0] + gap, 0.0, hollow[0][2] + gap)
        high_d = (hollow[1][0] - gap, thick, hollow[1][2] - gap)
    else:
        low_d, high_d = (low[0], -thick, foot), (high[0], 0.0, high[2])
    if make.chance(0.5) and height > 0.35:
        z = foot + height * make.between(0.35, 0.65)
        box = (hollow[0][0], thick + 0.02, z), (hollow[1][0], hollow[1][1], z + 0.01)
        base.add(make.shapes.box(*box, colors.inside))
    door = add_door(
        make,
        base,
        low_d,
        high_d,
        "left",
        colors.front,
        colors.accent,
        grip="none",
        style=make.pick("slab", "slab", "panelled", "rounded"),
        widest=2.4,
    )
    if not inset and make.chance(0.5):
        radius = make.between(0.008, 0.014)
        for z in (0.2, 0.8):
            part = make.shapes.cylinder(radius, -0.05, 0.05, colors.accent)
            door.add(part.moved(low[0], -thick - radius, foot + z * height))
    _lock(make, door, low_d, high_d, colors.accent)
    return make.build()


def _lock(make: Builder, door: LinkBuilder, low: Point, high: Point, color: Color) -> None:
    """Dial and handle, or keypad and lever, on the face of a safe's door."""
    (x0, y, z0), (x1, _, z1) = low, high
    size = min(x1 - x0, z1 - z0)
    shapes, middle = make.shapes, (z0 + z1) / 2
    x = x0 + (x1 - x0) * make.between(0.66, 0.72)
    if make.chance(0.55):
        radius = make.between(0.08, 0.13) * size
        add_dials(make, door, [(x0 + 0.3 * (x1 - x0), middle)], y, radius, color, moving=1)
    else:
        half = 0.13 * size
        corners = (
            (x0 + 0.3 * (x1 - x0) - half, middle - half),
            (x0 + 0.3 * (x1 - x0) + half, middle + half),
        )
        rows = make.count(3, 4)
        add_buttons(make, door, *corners, y, (3, rows), color, moving=make.pick(0, 0, 4, 9))
    style = make.pick("wheel", "lever", "grip", "fixed")
    if style == "fixed":
        door.add(
            shapes.box(
                (x, y - 0.03, middle - 0.2 * size), (x + 0.02, y, middle + 0.2 * size), color
            )
        )
        return
    limits = (0.0, make.between(1.2, 1.6)) if style == "lever" else (-np.pi / 2, np.pi / 2)
    link = make.hinge("handle", door, (x, y, middle), (0, -1, 0), limits)
    radius, reach = 0.16 * size, make.between(0.03, 0.05)
    link.add(shapes.cylinder(0.25 * radius, 0, reach, color).facing_front().moved(x, y, middle))
    bar = 0.13 * radius
    if style == "lever":
        box = (
            (x - bar, y - reach - bar, middle - 0.4 * bar),
            (x + 1.3 * radius, y - reach + bar, middle + bar),
        )
        link.add(shapes.box(*box, color))
        return
    for angle in np.arange(spokes := make.count(3, 5)) * (2 * np.pi / spokes):
        spoke = shapes.box((0, -bar, -bar), (radius, bar, bar), color).rotated("y", float(angle))
        link.add(spoke.moved(x, y - reach, middle))
    if style == "wheel":
        angle = np.linspace(0, 2 * np.pi, shapes.sides, endpoint=False)
        path = np.stack([radius * np.cos(angle), np.zeros_like(angle), radius * np.sin(angle)], -1)
        link.add(
            shapes.tube(path, 1.3 * bar, (0, -1, 0), color, closed=True).moved(x, y - reach, middle)
        )
