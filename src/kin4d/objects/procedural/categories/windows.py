"""Windows with sashes that swing, tilt or slide."""

from __future__ import annotations

import numpy as np

from kin4d.objects.procedural.assembly import ArticulatedObject
from kin4d.objects.procedural.builder import Builder, LinkBuilder, side_by_side
from kin4d.objects.procedural.doors_drawers import add_door
from kin4d.objects.procedural.palette import sample_color
from kin4d.objects.procedural.panels import frame, panel
from kin4d.objects.procedural.parts import Color


def window(rng: np.random.Generator) -> ArticulatedObject:
    """Casement, awning, hopper, sliding or double hung sashes, and fixed lights."""
    make = Builder("window", rng, size=1.2)
    width, height = make.between(0.5, 1.6), make.between(0.5, 1.5)
    bar, deep = make.between(0.03, 0.07), make.between(0.06, 0.14)
    color, glass = sample_color(make, "paint", "wood", "dark"), sample_color(make, "glass")
    low, high = (-width / 2, 0.0, 0.0), (width / 2, deep, height)
    base = make.base(make.shapes.boards(frame(low, high, bar), color, merged=make.merged))
    if make.chance(0.3):
        base.add(make.shapes.box((low[0] - 0.05, -0.08, -0.03), (high[0] + 0.05, deep, 0.0), color))
    kind = make.pick("casement", "casement", "awning", "slide", "hung")
    x0, x1, z0, z1 = low[0] + bar, high[0] - bar, bar, height - bar
    sash = color if make.chance(0.6) else sample_color(make, "paint", "wood")
    if kind in ("slide", "hung"):
        _sliding_sashes(make, base, (x0, x1), (z0, z1), deep, sash, glass, upright=kind == "hung")
        return make.build()
    columns = make.count(1, 3) if width > 0.8 else 1
    gap, thick = make.pick(0.001, 0.003), make.between(0.03, 0.05)
    moving = 0
    for i, (a, b) in enumerate(side_by_side(x0, x1, columns, bar)):
        if i:
            base.add(make.shapes.box((a - bar, 0, z0), (a, deep, z1), color))
        box = (a + gap, 0.0, z0 + gap), (b - gap, thick, z1 - gap)
        last = i == columns - 1
        if make.chance(0.7) or (last and not moving):
            moving += 1
            # Sashes side by side hang on the outer jambs or on their left, one to a post.
            side = "right" if last and columns > 1 else "left"
            if kind == "awning":
                side = make.pick("top", "bottom")
            link = add_door(
                make,
                base,
                *box,
                side,
                sash,
                sample_color(make, "metal"),
                style="glazed",
                grip="none",
                free=columns == 1,
                widest=1.57 if kind == "awning" else 2.4,
            )
            x = b - 0.03 if side == "left" else a + 0.03
            if kind == "awning":
                x = (a + b) / 2
            z = (z0 + z1) / 2 if kind == "casement" else (z0 + 0.03 if side == "top" else z1 - 0.03)
            wide, tall = (0.04, 0.01) if kind == "awning" else (0.01, 0.04)
            low_h, high_h = (x - wide, thick, z - tall), (x + wide, thick + 0.015, z + tall)
            link.add(make.shapes.box(low_h, high_h, sample_color(make, "metal")))
        else:
            base.add(panel(make, *box, color, style="glazed", glass=glass))
    return make.build()


def _sliding_sashes(
    make: Builder,
    base: LinkBuilder,
    across: tuple[float, float],
    up: tuple[float, float],
    deep: float,
    color: Color,
    glass: Color,
    *,
    upright: bool,
) -> None:
    """Two sashes in tracks one behind the other that slide past each other."""
    (x0, x1), (z0, z1) = across, up
    thick, gap = 0.4 * deep, make.pick(0.0, 0.002)
    start, stop = (z0, z1) if upright else (x0, x1)
    overlap = make.between(0.02, 0.05)
    length = (stop - start + overlap) / 2
    room = stop - start - length
    both = make.chance(0.6)
    for i in range(2):
        y = 0.08 * deep + i * (thick + 0.02 * deep)
        a = start + gap if i == 0 else stop - length
        b = a + length - gap
        if upright:
            low, high = (x0 + gap, y, a), (x1 - gap, y + thick, b)
        else:
            low, high = (a, y, z0 + gap), (b, y + thick, z1 - gap)
        part = panel(make, low, high, color, style="glazed", glass=glass)
        if i == 1 and not both:
            base.add(part)
            continue
        axis = (0, 0, 1) if upright else (1, 0, 0)
        limits = (0.0, room - gap) if i == 0 else (-(room - gap), 0.0)
        link = make.slider("sash", base, axis, limits).add(part)
        x, z = (
            ((x0 + x1) / 2, a + 0.02)
            if upright
            else (a + 0.02 if i == 0 else b - 0.02, (z0 + z1) / 2)
        )
        if i == 0:
            link.add(
                make.shapes.box(
                    (x - 0.012, y - 0.012, z - 0.012),
                    (x + 0.012, y, z + 0.012),
                    sample_color(make, "metal"),
                )
            )
