"""What is fitted to furniture and machines: handles, knobs, feet, wheels, stands."""

from __future__ import annotations

import numpy as np

from kin4d.objects.procedural.builder import Builder, LinkBuilder
from kin4d.objects.procedural.parts import Color, MeshPart
from kin4d.objects.procedural.profiles import arc, rounded_path, rounded_rectangle


def handle(
    make: Builder,
    at: tuple[float, float, float],
    length: float,
    color: Color,
    *,
    vertical: bool,
    room: float = np.inf,
    style: str | None = None,
) -> tuple[list[MeshPart], float]:
    """A pull on a front face: its middle `at` (m) on the face, sticking out towards -y.

    It is no wider, across its length, than `room` (m).

    Returns:
        Its parts, and how far it sticks out, m.
    """
    shapes = make.shapes
    style = style or make.pick("bar", "bar", "bow", "knob", "ledge", "block")
    reach = make.between(0.018, 0.045) * min(1.0, max(length, 0.06) / 0.12)
    half = length / 2
    thick = min(make.between(0.008, 0.018), 0.12 * length + 0.003, room / 2)
    if style == "knob":
        radius = min(make.between(0.012, 0.022), 0.3 * length, room / 2)
        parts = [knob(make, radius, reach, color, marked=False)]
    elif style == "bar":
        post = half * make.between(0.6, 0.95)
        width = thick * make.between(0.7, 1.6)
        round_bar = make.chance(0.5)
        parts = [
            shapes.box(
                (s * post - thick / 2, -reach + thick / 2, -thick / 2),
                (s * post + thick / 2, 0, thick / 2),
                color,
            )
            for s in (-1, 1)
        ]
        if round_bar:
            bar = shapes.cylinder(thick / 2, -half, half, color).rotated("y", np.pi / 2)
            parts.append(bar.moved(0, -reach + thick / 2))
        else:
            parts.append(
                shapes.box((-half, -reach, -width / 2), (half, -reach + thick, width / 2), color)
            )
    elif style == "bow":
        corners = [(-half, 0, 0), (-half * 0.75, -reach + thick / 2, 0)]
        corners += [(half * 0.75, -reach + thick / 2, 0), (half, 0, 0)]
        path = rounded_path(np.array(corners), half * 0.6, 4)
        parts = [shapes.tube(path, thick / 2, (0, 0, 1), color)]
    elif style == "ledge":
        parts = [
            shapes.box((-half, -reach, 0), (half, 0, thick / 3), color),
            shapes.box((-half, -reach, -thick), (half, -reach + thick / 3, 0), color),
        ]
    else:
        parts = [shapes.rounded_box((-half, -reach, -thick), (half, 0, thick), thick / 2, color)]
    if vertical:
        parts = [part.rotated("y", np.pi / 2) for part in parts]
    x, y, z = at
    return [part.moved(x, y, z) for part in parts], reach


def knob(
    make: Builder, radius: float, depth: float, color: Color, *, marked: bool = True
) -> MeshPart:
    """A turned knob on the plane y = 0 about the y axis, sticking out `depth` towards -y.

    `marked` gives it a grip or a pointer's flat, so that turning shows.
    """
    shapes = make.shapes
    neck, waist = make.between(0.5, 1.0), make.between(0.1, 0.5)
    if not marked:
        profile = [(0, 0), (radius * neck * 0.7, 0), (radius * neck * 0.6, depth * waist)]
        profile += [(radius, depth * (waist + 0.2)), (radius * 0.9, depth * 0.95), (0, depth)]
        return shapes.lathe(profile, color).facing_front()
    style = make.pick("grip", "flat", "scallop")
    sides = shapes.sides if style != "flat" else max(shapes.sides, 16)
    angle = np.arange(sides) * (2 * np.pi / sides)
    if style == "grip":
        # A bar across the dial.
        outline = rounded_rectangle(2 * radius, 0.55 * radius, 0.2 * radius, shapes.sides)
    else:
        wave = 1 + 0.08 * np.cos(make.count(5, 9) * angle) if style == "scallop" else np.ones(sides)
        outline = radius * wave[:, None] * np.stack([np.cos(angle), np.sin(angle)], -1)
        if style == "flat":
            outline[:, 1] = np.minimum(outline[:, 1], 0.72 * radius)
    return shapes.prism(outline, 0, depth, color, bevel=0.15 * depth, taper=0.9).facing_front()


def feet(
    make: Builder, low: tuple[float, float], high: tuple[float, float], height: float, color: Color
) -> list[MeshPart]:
    """Four feet, a plinth or skids under the rectangle from `low` to `high` (x, y), from z = 0."""
    shapes = make.shapes
    (x0, y0), (x1, y1) = low, high
    style = make.pick("block", "round", "taper", "plinth", "skid")
    small = 0.14 * min(x1 - x0, y1 - y0)
    width = min(make.between(0.6, 1.0) * small, 0.06)
    inset = width / 2 + make.between(0.0, 0.5) * small
    if style == "plinth":
        m = make.between(0.02, 0.1) * min(x1 - x0, y1 - y0)
        return [shapes.box((x0 + m, y0 + m, 0), (x1 - m, y1 - m, height), color)]
    if style == "skid":
        return [
            shapes.box((x - width / 2, y0, 0), (x + width / 2, y1, height), color)
            for x in (x0 + inset, x1 - inset)
        ]
    parts = []
    for x in (x0 + inset, x1 - inset):
        for y in (y0 + inset, y1 - inset):
            if style == "block":
                foot = shapes.box(
                    (-width / 2, -width / 2, 0), (width / 2, width / 2, height), color
                )
            else:
                tip = 1.0 if style == "round" else 1.6
                foot = shapes.cylinder(width / 2 / tip, 0, height, color, tip=tip)
            parts.append(foot.moved(x, y))
    return parts


def bail(
    make: Builder,
    radius: float,
    rise: float,
    thick: float,
    color: Color,
    *,
    square: bool = False,
    leg: float = 0.0,
) -> MeshPart:
    """A hoop handle in the xz plane from (-radius, 0, 0) over z = `rise` to (radius, 0, 0).

    A round one goes straight up for `leg` (m) before it bends inwards.
    """
    steps = max(16, make.shapes.sides // 2)
    if square:
        corners = [(-radius, 0, 0), (-radius, 0, rise), (radius, 0, rise), (radius, 0, 0)]
        path = rounded_path(np.array(corners), 0.3 * min(radius, rise), steps // 3)
    else:
        flat = arc(1.0, np.pi, 0.0, steps) * (radius, rise - leg) + (0, leg)
        if leg > 0:
            flat = np.concatenate([[(-radius, 0)], flat, [(radius, 0)]])
        path = np.stack([flat[:, 0], np.zeros(len(flat)), flat[:, 1]], -1)
    return make.shapes.tube(path, thick, (0, 1, 0), color)


def wheel(make: Builder, radius: float, width: float, color: Color) -> MeshPart:
    """A wheel with a dished face, along z from 0 to `width`, with flats so that turning shows."""
    sides = max(12, make.shapes.sides)
    profile = [
        (0, 0.3 * width),
        (0.55 * radius, 0.2 * width),
        (0.65 * radius, 0),
        (0.95 * radius, 0),
        (radius, 0.2 * width),
        (radius, 0.8 * width),
        (0.95 * radius, width),
        (0.65 * radius, width),
        (0.55 * radius, 0.8 * width),
        (0, 0.7 * width),
    ]
    return make.shapes.lathe(profile, color, sides=sides)


def stand(make: Builder, color: Color, size: float) -> tuple[LinkBuilder, float]:
    """The foot of a lamp or fan, `size` (m) in radius; returns its link and its top's height."""
    shapes = make.shapes
    height = make.between(0.15, 0.3) * size
    style = make.pick("disc", "dome", "square")
    if style == "square":
        outline = rounded_rectangle(1.8 * size, 1.5 * size, 0.2 * size, shapes.sides)
        part = shapes.prism(outline, 0, height, color, bevel=0.2 * height)
    else:
        top = size if style == "disc" else 0.45 * size
        part = shapes.lathe(
            [
                (0, 0),
                (size, 0),
                (0.5 * (size + top), 0.6 * height),
                (0.9 * top, height),
                (0, height),
            ],
            color,
        )
    return make.base(part), height
