"""Containers with flaps or doors: trash can and mailbox."""

from __future__ import annotations

import numpy as np

from kin4d.objects.procedural.assembly import ArticulatedObject
from kin4d.objects.procedural.builder import Builder
from kin4d.objects.procedural.hardware import handle, wheel
from kin4d.objects.procedural.palette import sample_color
from kin4d.objects.procedural.profiles import rounded_rectangle, superellipse


def trash_can(rng: np.random.Generator) -> ArticulatedObject:
    """A pedal bin, a bin with a swinging flap, or one on wheels."""
    make = Builder("trash_can", rng, size=0.8)
    {"pedal": _pedal_bin, "swing": _swing_bin, "wheels": _wheeled_bin}[
        make.pick("pedal", "swing", "wheels")
    ](make)
    return make.build()


def _pedal_bin(make: Builder) -> None:
    shapes = make.shapes
    radius, height = make.between(0.1, 0.2), make.between(0.25, 0.7)
    color, accent = (
        sample_color(make, "metal", "plastic", "appliance"),
        sample_color(make, "dark", "metal"),
    )
    power = make.pick(2.0, 2.0, 5.0, 8.0)
    deep = radius * make.between(0.7, 1.0)
    outline = superellipse(radius, deep, power, shapes.sides)
    base = make.base(
        shapes.tub(outline, 0.03, height, 0.006, color, taper=make.between(0.95, 1.15))
    )
    top = base.parts[0].vertices[:, 1].max() / deep
    base.add(shapes.prism(outline * 0.98, 0, 0.03, accent))
    gap = make.pick(0.0, 0.003)
    edge = deep * top
    limits = (0.0, make.between(1.1, 1.6))
    lid = make.hinge("lid", base, (0, edge, height + gap), (-1, 0, 0), limits)
    rise = make.between(0.02, 0.08)
    rings = [(1.0, 0.0), (1.0, 0.3), (0.85, 0.75), (0.5, 0.95)]
    flat = np.stack(
        [
            np.column_stack([outline * top * s, np.full(len(outline), height + gap + rise * h)])
            for s, h in rings
        ]
    )
    lid.add(
        shapes.loft(
            flat,
            accent if make.chance(0.5) else color,
            start=np.array([0, 0, height + gap]),
            end=np.array([0, 0, height + gap + rise]),
        )
    )
    if make.chance(0.8):
        width = make.between(0.04, 0.08)
        front = -0.98 * deep
        pedal = shapes.box(
            (-width / 2, front - 0.06, 0.018), (width / 2, front - 0.004, 0.026), accent
        )
        coupled = (lid, 0.12) if make.chance(0.6) else None
        hinge = (0, front - 0.004, 0.022)
        make.hinge("pedal", base, hinge, (1, 0, 0), (0.0, 0.2), mimic=coupled, bearing=0.01).add(
            pedal
        )


def _swing_bin(make: Builder) -> None:
    shapes = make.shapes
    width, depth, height = (
        make.between(0.2, 0.4),
        make.between(0.18, 0.32),
        make.between(0.35, 0.75),
    )
    color, lid_color = sample_color(make, "plastic", "metal"), sample_color(make, "dark", "plastic")
    outline = rounded_rectangle(width * 0.85, depth * 0.85, 0.04, shapes.sides)
    base = make.base(shapes.tub(outline, 0, height, 0.006, color, taper=1 / 0.85))
    rim, hood = 0.03, make.between(0.06, 0.12)
    # Two gables carry the flap between them.
    for side in (-1, 1):
        x = side * (width / 2 - rim / 2)
        base.add(
            shapes.box(
                (x - rim / 2, -depth / 2, height),
                (x + rim / 2, depth / 2, height + hood),
                lid_color,
            )
        )
    for side in (-1, 1):
        y = side * (depth / 2 - rim / 4)
        base.add(
            shapes.box(
                (-width / 2 + rim, y - rim / 4, height),
                (width / 2 - rim, y + rim / 4, height + 0.4 * hood),
                lid_color,
            )
        )
    half = depth / 2 - rim / 2 - 0.004
    z = height + 0.55 * hood
    limit = make.between(0.4, 1.0)
    flap = make.hinge("flap", base, (0, 0, z), (1, 0, 0), (-limit, limit))
    inner = width / 2 - rim - 0.003
    roof = np.array([[-half, 0.0], [half, 0.0], [0.0, 0.45 * hood]])
    if make.chance(0.5):
        flap.add(shapes.prism(roof, -inner, inner, color).facing_side().moved(0, 0, z))
    else:
        flap.add(shapes.box((-inner, -half, z - 0.004), (inner, half, z + 0.004), color))


def _wheeled_bin(make: Builder) -> None:
    shapes = make.shapes
    width, depth, height = make.between(0.4, 0.6), make.between(0.4, 0.6), make.between(0.7, 1.1)
    color, dark = sample_color(make, "plastic", "dark"), sample_color(make, "dark")
    taper = make.between(1.1, 1.3)
    outline = rounded_rectangle(
        width / taper, depth / taper, make.between(0.02, 0.06), shapes.sides
    )
    lift = 0.03
    base = make.base(shapes.tub(outline, lift, height, 0.01, color, taper=taper))
    rim = rounded_rectangle(width, depth, 0.03, shapes.sides)
    base.add(shapes.ring_plate(rim * 1.04, rim * 0.97, height - 0.03, height, color))
    y, z = depth / 2 * 1.04, height
    gap = make.pick(0.0, 0.004)
    limits = (0.0, make.between(1.4, 2.6))
    lids = 2 if make.chance(0.15) else 1
    for i in range(lids):
        lid = make.hinge("lid", base, (0, y, z + gap), (-1, 0, 0), limits)
        x0, x1 = (
            -width / 2 * 1.04 + i * width * 0.525,
            -width / 2 * 1.04 + (i + 1) * width * 1.04 / lids - 0.01 * (lids - 1 - i),
        )
        if lids == 1:
            x0, x1 = -width / 2 * 1.04, width / 2 * 1.04
        plate = shapes.rounded_box(
            (x0, -y - 0.01, z + gap),
            (x1, y, z + gap + make.between(0.02, 0.06)),
            0.03,
            color,
            bevel=0.01,
        )
        lid.add(plate)
        pull, _ = handle(
            make,
            ((x0 + x1) / 2, -y - 0.01, z + gap + 0.01),
            0.15,
            dark,
            vertical=False,
            style="block",
        )
        lid.add(pull)
    bar = shapes.cylinder(0.014, -0.4 * width, 0.4 * width, dark).rotated("y", np.pi / 2)
    base.add(bar.moved(0, y + 0.05, z - 0.05))
    for side in (-1, 1):
        x = side * 0.4 * width
        base.add(
            shapes.box((x - 0.01, 0.45 * depth, z - 0.06), (x + 0.01, y + 0.055, z - 0.04), dark)
        )
    radius = make.between(0.07, 0.11)
    wy, wz = depth / taper / 2 + 0.3 * radius, radius
    base.add(
        shapes.cylinder(0.008, -width / 2, width / 2, dark).rotated("y", np.pi / 2).moved(0, wy, wz)
    )
    spin = make.chance(0.7)
    # The walls lean out, so the wheels stand clear of them at their own height.
    half_width = width / taper / 2 * (1 + (taper - 1) * 2 * radius / height) + 0.002
    for side in (-1, 1):
        inner = side * half_width
        disc = wheel(make, radius, 0.03, dark).moved(z=-0.015).rotated("y", np.pi / 2)
        disc = disc.moved(inner + side * 0.018, wy, wz)
        if spin:
            link = make.hinge(
                "wheel", base, (inner, wy, wz), (1, 0, 0), (-np.pi, np.pi), bearing=0.02
            )
            link.add(disc)
        else:
            base.add(disc)
    # Wheels stand behind the tapered body; a block joins the axle to it.
    base.add(
        shapes.box(
            (-0.3 * width, 0.3 * depth / taper, 0.03), (0.3 * width, wy - 0.004, wz + 0.03), color
        )
    )


def mailbox(rng: np.random.Generator) -> ArticulatedObject:
    """A letter box with a rounded roof on a post, a door in front and a flag at its side."""
    make = Builder("mailbox", rng, size=0.8)
    shapes = make.shapes
    width, depth, height = (
        make.between(0.15, 0.25),
        make.between(0.35, 0.55),
        make.between(0.18, 0.28),
    )
    color, wall = sample_color(make, "paint", "plastic", "metal"), 0.004
    angle = np.linspace(0, np.pi, max(6, shapes.sides // 2))
    roof = np.stack([width / 2 * np.cos(angle), height - width / 2 + width / 2 * np.sin(angle)], -1)
    if make.chance(0.3):
        roof = np.array([(width / 2, 0.7 * height), (0.0, height), (-width / 2, 0.7 * height)])
    outline = np.concatenate([[(width / 2, 0.0)], roof, [(-width / 2, 0.0)]])
    post = make.between(0.3, 0.9) if make.chance(0.7) else 0.0
    shell = shapes.tub(outline, 0, depth, wall, color).rotated("x", np.pi / 2)
    base = make.base(shell.moved(0, depth, post))
    if post:
        half = make.between(0.03, 0.05)
        base.add(
            shapes.box(
                (-half, depth / 2 - half, 0),
                (half, depth / 2 + half, post),
                sample_color(make, "wood", "metal"),
            )
        )
    gap = make.pick(0.0, 0.002)
    thick = 0.008
    side = make.pick("bottom", "bottom", "left")
    front = shapes.prism(outline, -thick, 0, color).facing_front().moved(0, -thick - gap, post)
    at, axis = (
        ((0, -thick - gap, post), (1, 0, 0))
        if side == "bottom"
        else ((-width / 2, -thick - gap, post), (0, 0, -1))
    )
    door = make.hinge(
        "door", base, at, axis, (0.0, make.between(1.3, 1.7 if side == "bottom" else 2.5))
    )
    door.add(front)
    pull, _ = handle(
        make,
        (0, -thick - gap, post + 0.75 * height),
        0.05,
        sample_color(make, "metal"),
        vertical=False,
        style="knob",
    )
    door.add(pull)
    if make.chance(0.8):
        x, y, z = width / 2 + 0.003, 0.35 * depth, post + 0.35 * height
        flag = make.hinge("flag", base, (x, y, z), (1, 0, 0), (0.0, make.between(1.3, 1.6)))
        red = sample_color(make, "plastic")
        flag.add(shapes.box((x, y, z - 0.008), (x + 0.004, y + 0.14, z + 0.008), red))
        flag.add(shapes.box((x, y + 0.1, z - 0.008), (x + 0.004, y + 0.16, z + 0.04), red))
        base.add(
            shapes.cylinder(0.006, -0.002, 0.008, red)
            .rotated("y", np.pi / 2)
            .moved(width / 2, y - 0.02, z)
        )
    return make.build()
