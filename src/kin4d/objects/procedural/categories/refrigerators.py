"""Refrigerators with one to four doors."""

from __future__ import annotations

import numpy as np

from kin4d.objects.procedural.assembly import ArticulatedObject
from kin4d.objects.procedural.builder import Builder
from kin4d.objects.procedural.doors_drawers import add_door, add_drawer
from kin4d.objects.procedural.hardware import feet
from kin4d.objects.procedural.palette import sample_color, sample_color_scheme
from kin4d.objects.procedural.panels import housing, tray


def refrigerator(rng: np.random.Generator) -> ArticulatedObject:
    """One to four doors in the usual layouts, shelves inside and bins on the doors."""
    make = Builder("refrigerator", rng, size=1.6)
    layout = make.pick("single", "stacked", "stacked", "beside", "french")
    small = layout == "single" and make.chance(0.5)
    width = make.between(0.7, 0.95) if layout in ("beside", "french") else make.between(0.45, 0.7)
    depth = make.between(0.5, 0.75)
    height = make.between(0.5, 0.9) if small else make.between(1.3, 2.0)
    colors, wall, thick = (
        sample_color_scheme(make, "appliance"),
        make.between(0.03, 0.06),
        make.between(0.03, 0.07),
    )
    foot = make.pick(0.0, make.between(0.02, 0.06))
    low, high = (-width / 2, 0.0, foot), (width / 2, depth, foot + height)
    gap = make.pick(0.0, 0.004, 0.008)
    split = foot + height * (
        make.between(0.28, 0.4) if make.chance(0.5) else make.between(0.6, 0.72)
    )
    if layout == "french":
        split = foot + height * make.between(0.3, 0.42)
    middle = make.between(-0.12, 0.08) * width if layout == "beside" else 0.0
    rows = (
        [(foot, high[2])] if layout in ("single", "beside") else [(foot, split), (split, high[2])]
    )
    inner0, inner1 = low[0] + wall, high[0] - wall
    boards = housing(
        low, high, ((inner0, 0.0, foot + wall), (inner1, depth - wall, high[2] - wall))
    )
    if len(rows) == 2:
        boards.append(((inner0, 0.0, split - wall / 2), (inner1, depth - wall, split + wall / 2)))
    if layout == "beside":
        boards.append(
            (
                (middle - wall / 2, 0.0, foot + wall),
                (middle + wall / 2, depth - wall, high[2] - wall),
            )
        )
    base = make.base(make.shapes.boards(boards, colors.body, merged=make.merged))
    if foot:
        base.add(feet(make, (low[0], 0.03), high[:2], foot, colors.accent))
    grip, style = (
        make.pick("bar", "bar", "bow", "ledge", "none"),
        make.pick("slab", "rounded", "slab"),
    )
    bins, clear = make.chance(0.6), sample_color(make, "glass", "appliance")
    for z in np.linspace(foot + wall, high[2] - wall, make.count(3, 6) + 1)[1:-1]:
        if len(rows) == 1 or (abs(z - split) > 0.05 and not (layout == "french" and z < split)):
            box = (inner0, 0.16, z), (inner1, depth - wall, z + 0.012)
            if layout == "beside":
                box = (inner0, 0.16, z), (middle - wall / 2, depth - wall, z + 0.012)
            base.add(make.shapes.box(*box, clear))
    for index, (z0, z1) in enumerate(rows):
        z0, z1 = z0 + (gap / 2 if index else 0.0), z1 - (gap / 2 if index < len(rows) - 1 else 0.0)
        if layout == "french" and index == 0:
            front = (low[0], -thick, z0), (high[0], 0.0, z1)
            opening = (inner0, 0.0, foot + wall), (inner1, depth - wall, split - wall / 2)
            add_drawer(
                make,
                base,
                *front,
                opening,
                colors,
                style=style,
                grip="bar" if grip == "bow" else grip,
            )
            continue
        paired = layout in ("beside", "french")
        spans = [(low[0], middle - gap / 2, "left"), (middle + gap / 2, high[0], "right")]
        for x0, x1, side in spans if paired else [(low[0], high[0], "left")]:
            door = add_door(
                make,
                base,
                (x0, -thick, z0),
                (x1, 0.0, z1),
                side,
                colors.front,
                colors.accent,
                style=style,
                grip=grip,
            )
            margin = wall + 0.05
            if bins and x1 - x0 > 3 * margin:
                for z in (
                    np.linspace(z0 + margin, z1 - 0.25, make.count(1, 3)) if z1 - z0 > 0.5 else ()
                ):
                    box = (x0 + margin, 0.0, z), (x1 - margin, make.between(0.06, 0.1), z + 0.08)
                    door.add(tray(make, *box, 0.006, clear))
    return make.build()
