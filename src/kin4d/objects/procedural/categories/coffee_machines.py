"""Coffee machines: espresso, filter and pods."""

from __future__ import annotations

import numpy as np

from kin4d.objects.procedural.assembly import ArticulatedObject
from kin4d.objects.procedural.builder import Builder, LinkBuilder
from kin4d.objects.procedural.doors_drawers import add_buttons, add_dials
from kin4d.objects.procedural.palette import sample_color, sample_color_scheme, shaded
from kin4d.objects.procedural.parts import Color
from kin4d.objects.procedural.profiles import rounded_path


def coffee_machine(rng: np.random.Generator) -> ArticulatedObject:
    """Espresso machine, filter brewer with a jug, or a pod machine with a lever."""
    make = Builder("coffee_machine", rng, size=0.4)
    {"espresso": _espresso, "filter": _brewer, "pod": _pod}[make.pick("espresso", "filter", "pod")](
        make
    )
    return make.build()


def _c_body(
    make: Builder,
    base: LinkBuilder,
    size: tuple[float, float, float],
    cut: tuple[float, float, float],
    color: Color,
) -> None:
    """A machine like a C seen from the side: foot, back and head around an open bay in front.

    `cut` is (top of the foot, underside of the head, front of the back), m.
    """
    width, depth, height = size
    low, high, back = cut
    boards = [
        ((-width / 2, 0, 0), (width / 2, depth, low)),
        ((-width / 2, back, low), (width / 2, depth, high)),
        ((-width / 2, 0, high), (width / 2, depth, height)),
    ]
    if make.chance(0.35):
        radius = make.between(0.01, 0.04)
        for a, b in boards:
            base.add(make.shapes.rounded_box(a, b, radius, color, bevel=0.004))
        return
    base.add(make.shapes.boards(boards, color, merged=make.merged))


def _drip_tray(
    make: Builder, base: LinkBuilder, width: float, back: float, z: float, color: Color
) -> None:
    """A grated tray on the foot that slides out."""
    shapes = make.shapes
    half = 0.42 * width
    link = make.slider("tray", base, (0, -1, 0), (0.0, make.between(0.4, 0.8) * back))
    link.add(shapes.box((-half, -0.004, z), (half, back - 0.004, z + 0.01), color))
    for x in np.linspace(-0.85, 0.85, make.count(5, 9)) * half:
        link.add(
            shapes.box(
                (x - 0.003, 0.004, z + 0.01), (x + 0.003, back - 0.01, z + 0.013), shaded(color)
            )
        )


def _espresso(make: Builder) -> None:
    shapes, colors = make.shapes, sample_color_scheme(make, "metal", "appliance", "plastic")
    width, depth, height = (
        make.between(0.18, 0.34),
        make.between(0.22, 0.32),
        make.between(0.28, 0.38),
    )
    foot, head = make.between(0.04, 0.07), height * make.between(0.62, 0.75)
    back = depth * make.between(0.45, 0.6)
    base = make.base()
    _c_body(make, base, (width, depth, height), (foot, head, back), colors.body)
    if make.chance(0.7):
        _drip_tray(make, base, width, back, foot, colors.accent)
    # Group head under the front, and the holder that locks into it by turning.
    y, r = 0.4 * back, make.between(0.028, 0.036)
    base.add(shapes.cylinder(1.15 * r, head - 0.025, head, colors.accent).moved(0, y))
    z = head - 0.027
    angle = make.between(0.6, 1.0)
    holder = make.hinge("holder", base, (0, y, z), (0, 0, -1), (0.0, angle))
    holder.add(
        shapes.lathe(
            [(0, -0.035), (0.6 * r, -0.035), (r, -0.02), (r, 0), (0, 0)], colors.accent
        ).moved(0, y, z)
    )
    length = make.between(0.12, 0.15)
    path = np.array([(0, y, z - 0.012), (0, y - length, z - 0.02)])
    holder.add(shapes.tube(path, [0.009, 0.013], (1, 0, 0), sample_color(make, "dark", "wood")))
    holder.add(
        shapes.box((-0.012, y - 0.006, z - 0.05), (0.012, y + 0.006, z - 0.035), colors.accent)
    )
    face = (head + height) / 2
    count = make.count(1, 3)
    positions = (
        [(x, face) for x in np.linspace(-0.28, 0.28, count) * width]
        if count > 1
        else [(0.2 * width, face)]
    )
    if make.chance(0.6):
        radius = min(0.2 * (height - head), 0.1 * width)
        add_dials(make, base, positions, 0.0, radius, colors.accent, moving=count)
    else:
        corners = (-0.35 * width, face - 0.012), (0.35 * width, face + 0.012)
        add_buttons(
            make,
            base,
            *corners,
            0.0,
            (make.count(3, 5), 1),
            colors.accent,
            moving=make.pick(0, 3, 5),
        )
    if width > 0.25 and make.chance(0.8):
        x = 0.42 * width
        wand = make.hinge("wand", base, (x, 0.1 * back, head), (0, 0, 1), (-0.6, 0.6))
        corners = [
            (x, 0.1 * back, head),
            (x, 0.1 * back, head - 0.03),
            (x + 0.04, 0.1 * back - 0.02, head - 0.14),
        ]
        wand.add(shapes.tube(np.array(corners), 0.004, (0.45, 0.9, 0), colors.accent))
    if make.chance(0.5):
        lid = make.hinge("lid", base, (0, depth, height), (-1, 0, 0), (0.0, make.between(1.0, 1.6)))
        lid.add(
            shapes.box(
                (-0.4 * width, 0.55 * depth, height),
                (0.4 * width, depth, height + 0.01),
                shaded(colors.body),
            )
        )


def _brewer(make: Builder) -> None:
    shapes, colors = make.shapes, sample_color_scheme(make, "appliance", "plastic", "dark")
    width, depth, height = (
        make.between(0.17, 0.24),
        make.between(0.2, 0.28),
        make.between(0.3, 0.38),
    )
    foot, head = 0.04, height * make.between(0.6, 0.68)
    back = depth * make.between(0.62, 0.7)
    base = make.base()
    _c_body(make, base, (width, depth, height), (foot, head, back), colors.body)
    # The jug stands in the bay and slides out to the front, its own lid turning on it.
    room = head - foot
    r = 0.42 * min(width, back)
    y, z = back - r - 0.012, foot
    jug = make.slider("jug", base, (0, -1, 0), (0.0, make.between(0.08, 0.2)))
    t = np.linspace(0, 1, 5)
    tall = 0.8 * room
    outside = np.stack([r * (0.85 + 0.15 * np.sin(np.pi * t) - 0.2 * t**2), tall * t], -1)
    profile = [
        (0, 0),
        *outside,
        *(outside[::-1] - (0.003, 0))[:-1],
        (outside[0, 0] - 0.003, 0.004),
        (0, 0.004),
    ]
    jug.add(shapes.lathe(profile, sample_color(make, "glass")).moved(0, y, z))
    out = -r - 0.035
    corners = [(0, -0.62 * r, 0.93 * tall), (0, out, 0.9 * tall), (0, out, 0.35 * tall)]
    corners.append((0, -0.93 * r, 0.3 * tall))
    path = rounded_path(np.array(corners), 0.03, 4) + np.array((0, y, z))
    jug.add(shapes.tube(path, 0.008, (1, 0, 0), colors.accent))
    rim = outside[-1, 0]
    if make.chance(0.6):
        jug.add(shapes.cylinder(rim, z + tall, z + tall + 0.008, colors.accent).moved(0, y))
    base.add(shapes.cylinder(0.7 * r, head - 0.02, head, colors.accent, tip=1.3).moved(0, y))
    gap = make.pick(0.0, 0.002)
    hinge_y = depth if make.chance(0.7) else 0.6 * depth
    widest = make.between(1.0, 1.7 if hinge_y == depth else 1.57)
    lid = make.hinge("lid", base, (0, hinge_y, height + gap), (-1, 0, 0), (0.0, widest))
    lid.add(
        shapes.box(
            (-width / 2, 0, height + gap), (width / 2, hinge_y, height + gap + 0.018), colors.front
        )
    )
    corners2 = (-0.2 * width, 0.3 * foot), (0.2 * width, 0.7 * foot)
    add_buttons(
        make, base, *corners2, 0.0, (make.count(1, 3), 1), colors.accent, moving=make.count(0, 3)
    )


def _pod(make: Builder) -> None:
    shapes, colors = make.shapes, sample_color_scheme(make, "plastic", "appliance")
    width, depth, height = (
        make.between(0.11, 0.17),
        make.between(0.26, 0.36),
        make.between(0.22, 0.3),
    )
    foot, head = 0.03, height * make.between(0.55, 0.65)
    back = depth * make.between(0.35, 0.45)
    base = make.base()
    _c_body(make, base, (width, depth, height), (foot, head, back), colors.body)
    base.add(shapes.cylinder(0.016, head - 0.02, head, colors.accent).moved(0, 0.45 * back))
    _drip_tray(make, base, width, back, foot, colors.accent)
    # A lever over the head, hinged behind; lifting it opens the pod chamber.
    pivot = (0, 0.55 * depth, height + 0.016)
    lever = make.hinge("lever", base, pivot, (-1, 0, 0), (0.0, make.between(1.0, 1.9)))
    half = 0.4 * width
    for x in (-half, half):
        lever.add(
            shapes.box(
                (x - 0.006, 0.02, height + 0.003),
                (x + 0.006, pivot[1] + 0.008, height + 0.019),
                colors.accent,
            )
        )
    lever.add(
        shapes.rounded_box(
            (-half - 0.006, -0.012, height + 0.003),
            (half + 0.006, 0.02, height + 0.019),
            0.006,
            colors.accent,
        )
    )
    for x in (-0.24 * width, 0.24 * width):
        base.add(
            shapes.box(
                (x - 0.008, pivot[1] - 0.01, height),
                (x + 0.008, pivot[1] + 0.012, height + 0.026),
                colors.body,
            )
        )
    tank = make.slider("tank", base, (0, 0, 1), (0.0, make.between(0.06, 0.16)))
    box = (
        (-0.45 * width, depth + 0.002, 0.04),
        (0.45 * width, depth + 0.07, height * make.between(0.9, 1.1)),
    )
    tank.add(shapes.rounded_box(*box, 0.02, sample_color(make, "glass")))
    base.add(
        shapes.box(
            (-0.45 * width, depth - 0.01, 0), (0.45 * width, depth + 0.075, 0.036), colors.body
        )
    )
    corners = (-0.25 * width, height * 0.78), (0.25 * width, height * 0.84)
    add_buttons(make, base, *corners, 0.0, (2, 1), colors.accent, moving=make.count(0, 2))
