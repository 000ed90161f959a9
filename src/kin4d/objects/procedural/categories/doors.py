"""Doors and gates."""

from __future__ import annotations

import numpy as np

from kin4d.objects.procedural.assembly import ArticulatedObject
from kin4d.objects.procedural.builder import Builder, LinkBuilder, side_by_side
from kin4d.objects.procedural.doors_drawers import add_door
from kin4d.objects.procedural.palette import sample_color, shaded
from kin4d.objects.procedural.panels import frame, panel
from kin4d.objects.procedural.parts import MeshPart
from kin4d.objects.procedural.profiles import rounded_rectangle


def _door_handle(
    make: Builder, door: LinkBuilder, x: float, faces: tuple[float, ...], z: float, inward: int
) -> None:
    """A lever, knob or pull at (x, z) on the front and back `faces` (y), or the front one alone."""
    shapes, metal = make.shapes, sample_color(make, "metal")
    style = make.pick("lever", "lever", "knob", "pull", "none")
    if style == "none":
        return
    reach = make.between(0.035, 0.06)
    if style == "pull":
        half = make.between(0.1, 0.3)
        for y, out in zip(faces, (-1, 1), strict=False):
            y0, y1 = sorted((y + out * reach, y + out * (reach - 0.018)))
            door.add(shapes.box((x - 0.01, y0, z - half), (x + 0.01, y1, z + half), metal))
            for dz in (-0.8 * half, 0.8 * half):
                p0, p1 = sorted((y, y + out * reach))
                door.add(
                    shapes.box(
                        (x - 0.008, p0, z + dz - 0.008), (x + 0.008, p1, z + dz + 0.008), metal
                    )
                )
        return
    target = door
    if make.chance(0.7):
        limits = (0.0, make.between(0.5, 0.9)) if style == "lever" else (-1.5, 1.5)
        # Pressing a lever swings its tip down, whichever way it points.
        target = make.hinge("handle", door, (x, faces[0], z), (0, inward, 0), limits, bearing=0.02)
    for y, out in zip(faces, (-1, 1), strict=False):
        y0, y1 = sorted((y, y + out * reach))
        target.add(shapes.cylinder(0.01, y0, y1, metal).rotated("x", -np.pi / 2).moved(x, 0, z))
        if style == "lever":
            tip = x + inward * make.between(0.09, 0.13)
            lo, hi = sorted((x - 0.009 * inward, tip))
            a, b = sorted((y + out * reach, y + out * (reach - 0.014)))
            target.add(shapes.box((lo, a, z - 0.009), (hi, b, z + 0.009), metal))
        else:
            r = make.between(0.022, 0.03)
            ball = shapes.sphere(r, metal)
            target.add(
                MeshPart(ball.vertices * (1, 0.7, 1), ball.faces, metal).moved(
                    x, y + out * reach, z
                )
            )
        if make.chance(0.5):
            r0, r1 = sorted((y, y + out * 0.006))
            door.add(shapes.box((x - 0.018, r0, z - 0.09), (x + 0.018, r1, z - 0.022), metal))


def door(rng: np.random.Generator) -> ArticulatedObject:
    """A leaf or two in a frame, hinged or sliding, with handles that turn."""
    make = Builder("door", rng, size=2.0)
    leaves = 2 if make.chance(0.3) else 1
    width = make.between(0.7, 1.0) * (1.6 if leaves == 2 else 1.0)
    height, bar, deep = make.between(1.8, 2.3), make.between(0.04, 0.1), make.between(0.07, 0.16)
    thick, gap = make.between(0.03, 0.05), make.pick(0.001, 0.003, 0.006)
    frame_color = sample_color(make, "wood", "paint")
    color = frame_color if make.chance(0.5) else sample_color(make, "wood", "paint")
    base = make.base()
    low, high = (-width / 2 - bar, 0.0, 0.0), (width / 2 + bar, deep, height + bar)
    sill = make.chance(0.3)
    boards = frame(low, high, bar, sill=sill)
    base.add(make.shapes.boards(boards, frame_color, merged=make.merged))
    if make.chance(0.35):
        # A piece of the wall around it.
        wall, margin = sample_color(make, "paint"), make.between(0.2, 0.6)
        around = [
            ((low[0] - margin, 0.02, 0), (low[0], deep - 0.02, high[2] + margin)),
            ((high[0], 0.02, 0), (high[0] + margin, deep - 0.02, high[2] + margin)),
            ((low[0], 0.02, high[2]), (high[0], deep - 0.02, high[2] + margin)),
        ]
        base.add(make.shapes.boards(around, wall, merged=make.merged))
    bottom = (bar if sill else 0.0) + gap
    style = make.pick("slab", "panelled", "panelled", "framed", "glazed", "louvred")
    if make.chance(0.15):
        # Slides before the frame on a rail.
        part = panel(
            make,
            (-width / 2 - 0.03, -thick - 0.01, bottom),
            (width / 2 + 0.03, -0.01, height),
            color,
            style=style,
        )
        link = make.slider("door", base, (1, 0, 0), (0.0, 0.95 * width)).add(part)
        rail = make.shapes.box(
            (-width / 2 - bar, -thick - 0.01, height + 0.01),
            (1.6 * width, 0, height + 0.04),
            sample_color(make, "metal"),
        )
        base.add(rail)
        _door_handle(make, link, -0.45 * width, (-thick - 0.01,), 1.0, 1)
        return make.build()
    spans = [(-width / 2 + gap, width / 2 - gap, "left")]
    if leaves == 2:
        spans = [(-width / 2 + gap, -gap / 2, "left"), (gap / 2, width / 2 - gap, "right")]
    widest = make.between(1.4, 2.7)
    for x0, x1, side in spans:
        link = add_door(
            make,
            base,
            (x0, 0.0, bottom),
            (x1, thick, height - gap),
            side,
            color,
            color,
            style=style,
            grip="none",
            widest=widest,
        )
        x = x1 - 0.07 if side == "left" else x0 + 0.07
        _door_handle(
            make, link, x, (0.0, thick), make.between(0.9, 1.1), -1 if side == "left" else 1
        )
    return make.build()


def gate(rng: np.random.Generator) -> ArticulatedObject:
    """One or two leaves of bars or boards between posts."""
    make = Builder("gate", rng, size=1.5)
    shapes = make.shapes
    leaves = make.count(1, 2)
    width, height = make.between(0.8, 1.4), make.between(0.8, 1.7)
    post, color = make.between(0.06, 0.14), sample_color(make, "wood", "metal", "dark")
    total = width * leaves
    base = make.base()
    for side in (-1, 1):
        a, b = sorted((side * total / 2, side * (total / 2 + post)))
        base.add(shapes.box((a, -post / 2, 0), (b, post / 2, 1.1 * height), color))
        if make.chance(0.5):
            cap = shapes.prism(
                rounded_rectangle(1.2 * post, 1.2 * post, 0.01, 8),
                1.1 * height,
                1.1 * height + 0.04,
                shaded(color),
                taper=0.5,
            )
            base.add(cap.moved((a + b) / 2))
    if make.chance(0.4):
        base.add(shapes.box((-total / 2, -0.02, -0.03), (total / 2, 0.02, 0.0), shaded(color)))
    bar, thick, gap = (
        make.between(0.015, 0.04),
        make.between(0.015, 0.03),
        make.between(0.008, 0.02),
    )
    count, rails = make.count(5, 12), make.count(2, 3)
    round_bars, arched = make.chance(0.4), make.between(-0.2, 0.25) * height
    limits = (0.0, make.between(1.2, 1.9))
    # Leaves hang flush with the posts' front, so that they clear them when opened wide.
    face = -post / 2
    middle = face + max(thick, bar) / 2
    for i, side in enumerate(("left", "right")[:leaves]):
        x0 = -total / 2 + i * width + (gap / 2 if i else gap)
        x1 = x0 + width - gap * (2 if leaves == 1 else 1.5)
        x = x0 if side == "left" else x1
        link = make.hinge("leaf", base, (x, face, 0), (0, 0, -1 if side == "left" else 1), limits)
        for z in np.linspace(0.1, 0.8, rails) * height:
            low, high = (x0, middle - thick / 2, z), (x1, middle + thick / 2, z + 0.05)
            link.add(shapes.box(low, high, color))
        for j, (a, b) in enumerate(
            side_by_side(x0, x1, count, (x1 - x0 - count * bar) / (count - 1))
        ):
            t = (j + i * count) / (count * leaves - 1)
            top = height * 0.9 + arched * np.sin(np.pi * t)
            if round_bars:
                part = shapes.cylinder(bar / 2, 0.05, top, color).moved((a + b) / 2, middle)
            else:
                low, high = (a, middle - 0.3 * thick, 0.05), (b, middle + 0.3 * thick, top)
                part = shapes.box(low, high, color)
            link.add(part)
        if i == 0 and make.chance(0.7):
            hand = x1 - 0.05 if side == "left" else x0 + 0.05
            latch = make.slider("latch", link, (-1, 0, 0), (0.0, 0.06))
            low, high = (
                (hand - 0.08, face - 0.02, 0.5 * height),
                (hand + 0.02, face, 0.5 * height + 0.02),
            )
            latch.add(shapes.box(low, high, sample_color(make, "metal")))
    return make.build()
