"""Tables and desks with drawers, pedestals and leaves."""

from __future__ import annotations

import numpy as np

from kin4d.objects.procedural.assembly import ArticulatedObject
from kin4d.objects.procedural.builder import Builder, side_by_side
from kin4d.objects.procedural.carcass import fill_bays
from kin4d.objects.procedural.doors_drawers import add_drawer
from kin4d.objects.procedural.palette import ColorScheme, sample_color_scheme
from kin4d.objects.procedural.panels import shell
from kin4d.objects.procedural.profiles import ellipse, rounded_rectangle


def table(rng: np.random.Generator) -> ArticulatedObject:
    """A table or desk with drawers under its top, pedestals, or leaves that drop."""
    make = Builder("table", rng, size=1.2)
    kind = make.pick("apron", "apron", "desk", "stand", "leaves")
    width, depth = make.between(0.45, 1.8), make.between(0.4, 0.9)
    height, thick = (
        make.pick(make.between(0.4, 0.55), make.between(0.65, 0.8)),
        make.between(0.015, 0.045),
    )
    if kind == "stand":
        width = make.between(0.4, 0.7)
    colors = sample_color_scheme(make, "wood", "paint")
    over = make.between(0.01, 0.06)
    low, high = (-width / 2 + over, over), (width / 2 - over, depth - over)
    shape = make.pick("box", "box", "rounded", "oval") if kind in ("apron", "stand") else "box"
    top_z = height - thick
    shapes = make.shapes
    if shape == "box":
        top = shapes.box((-width / 2, 0, top_z), (width / 2, depth, height), colors.front)
    elif shape == "rounded":
        top = shapes.rounded_box(
            (-width / 2, 0, top_z),
            (width / 2, depth, height),
            make.between(0.03, 0.15),
            colors.front,
            bevel=0.2 * thick,
        )
    else:
        outline = ellipse(0.6 * width, 0.66 * depth, shapes.sides)
        top = shapes.prism(outline, top_z, height, colors.front).moved(0, depth / 2)
    base = make.base(top)
    leg = make.between(0.03, 0.075)
    apron = min(make.between(0.1, 0.2), 0.35 * height)
    if kind == "desk" and width > 0.8:
        pedestal = make.between(0.28, 0.36) * width
        bottom = make.pick(0.0, 0.06, 0.12)
        pedestals = (-1, 1) if make.chance(0.5) else (1,)
        for side in pedestals:
            x0, x1 = sorted((side * high[0], side * (high[0] - pedestal)))
            kinds = make.pick(
                ["drawer"] * 3, ["drawer"] * 4, ["door"], ["door", "drawer"], ["drawer", "drawer"]
            )
            wall = make.between(0.012, 0.02)
            corner0, corner1 = (x0, low[1], bottom), (x1, high[1], top_z)
            boards = shell(corner0, corner1, wall, back=0.008)
            boards += fill_bays(make, base, corner0, corner1, wall, [list(kinds)], colors)
            base.add(shapes.boards(boards, colors.body, merged=make.merged))
        for side in (-1, 1):
            upper = bottom if side in pedestals else top_z
            x = side * (high[0] - leg / 2)
            for y in (low[1], high[1] - leg) if upper > 0 else ():
                low_leg, high_leg = (x - leg / 2, y, 0), (x + leg / 2, y + leg, upper)
                base.add(shapes.box(low_leg, high_leg, colors.body))
        return make.build()
    _legs(make, base, low, high, leg, top_z, colors)
    inner0, inner1 = (low[0] + leg, low[1], top_z - apron), (high[0] - leg, high[1], top_z)
    wall = 0.016
    sides = [
        ((low[0], low[1] + leg, top_z - apron), (low[0] + wall, high[1] - leg, top_z)),
        ((high[0] - wall, low[1] + leg, top_z - apron), (high[0], high[1] - leg, top_z)),
        ((inner0[0], high[1] - wall, top_z - apron), (inner1[0], high[1], top_z)),
    ]
    base.add(shapes.boards(sides, colors.body))
    drawers = make.count(1, 3) if width > 0.8 else 1
    gap, grip = make.pick(0.0, 0.003), make.pick("bar", "bow", "knob", "block")
    if kind == "leaves":
        drawers = make.count(0, 1)
        _drop_leaves(make, base, (width, depth), top_z, thick, colors)
    for x0, x1 in side_by_side(inner0[0], inner1[0], drawers, 0.02) if drawers else ():
        opening = ((x0, low[1] + 0.02, inner0[2]), (x1, high[1] - wall, top_z - 0.004))
        add_drawer(
            make,
            base,
            (x0 + gap, low[1], inner0[2] + gap),
            (x1 - gap, low[1] + 0.02, top_z - gap),
            opening,
            colors,
            grip=grip,
        )
        if x0 > inner0[0]:
            base.add(
                shapes.box((x0 - 0.02, low[1], inner0[2]), (x0, high[1] - wall, top_z), colors.body)
            )
    if not drawers:
        base.add(
            shapes.box(
                (inner0[0], low[1], inner0[2]), (inner1[0], low[1] + 0.02, top_z), colors.body
            )
        )
    if make.chance(0.3):
        z = make.between(0.1, 0.4) * height
        base.add(
            shapes.box(
                (low[0] + 0.2 * leg, low[1] + 0.2 * leg, z),
                (high[0] - 0.2 * leg, high[1] - 0.2 * leg, z + 0.02),
                colors.body,
            )
        )
    return make.build()


def _legs(make, base, low, high, leg, top, colors: ColorScheme) -> None:
    """Four legs, square, round or tapered, at the corners of a rectangle."""
    style = make.pick("square", "taper", "round", "turned")
    for x in (low[0] + leg / 2, high[0] - leg / 2):
        for y in (low[1] + leg / 2, high[1] - leg / 2):
            half = leg / 2
            if style == "square":
                part = make.shapes.box((-half, -half, 0), (half, half, top), colors.body)
            elif style == "taper":
                outline = rounded_rectangle(leg, leg, 0.1 * leg, 8)
                part = make.shapes.prism(outline * 0.5, 0, top, colors.body, taper=2.0)
            elif style == "round":
                part = make.shapes.cylinder(half, 0, top, colors.body)
            else:
                profile = [
                    (0, 0),
                    (0.5, 0),
                    (0.6, 0.15),
                    (0.4, 0.3),
                    (0.9, 0.55),
                    (0.6, 0.65),
                    (1, 0.75),
                    (1, 1),
                    (0, 1),
                ]
                part = make.shapes.lathe(np.array(profile) * (half, top), colors.body)
            base.add(part.moved(x, y))


def _drop_leaves(make, base, size, top_z, thick, colors: ColorScheme) -> None:
    """Leaves that hang beside the top and swing up level with it."""
    width, depth = size
    length = min(make.between(0.2, 0.45), 0.8 * top_z)
    rounded = make.chance(0.5)
    for side in (-1, 1) if make.chance(0.8) else (1,):
        if rounded:
            outline = rounded_rectangle(depth, 2 * length, 0.5 * length, make.shapes.sides)
            outline = np.stack([outline[:, 0], np.minimum(outline[:, 1], 0.0)], -1)
            keep = np.ones(len(outline), bool)
            keep[1:] = np.abs(np.diff(outline, axis=0)).max(1) > 1e-9
            part = (
                make.shapes.prism(outline[keep], 0, thick, colors.front)
                .facing_side()
                .moved(0, depth / 2)
            )
        else:
            part = make.shapes.box((0, 0, -length), (thick, depth, 0), colors.front)
        x = side * width / 2
        part = (part if side > 0 else part.mirrored(0)).moved(x, 0, top_z)
        make.hinge("leaf", base, (x, 0, top_z), (0, -side, 0), (0.0, np.pi / 2)).add(part)
