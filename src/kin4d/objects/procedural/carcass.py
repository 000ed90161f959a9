"""Carcass: a box of boards whose bays hold doors, drawers and shelves."""

from __future__ import annotations

import numpy as np

from kin4d.objects.procedural.builder import Builder, LinkBuilder, side_by_side
from kin4d.objects.procedural.doors_drawers import add_door, add_drawer
from kin4d.objects.procedural.hardware import feet
from kin4d.objects.procedural.palette import ColorScheme
from kin4d.objects.procedural.panels import Box, shell

MOST_JOINTS = 12


def fill_bays(
    make: Builder,
    base: LinkBuilder,
    low: tuple[float, float, float],
    high: tuple[float, float, float],
    wall: float,
    columns: list[list[str]],
    colors: ColorScheme,
    *,
    hollow: bool = True,
) -> list[Box]:
    """Put doors, drawers and shelves into a carcass; returns its inner boards.

    `columns` names what each bay holds, from the left and from the bottom: ``door``, ``pair``,
    ``drawer``, ``open``, ``flap`` (opens down) or ``lift`` (opens up). If the carcass is not
    `hollow` there are fronts only, before it.
    """
    (x0, y0, z0), (x1, y1, z1) = low, high
    inset = hollow and make.chance(0.4)
    gap = make.pick(0.0, 0.002, 0.004)
    thick = make.between(0.014, 0.026)
    divided = make.chance(0.7)
    leaf_style = make.pick("slab", "slab", "rounded", "framed", "glazed", "panelled", "louvred")
    drawer_style = leaf_style if leaf_style in ("slab", "rounded", "framed", "panelled") else "slab"
    grip = make.pick("bar", "bar", "bow", "knob", "ledge", "block", "none", None)
    front = y0 if inset else y0 - thick
    behind = y0 + thick if inset else y0
    boards: list[Box] = []
    spans = side_by_side(x0 + wall, x1 - wall, len(columns), wall)
    for c, ((bx0, bx1), kinds) in enumerate(zip(spans, columns, strict=True)):
        if c:
            boards.append(((bx0 - wall, y0, z0 + wall), (bx0, y1, z1 - wall)))
        weights = np.array([0.5 if kind == "drawer" else 1.3 for kind in kinds])
        cuts = (
            z0
            + wall
            + (z1 - z0 - 2 * wall) * np.concatenate([[0], np.cumsum(weights / weights.sum())])
        )
        for r, kind in enumerate(kinds):
            lower = wall / 2 if r else 0.0
            upper = wall / 2 if r < len(kinds) - 1 else 0.0
            bz0, bz1 = float(cuts[r]) + lower, float(cuts[r + 1]) - upper
            if r and (divided or kind == "open" or kinds[r - 1] == "open"):
                boards.append(((bx0, behind, bz0 - wall), (bx1, y1, bz0)))
            opening = ((bx0, behind, bz0), (bx1, y1 - 0.012, bz1))
            # Overlay fronts reach half way over the boards around their bay.
            over = gap if inset else gap / 2 - wall / 2
            outer = wall / 2 if not inset else 0.0
            fx0 = bx0 + over - (outer if c == 0 else 0.0)
            fx1 = bx1 - over + (outer if c == len(columns) - 1 else 0.0)
            fz0 = bz0 + over - (outer if r == 0 else 0.0)
            fz1 = bz1 - over + (outer if r == len(kinds) - 1 else 0.0)
            box_low, box_high = (fx0, front, fz0), (fx1, front + thick, fz1)
            if kind == "drawer":
                add_drawer(
                    make,
                    base,
                    box_low,
                    box_high,
                    opening,
                    colors,
                    style=drawer_style,
                    grip=grip,
                    hollow=hollow,
                )
            elif kind in ("door", "pair"):
                if make.chance(0.6) and bz1 - bz0 > 0.3:
                    for s in range(make.count(1, 3)):
                        z = bz0 + (bz1 - bz0) * (s + 1) / 4.2
                        boards.append(((bx0, behind + 0.03, z), (bx1, y1, z + 0.7 * wall)))
                middle = (fx0 + fx1) / 2
                common = {"style": leaf_style, "grip": grip}
                if kind == "pair":
                    add_door(
                        make,
                        base,
                        box_low,
                        (middle - gap / 2, front + thick, fz1),
                        "left",
                        colors.front,
                        colors.accent,
                        free=c == 0,
                        **common,
                    )
                    add_door(
                        make,
                        base,
                        (middle + gap / 2, front, fz0),
                        box_high,
                        "right",
                        colors.front,
                        colors.accent,
                        free=c == len(columns) - 1,
                        **common,
                    )
                else:
                    # Never two doors hinged on one board: their handles would meet.
                    side = "right" if c == len(columns) - 1 and c > 0 else "left"
                    add_door(
                        make,
                        base,
                        box_low,
                        box_high,
                        side,
                        colors.front,
                        colors.accent,
                        free=c in (0, len(columns) - 1),
                        **common,
                    )
            elif kind in ("flap", "lift"):
                add_door(
                    make,
                    base,
                    box_low,
                    box_high,
                    "bottom" if kind == "flap" else "top",
                    colors.front,
                    colors.accent,
                    free=True,
                    style=leaf_style,
                    grip=grip,
                    widest=1.75,
                    name="flap",
                )
    return boards


def choose_bays(make: Builder, columns: int, rows: int) -> list[list[str]]:
    """What the bays of a cabinet hold, with at most `MOST_JOINTS` moving fronts."""
    theme = make.pick("doors", "mixed", "mixed", "columns")
    out: list[list[str]] = []
    for _ in range(columns):
        kinds = []
        column_kind = make.pick("door", "drawer", "pair", "open")
        for _ in range(make.count(1, rows)):
            if theme == "doors":
                kinds.append(make.pick("door", "door", "pair"))
            elif theme == "columns":
                kinds.append(column_kind)
            else:
                kinds.append(make.pick("door", "pair", "drawer", "drawer", "open"))
        if make.chance(0.12):
            kinds[-1] = "lift"
        if make.chance(0.1):
            kinds[0] = "flap"
        out.append(kinds)
    budget = MOST_JOINTS
    for kinds in out:
        for i, kind in enumerate(kinds):
            cost = {"pair": 2, "open": 0}.get(kind, 1)
            if cost > budget:
                kinds[i] = "open"
            else:
                budget -= cost
    if all(kind == "open" for kinds in out for kind in kinds):
        out[0][0] = "door"
    return out


def carcass(
    make: Builder,
    base: LinkBuilder,
    size: tuple[float, float, float],
    foot: float,
    columns: list[list[str]],
    colors: ColorScheme,
) -> None:
    """A box of boards on feet with its bays filled; now and then a solid block instead."""
    width, depth, height = size
    wall = make.between(0.012, 0.03)
    low, high = (-width / 2, 0.0, foot), (width / 2, depth, foot + height)
    back = make.between(0.004, 0.012) if make.chance(0.85) else 0.0
    hollow = make.chance(0.9)
    boards = shell(low, high, wall, back=back) if hollow else [(low, high)]
    inner = fill_bays(make, base, low, high, wall, columns, colors, hollow=hollow)
    boards += inner if hollow else []
    base.add(make.shapes.boards(boards, colors.body, merged=make.merged))
    if foot > 0:
        base.add(feet(make, (low[0], 0.02), (high[0], depth), foot, colors.accent))
    if make.chance(0.35):
        over = make.between(0.0, 0.03)
        top = (
            (low[0] - over, -over, high[2]),
            (high[0] + over, depth, high[2] + make.between(0.01, 0.035)),
        )
        base.add(make.shapes.box(*top, colors.front))
