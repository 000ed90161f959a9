"""Toasters with one to four slots."""

from __future__ import annotations

import numpy as np

from kin4d.objects.procedural.assembly import ArticulatedObject
from kin4d.objects.procedural.builder import Builder, LinkBuilder, side_by_side
from kin4d.objects.procedural.hardware import feet, knob
from kin4d.objects.procedural.palette import sample_color, shaded
from kin4d.objects.procedural.profiles import rounded_rectangle


def toaster(rng: np.random.Generator) -> ArticulatedObject:
    """Slots on top, a lever at the end that lowers the bread, a dial for how brown."""
    make = Builder("toaster", rng, size=0.35)
    shapes = make.shapes
    slots = make.pick(1, 2, 2, 2, 4)
    length = make.between(0.22, 0.32) * (1.0 if slots < 4 else 0.95)
    rows = min(slots, 2)
    width = make.between(0.07, 0.09) * rows + 0.05
    if slots == 4:
        length *= 1.25
    height, foot = make.between(0.15, 0.21), make.pick(0.004, make.between(0.008, 0.02))
    color, accent = (
        sample_color(make, "metal", "plastic", "appliance"),
        sample_color(make, "dark", "metal"),
    )
    base = make.base()
    low, high = (-length / 2, -width / 2, foot), (length / 2, width / 2, foot + height)
    slot = make.between(0.026, 0.034)
    margin, end = 0.02, make.between(0.03, 0.05)
    openings = [
        (y - slot / 2, y + slot / 2)
        for y in (
            np.linspace(-0.5, 0.5, rows) * (width - slot - 2 * margin) if rows > 1 else (0.0,)
        )
    ]
    # Long walls between the slots, a floor, and end blocks that may be rounded.
    edges = [low[1], *(edge for pair in openings for edge in pair), high[1]]
    walls = [
        ((low[0] + end, edges[i], foot), (high[0] - end, edges[i + 1], high[2]))
        for i in range(0, len(edges), 2)
    ]
    walls += [((low[0] + end, a, foot), (high[0] - end, b, foot + 0.03)) for a, b in openings]
    if slots == 4:
        walls += [((-0.012, a, foot + 0.03), (0.012, b, high[2])) for a, b in openings]
    base.add(shapes.boards(walls, color, merged=make.merged))
    radius = make.pick(0.0, make.between(0.008, 0.025))
    for side in (-1, 1):
        x0, x1 = sorted((side * length / 2, side * (length / 2 - end)))
        if radius:
            outline = rounded_rectangle(width, height, radius, shapes.sides)
            block = shapes.prism(
                outline, x0, x1, accent if make.chance(0.3) else color
            ).facing_side()
            base.add(block.moved(0, 0, foot + height / 2))
        else:
            base.add(shapes.box((x0, low[1], foot), (x1, high[1], high[2]), color))
    base.add(feet(make, low[:2], high[:2], foot, accent))
    travel = make.between(0.35, 0.5) * height
    bread = make.chance(0.4)
    levers = 2 if slots == 2 and make.chance(0.35) else 1
    top = foot + 0.75 * height
    groups = [openings] if levers == 1 else [[o] for o in openings]
    for group in groups:
        y = (group[0][0] + group[-1][1]) / 2
        lever = make.slider("lever", base, (0, 0, -1), (0.0, travel))
        x = high[0]
        base.add(
            shapes.box(
                (x, y - 0.005, top - travel - 0.02),
                (x + 0.0008, y + 0.005, top + 0.02),
                shaded(accent, 0.6),
            )
        )
        size = make.between(0.014, 0.022)
        lever.add(
            shapes.rounded_box(
                (x + 0.001, y - size, top - 0.006),
                (x + 0.001 + 1.4 * size, y + size, top + 0.006),
                0.006,
                accent,
            )
        )
        _carriage(
            make, lever, group, (low[0] + end, high[0] - end), (foot, high[2]), travel, bread, slots
        )
    if make.chance(0.7):
        y = 0.3 * width if levers == 1 else 0.0
        z = foot + 0.25 * height
        dial = knob(make, make.between(0.012, 0.018), 0.014, accent).rotated("z", np.pi / 2)
        if make.chance(0.7):
            make.hinge("dial", base, (high[0], y, z), (1, 0, 0), (-2.4, 2.4)).add(
                dial.moved(high[0], y, z)
            )
        else:
            base.add(dial.moved(high[0], y, z))
    return make.build()


def _carriage(
    make: Builder,
    lever: LinkBuilder,
    slots: list[tuple[float, float]],
    along: tuple[float, float],
    up: tuple[float, float],
    travel: float,
    bread: bool,
    count: int,
) -> None:
    """What the lever carries inside the slots: a wire rack, and sometimes slices of bread."""
    shapes = make.shapes
    foot, top = up
    crust = (176, 118, 62)
    lowest = foot + 0.035 + travel
    spans = side_by_side(along[0] + 0.006, along[1] - 0.006, 2 if count == 4 else 1, 0.036)
    for y0, y1 in slots:
        middle = (y0 + y1) / 2
        for x0, x1 in spans:
            lever.add(
                shapes.box(
                    (x0, middle - 0.004, lowest),
                    (x1, middle + 0.004, lowest + 0.004),
                    (120, 122, 126),
                )
            )
            if not bread:
                continue
            thick = 0.38 * (y1 - y0)
            tall = min(0.1, top - lowest + 0.02)
            wide = min(0.11, x1 - x0 - 0.01)
            outline = rounded_rectangle(wide, tall, 0.02, shapes.sides)
            slice_ = shapes.prism(outline, -thick, thick, crust).facing_front()
            lever.add(slice_.moved((x0 + x1) / 2, middle, lowest + 0.004 + tall / 2))
