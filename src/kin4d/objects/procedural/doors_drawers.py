"""Moving fronts: doors, drawers, dials and buttons, with the clearances that let them move freely.

A door turns about the edge of its front face and is as much narrower than its opening as its inner
corner swings out. Within a right angle no point of it then leaves the space in front of its own
opening, so doors and drawers side by side never meet.
"""

from __future__ import annotations

import numpy as np

from kin4d.objects.procedural.builder import Builder, LinkBuilder, side_by_side
from kin4d.objects.procedural.hardware import handle, knob
from kin4d.objects.procedural.palette import ColorScheme
from kin4d.objects.procedural.panels import Point, panel, tray
from kin4d.objects.procedural.parts import Color

# Per hinge side: the sense of positive angles, so that the door opens towards -y.
_AXES = {"left": (0, 0, -1), "right": (0, 0, 1), "bottom": (1, 0, 0), "top": (-1, 0, 0)}


def add_door(
    make: Builder,
    parent: LinkBuilder,
    low: Point,
    high: Point,
    side: str,
    color: Color,
    accent: Color,
    *,
    free: bool = True,
    style: str | None = None,
    grip: str | None = None,
    name: str = "door",
    widest: float = 2.7,
) -> LinkBuilder:
    """A hinged leaf filling the box from `low` to `high`, but for room to swing at its free edge.

    Args:
        make: The builder.
        parent: What it hangs on.
        low: Lower corner, m; the face is at y = ``low[1]``.
        high: Upper corner, m.
        side: Hinge edge: left, right, top or bottom.
        color: Of the leaf.
        accent: Of the handle.
        free: Nothing stands beside the hinge, so the door may open past a right angle.
        style: Of the leaf, see `fittings.leaf`.
        grip: Of the handle, see `fittings.handle`; ``"none"`` leaves it out.
        name: Of the link.
        widest: Largest opening if `free`, rad.
    """
    low, high = _swinging(low, high, side)
    (x0, y0, z0), (x1, _, z1) = low, high
    width, height = x1 - x0, z1 - z0
    sideways = side in ("left", "right")
    at = {"left": (x0, y0, z0), "right": (x1, y0, z0), "bottom": (x0, y0, z0), "top": (x0, y0, z1)}
    reach, far = 0.0, 1.0
    parts = panel(make, low, high, color, style=style)
    if grip != "none":
        across, along = (width, height) if sideways else (height, width)
        inset = min(make.between(0.025, 0.06), 0.2 * across)
        short = make.chance(0.6 if sideways else 0.25)
        long = along * (make.between(0.08, 0.3) if short else make.between(0.5, 0.9))
        offset = make.between(-0.2, 0.2) * (along - long) if sideways else 0.0
        x, z = (x0 + x1) / 2, (z0 + z1) / 2 + offset
        if sideways:
            x = x1 - inset if side == "left" else x0 + inset
        else:
            z = z1 - inset if side == "bottom" else z0 + inset
            x = (x0 + x1) / 2
        pull, reach = handle(
            make, (x, y0, z), long, accent, vertical=sideways, room=2 * inset, style=grip
        )
        far = across - inset - 0.03
        parts += pull
    limit = make.between(1.3, widest) if free else make.between(1.2, 1.57)
    if not free:
        limit = min(limit, float(np.arctan2(max(far, 0.02), reach + 0.002)))
    return make.hinge(name, parent, at[side], _AXES[side], (0.0, limit)).add(parts)


def _swinging(low: Point, high: Point, side: str) -> tuple[Point, Point]:
    """The largest leaf hinged at `side` whose inner corner stays within the box as it swings."""
    axis = 0 if side in ("left", "right") else 2
    thick, across = high[1] - low[1], high[axis] - low[axis]
    swing = across - float(np.sqrt(across**2 - thick**2))
    start, stop = list(low), list(high)
    if side in ("left", "bottom"):
        stop[axis] -= swing
    else:
        start[axis] += swing
    return (start[0], start[1], start[2]), (stop[0], stop[1], stop[2])


def add_drawer(
    make: Builder,
    parent: LinkBuilder,
    low: Point,
    high: Point,
    opening: tuple[Point, Point],
    colors: ColorScheme,
    *,
    style: str | None = None,
    grip: str | None = None,
    hollow: bool = True,
) -> LinkBuilder:
    """A drawer: a front filling `low` to `high` and a tray within the `opening` behind it.

    See `add_door` for `style` and `grip`. Without a `hollow` to run in, and sometimes anyway, it
    is a front alone.
    """
    (x0, y0, z0), (x1, y1, z1) = low, high
    (ox0, _, oz0), (ox1, oy1, oz1) = opening
    width, height = x1 - x0, z1 - z0
    depth = oy1 - y1
    parts = panel(
        make,
        low,
        high,
        colors.front,
        style=style or make.pick("slab", "rounded", "framed", "panelled"),
    )
    if hollow and make.chance(0.85):
        gap = make.pick(0.0, 0.002, 0.006, 0.012)
        gap = min(gap, 0.05 * width, 0.05 * height)
        wall = min(make.between(0.006, 0.014), 0.1 * width, 0.15 * height)
        top = oz0 + (oz1 - oz0) * make.between(0.55, 0.92)
        back = oy1 - make.between(0.0, 0.15) * depth
        parts += tray(make, (ox0 + gap, y1, oz0 + gap), (ox1 - gap, back, top), wall, colors.inside)
    if grip != "none":
        pulls = 2 if width > 0.7 and make.chance(0.6) else 1
        long = width * make.between(0.15, 0.5) / pulls
        offset = make.pick(0.0, 0.0, 0.3) * height
        at_z, room = (z0 + z1) / 2 + offset, height - 2 * offset
        chosen = grip or make.pick("bar", "bow", "knob", "ledge", "block")
        for a, b in side_by_side(x0, x1, pulls, 0.0):
            at = ((a + b) / 2, y0, at_z)
            pull, _ = handle(
                make, at, min(long, 0.4), colors.accent, vertical=False, room=room, style=chosen
            )
            parts += pull
    travel = depth * make.between(0.5, 0.9)
    return make.slider("drawer", parent, (0, -1, 0), (0.0, travel)).add(parts)


def add_dials(
    make: Builder,
    parent: LinkBuilder,
    positions: list[tuple[float, float]],
    y: float,
    radius: float,
    color: Color,
    *,
    moving: int,
) -> None:
    """Knobs at (x, z) `positions` on the plane `y`; the first `moving` of them turn."""
    depth = radius * make.between(0.6, 1.2)
    part = knob(make, radius, depth, color)
    limits = make.pick((0.0, 4.7), (-2.4, 2.4), (0.0, 3.14))
    for i, (x, z) in enumerate(positions):
        knob_part = part.moved(x, y, z)
        if i < moving:
            make.hinge("knob", parent, (x, y, z), (0, -1, 0), limits).add(knob_part)
        else:
            parent.add(knob_part)


def add_buttons(
    make: Builder,
    parent: LinkBuilder,
    low: tuple[float, float],
    high: tuple[float, float],
    y: float,
    grid: tuple[int, int],
    color: Color,
    *,
    moving: int,
) -> None:
    """A grid (columns, rows) of buttons in the rectangle `low` to `high` (x, z) before plane `y`.

    The first `moving` of them can be pressed; they stand off the panel by their travel.
    """
    shapes = make.shapes
    columns, rows = grid
    pitch = min((high[0] - low[0]) / columns, (high[1] - low[1]) / rows)
    gap = 0.25 * pitch
    round_cap = make.chance(0.3)
    thick, travel = 0.25 * pitch, 0.22 * pitch
    index = 0
    for z0, z1 in side_by_side(low[1], high[1], rows, gap):
        for x0, x1 in side_by_side(low[0], high[0], columns, gap):
            moves = index < moving
            back = y - (travel if moves else 0.0)
            if round_cap:
                radius = 0.5 * min(x1 - x0, z1 - z0)
                part = shapes.cylinder(radius, 0, thick, color).facing_front()
                part = part.moved((x0 + x1) / 2, back, (z0 + z1) / 2)
            else:
                part = shapes.box((x0, back - thick, z0), (x1, back, z1), color)
            if moves:
                make.slider("button", parent, (0, 1, 0), (0.0, travel)).add(part)
            else:
                parent.add(part)
            index += 1
