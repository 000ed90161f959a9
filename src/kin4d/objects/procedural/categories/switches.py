"""Light switches."""

from __future__ import annotations

import numpy as np

from kin4d.objects.procedural.assembly import ArticulatedObject
from kin4d.objects.procedural.builder import Builder, LinkBuilder, side_by_side
from kin4d.objects.procedural.doors_drawers import add_dials
from kin4d.objects.procedural.palette import sample_color, shaded
from kin4d.objects.procedural.parts import Color
from kin4d.objects.procedural.profiles import rectangle_by_angle, unit_circle


def switch(rng: np.random.Generator) -> ArticulatedObject:
    """A plate on the wall with rockers, toggles, dimmers or push buttons."""
    make = Builder("switch", rng, size=0.12)
    shapes = make.shapes
    gangs = make.pick(1, 1, 2, 3)
    unit = make.between(0.045, 0.07)
    height, deep = make.between(0.08, 0.12), make.between(0.006, 0.012)
    color = sample_color(make, "appliance", "paint", "metal", "dark")
    key = color if make.chance(0.5) else sample_color(make, "appliance", "dark")
    kind = make.pick("rocker", "rocker", "toggle", "dimmer", "push")
    base = make.base()
    total = unit * gangs
    rounded = make.between(0.002, 0.012)
    for i, (a, b) in enumerate(side_by_side(-total / 2, total / 2, gangs, 0.0)):
        x, w = (a + b) / 2, b - a
        hole_w, hole_h = 0.62 * w, (0.62 if kind != "toggle" else 0.3) * height
        if kind == "toggle":
            hole_w = 0.25 * w
        sides = 24
        outer = rectangle_by_angle(w, height, sides)
        if gangs == 1:
            outer = outer * (
                1 - rounded * (np.abs(unit_circle(sides)).min(1, keepdims=True) > 0.6) / w
            )
        inner = rectangle_by_angle(hole_w, hole_h, sides)
        base.add(shapes.ring_plate(outer, inner, 0, deep, color).facing_front().moved(x))
        base.add(
            shapes.box(
                (x - w * 0.45, 0.0, -0.45 * height),
                (x + 0.45 * w, 0.006, 0.45 * height),
                shaded(color),
            )
        )
        _switch_key(make, base, kind, x, hole_w, hole_h, deep, key)
        if i == 0 and make.chance(0.4):
            for z in (-0.42, 0.42):
                base.add(
                    shapes.cylinder(0.003, 0, 0.0012, shaded(color))
                    .facing_front()
                    .moved(x, -deep, z * height)
                )
    return make.build()


def _switch_key(
    make: Builder,
    base: LinkBuilder,
    kind: str,
    x: float,
    width: float,
    height: float,
    deep: float,
    color: Color,
) -> None:
    """The moving part in one hole of a switch plate."""
    shapes = make.shapes
    w, h = width / 2 - 0.0008, height / 2 - 0.0012
    if kind == "rocker":
        # Two flats that meet at a shallow angle; it rocks about its back edge in the middle.
        tilt = make.between(0.1, 0.2)
        rise = h * np.tan(tilt)
        pivot = (x, -0.4 * deep, 0)
        profile = np.array(
            [
                (-h, 0.0),
                (h, 0.0),
                (0.98 * h, 0.6 * deep + rise),
                (0.0, 0.6 * deep),
                (-0.98 * h, 0.6 * deep + rise),
            ]
        )
        part = shapes.loft(
            np.stack(
                [np.column_stack([np.full(5, sx), -profile[:, 1], profile[:, 0]]) for sx in (-w, w)]
            ),
            color,
            start=np.array([-w, -0.3 * deep, 0]),
            end=np.array([w, -0.3 * deep, 0]),
        )
        reach = min(0.8 * tilt, 0.8 * 0.4 * deep / h)
        make.hinge("rocker", base, pivot, (1, 0, 0), (-reach, reach)).add(
            part.moved(x, -0.4 * deep)
        )
    elif kind == "toggle":
        length = make.between(0.012, 0.022)
        swing = min(0.45, float(np.arctan(0.7 * h / (0.5 * deep + 0.002))))
        link = make.hinge("toggle", base, (x, -0.5 * deep, 0), (1, 0, 0), (-swing, swing))
        size = min(0.6 * w, 0.5 * h, 0.004)
        path = np.array([(x, -0.5 * deep, 0), (x, -deep - length, 0)])
        link.add(shapes.tube(path, [0.6 * size, size], (1, 0, 0), color))
    elif kind == "dimmer":
        base.add(shapes.box((x - w, -0.7 * deep, -h), (x + w, 0, h), shaded(color, 0.9)))
        add_dials(make, base, [(x, 0.0)], -0.7 * deep, 0.8 * min(w, h), color, moving=1)
    else:
        travel = 0.5 * deep
        link = make.slider("button", base, (0, 1, 0), (0.0, travel))
        link.add(shapes.box((x - w, -1.4 * deep, -h), (x + w, -0.55 * deep, h), color))
