"""What furniture and machines are built of: leaves, trays, carcasses, housings and frames."""

from __future__ import annotations

from kin4d.objects.procedural.builder import Builder
from kin4d.objects.procedural.palette import sample_color, shaded
from kin4d.objects.procedural.parts import Color, MeshPart
from kin4d.objects.procedural.profiles import rounded_rectangle

Point = tuple[float, float, float]
Box = tuple[Point, Point]
"""Lower and upper corner, m."""


def panel(
    make: Builder,
    low: tuple[float, float, float],
    high: tuple[float, float, float],
    color: Color,
    *,
    style: str | None = None,
    glass: Color | None = None,
) -> list[MeshPart]:
    """A door leaf or drawer front filling a box, thin along y, its face towards -y.

    Styles: ``slab``, ``rounded``, ``framed`` (rails around a panel), ``glazed`` (rails around
    glass), ``louvred`` and ``panelled`` (raised fields).
    """
    shapes = make.shapes
    (x0, y0, z0), (x1, y1, z1) = low, high
    width, height, thick = x1 - x0, z1 - z0, y1 - y0
    style = style or make.pick("slab", "slab", "rounded", "framed", "glazed", "panelled")
    rail = min(make.between(0.1, 0.2) * min(width, height), 0.09)
    if style == "rounded":
        radius = make.between(0.05, 0.25) * min(width, height, 0.2)
        outline = rounded_rectangle(width, height, radius, shapes.sides)
        part = shapes.prism(outline, -thick, 0, color, bevel=0.3 * thick).facing_front()
        return [part.moved((x0 + x1) / 2, y0, (z0 + z1) / 2)]
    if style == "slab" or rail < 0.008:
        return [shapes.box(low, high, color)]
    if style == "panelled":
        rows = make.count(1, 3) if height > 0.5 else 1
        parts = [shapes.box((x0, y0 + 0.25 * thick, z0), high, color)]
        step = (height - rail) / rows
        for row in range(rows):
            z = z0 + rail + row * step
            parts.append(
                shapes.box(
                    (x0 + rail, y0, z),
                    (x1 - rail, y0 + 0.25 * thick, z + step - rail),
                    shaded(color, 0.95),
                )
            )
        return parts
    rails = [
        ((x0, y0, z0), (x0 + rail, y1, z1)),
        ((x1 - rail, y0, z0), (x1, y1, z1)),
        ((x0 + rail, y0, z0), (x1 - rail, y1, z0 + rail)),
        ((x0 + rail, y0, z1 - rail), (x1 - rail, y1, z1)),
    ]
    parts = shapes.boards(rails, color, merged=make.merged)
    if style == "louvred":
        count = max(3, int((height - 2 * rail) / 0.06))
        step = (height - 2 * rail) / count
        # Tilted, a thicker slat would stand out of the leaf.
        half = min(0.1 * step, 0.3 * thick)
        slat = shapes.box((x0 + rail, -0.4 * thick, -half), (x1 - rail, 0.4 * thick, half), color)
        tilted = slat.rotated("x", -0.5)
        return parts + [
            tilted.moved(0, (y0 + y1) / 2, z0 + rail + (i + 0.5) * step) for i in range(count)
        ]
    pane = (glass or sample_color(make, "glass")) if style == "glazed" else shaded(color, 0.95)
    middle, thin = (y0 + y1) / 2, thick * make.between(0.1, 0.3)
    parts.append(
        shapes.box(
            (x0 + rail, middle - thin, z0 + rail), (x1 - rail, middle + thin, z1 - rail), pane
        )
    )
    return parts


def tray(
    make: Builder,
    low: tuple[float, float, float],
    high: tuple[float, float, float],
    wall: float,
    color: Color,
    *,
    merged: bool | None = None,
) -> list[MeshPart]:
    """An open box: bottom and four walls of thickness `wall`, filling the box given."""
    (x0, y0, z0), (x1, y1, z1) = low, high
    boards: list[Box] = [
        ((x0, y0, z0), (x1, y1, z0 + wall)),
        ((x0, y0, z0 + wall), (x0 + wall, y1, z1)),
        ((x1 - wall, y0, z0 + wall), (x1, y1, z1)),
        ((x0 + wall, y0, z0 + wall), (x1 - wall, y0 + wall, z1)),
        ((x0 + wall, y1 - wall, z0 + wall), (x1 - wall, y1, z1)),
    ]
    return make.shapes.boards(boards, color, merged=make.merged if merged is None else merged)


def shell(
    low: tuple[float, float, float], high: tuple[float, float, float], wall: float, *, back: float
) -> list[Box]:
    """Boards of a carcass open to the front: sides, top, bottom and, if `back` > 0, a back."""
    (x0, y0, z0), (x1, y1, z1) = low, high
    boards: list[Box] = [
        ((x0, y0, z0), (x0 + wall, y1, z1)),
        ((x1 - wall, y0, z0), (x1, y1, z1)),
        ((x0 + wall, y0, z0), (x1 - wall, y1, z0 + wall)),
        ((x0 + wall, y0, z1 - wall), (x1 - wall, y1, z1)),
    ]
    if back > 0:
        boards.append(((x0 + wall, y1 - back, z0 + wall), (x1 - wall, y1, z1 - wall)))
    return boards


def housing(low: Point, high: Point, hollow: tuple[Point, Point]) -> list[Box]:
    """Five thick walls around a cavity that is open to the front; all corners in m."""
    (x0, y0, z0), (x1, y1, z1) = low, high
    (hx0, _, hz0), (hx1, hy1, hz1) = hollow
    return [
        ((x0, y0, z0), (hx0, y1, z1)),
        ((hx1, y0, z0), (x1, y1, z1)),
        ((hx0, y0, z0), (hx1, y1, hz0)),
        ((hx0, y0, hz1), (hx1, y1, z1)),
        ((hx0, hy1, hz0), (hx1, y1, hz1)),
    ]


def frame(low: Point, high: Point, bar: float, *, sill: bool = True) -> list[Box]:
    """Boards of a frame in the xz plane; without `sill` it is open below."""
    (x0, y0, z0), (x1, y1, z1) = low, high
    boards = [
        ((x0, y0, z0), (x0 + bar, y1, z1)),
        ((x1 - bar, y0, z0), (x1, y1, z1)),
        ((x0 + bar, y0, z1 - bar), (x1 - bar, y1, z1)),
    ]
    if sill:
        boards.append(((x0 + bar, y0, z0), (x1 - bar, y1, z0 + bar)))
    return boards
