"""Taps: mixers, pairs of handles, kitchen and wall taps."""

from __future__ import annotations

import numpy as np

from kin4d.objects.procedural.assembly import ArticulatedObject
from kin4d.objects.procedural.builder import Builder
from kin4d.objects.procedural.palette import sample_color
from kin4d.objects.procedural.parts import Color, MeshPart
from kin4d.objects.procedural.profiles import (
    rounded_path,
    rounded_rectangle,
    superellipse,
    unit_circle,
)


def faucet(rng: np.random.Generator) -> ArticulatedObject:
    """A mixer with one lever, a tap with two handles, or a tall kitchen tap."""
    make = Builder("faucet", rng, size=0.3)
    kind = make.pick("mixer", "mixer", "pair", "kitchen", "wall")
    {"mixer": _mixer, "pair": _pair, "kitchen": _kitchen, "wall": _wall_tap}[kind](make)
    return make.build()


def _spout(
    make: Builder, start: np.ndarray, reach: float, rise: float, radius: float, color: Color
) -> MeshPart:
    """A tube from `start` towards -y, straight or bent."""
    x, y, z = start
    style = make.pick("straight", "bent")
    if style == "straight":
        corners = [(x, y, z), (x, y - reach, z + 0.3 * rise)]
    else:
        corners = [(x, y, z), (x, y - 0.9 * reach, z + 0.25 * rise), (x, y - reach, z - 0.03)]
    path = rounded_path(np.array(corners), 0.5 * reach, 6)
    if make.chance(0.3):
        flat = superellipse(1.3, 0.8, 5, max(8, make.shapes.sides // 2))
        return make.shapes.tube(path, radius, (1, 0, 0), color, outline=flat[:, ::-1][::-1])
    return make.shapes.tube(path, np.linspace(radius, 0.85 * radius, len(path)), (1, 0, 0), color)


def _lever(make: Builder, color: Color, length: float, thick: float) -> list[MeshPart]:
    """A flat or round lever from the origin towards -y, rising a little."""
    shapes = make.shapes
    rise = make.between(0.0, 0.4) * length
    if make.chance(0.5):
        path = np.array([(0, 0.3 * thick, 0.0), (0, -0.5 * length, 0.6 * rise), (0, -length, rise)])
        flat = superellipse(0.5, 1.4, 4, 12)
        return [
            shapes.tube(path, [1.2 * thick, thick, 0.8 * thick], (1, 0, 0), color, outline=flat)
        ]
    path = np.array([(0, 0, 0.0), (0, -length, rise)])
    return [
        shapes.tube(path, [0.6 * thick, 0.5 * thick], (1, 0, 0), color),
        shapes.sphere(0.8 * thick, color).moved(0, -length, rise),
    ]


def _mixer(make: Builder) -> None:
    """One body; a cap that turns, and on it a lever that tilts."""
    shapes, color = make.shapes, sample_color(make, "metal", "metal", "dark")
    radius, height = make.between(0.02, 0.03), make.between(0.08, 0.18)
    flange = 1.25 * radius
    profile = [
        (0, 0),
        (flange, 0),
        (flange, 0.008),
        (radius, 0.012),
        (radius * make.between(0.85, 1.1), height),
        (0, height),
    ]
    base = make.base(shapes.lathe(profile, color))
    spout_z = height * make.between(0.35, 0.8)
    base.add(
        _spout(make, np.array([0, 0, spout_z]), make.between(0.1, 0.17), 0.04, 0.55 * radius, color)
    )
    gap = make.pick(0.0, 0.001)
    z = height + gap
    limit = make.between(0.6, 1.4)
    cap_h = make.between(0.6, 1.2) * radius
    cap = make.hinge("cap", base, (0, 0, z), (0, 0, 1), (-limit, limit))
    cap.add(
        shapes.lathe(
            [
                (0, z),
                (radius, z),
                (radius, z + cap_h),
                (0.7 * radius, z + 1.4 * cap_h),
                (0, z + 1.5 * cap_h),
            ],
            color,
        )
    )
    length = make.between(0.06, 0.12)
    back = make.chance(0.3)
    parts = _lever(make, color, length, 0.35 * radius)
    parts = [p.rotated("z", np.pi) if back else p for p in parts]
    if make.chance(0.6):
        pivot = (0, 0, z + 1.3 * cap_h)
        tilt = make.hinge(
            "lever",
            cap,
            pivot,
            (1 if back else -1, 0, 0),
            (0.0, make.between(0.3, 0.7)),
            bearing=1.2 * radius,
        )
        tilt.add(p.moved(*pivot) for p in parts)
    else:
        cap.add(p.moved(0, 0, z + 1.3 * cap_h) for p in parts)
    if make.chance(0.3):
        # The rod behind that lifts the drain's plug.
        y = 1.6 * radius
        base.add(shapes.box((-0.01, 0, 0), (0.01, y + 0.008, 0.012), color))
        rod = make.slider(
            "rod", base, (0, 0, 1), (0.0, make.between(0.02, 0.04)), at=(0, y, 0), bearing=0.006
        )
        top = min(0.7 * height, 0.09)
        rod.add(
            shapes.cylinder(0.003, 0.004, top, color).moved(0, y),
            shapes.sphere(0.007, color).moved(0, y, top),
        )


def _handle(make: Builder, color: Color, size: float) -> list[MeshPart]:
    """A tap handle about z standing on z = 0: cross, lever, wheel or lobed knob."""
    shapes = make.shapes
    style = make.pick("cross", "lever", "lobes", "bar")
    stem = 0.28 * size
    hub = shapes.cylinder(stem, 0, 0.9 * size, color, tip=0.9)
    z = 0.75 * size
    if style == "lobes":
        angle = np.arange(24) * (2 * np.pi / 24)
        outline = (
            0.75 * size * (1 + 0.15 * np.cos(make.count(3, 6) * angle))[:, None] * unit_circle(24)
        )
        return [
            shapes.cylinder(stem, 0, 0.4 * size, color),
            shapes.prism(outline, 0.4 * size, 1.1 * size, color, bevel=0.1 * size),
        ]
    bar = 0.14 * size
    arms = {"cross": 4, "lever": 1, "bar": 2}[style]
    length = size * (1.8 if style == "lever" else 1.0)
    parts = [hub]
    for i in range(arms):
        arm = shapes.tube(np.array([(0, 0, z), (length, 0, z)]), [0.8 * bar, bar], (0, 0, 1), color)
        parts.append(arm.rotated("z", 2 * np.pi * i / arms))
    return parts


def _pair(make: Builder) -> None:
    """Two handles beside a spout that may swing, on a common plate."""
    shapes, color = make.shapes, sample_color(make, "metal")
    apart, radius = make.between(0.07, 0.12), make.between(0.012, 0.02)
    size = make.between(0.022, 0.032)
    plate = rounded_rectangle(2 * apart + 0.06, 0.055, 0.027, shapes.sides)
    base = make.base()
    if make.chance(0.6):
        base.add(shapes.prism(plate, 0, 0.014, color, bevel=0.004))
    else:
        base.add(
            shapes.tube(np.array([(-apart, 0, 0.02), (apart, 0, 0.02)]), 0.011, (0, 0, 1), color)
        )
        for x in (-apart, 0, apart):
            base.add(shapes.cylinder(1.3 * radius, 0, 0.014, color).moved(x))
    tall = make.between(0.03, 0.06)
    base.add(shapes.cylinder(radius, 0.01, tall, color))
    swing = make.chance(0.6)
    target = base
    rise = make.between(0.06, 0.16)
    if swing:
        target = make.hinge("spout", base, (0, 0, tall), (0, 0, 1), (-0.9, 0.9))
        target.add(shapes.cylinder(1.05 * radius, tall, tall + 0.02, color))
    # Rises before it reaches out, so it passes over the handles.
    z0 = tall + 0.012
    reach = make.between(0.1, 0.16)
    corners = [(0, 0, z0), (0, 0, z0 + rise), (0, -reach, z0 + rise), (0, -reach, z0 + 0.6 * rise)]
    path = rounded_path(np.array(corners), 0.6 * reach, 6)
    target.add(shapes.tube(path, 0.7 * radius, (1, 0, 0), color))
    handle_parts = _handle(make, color, size)
    for side in (-1, 1):
        x, z = side * apart, 0.035
        base.add(shapes.cylinder(radius, 0.01, z, color).moved(x))
        limits = (0.0, make.pick(np.pi / 2, np.pi)) if side > 0 else (-np.pi / 2, 0.0)
        link = make.hinge("handle", base, (x, 0, z), (0, 0, 1), limits)
        link.add(p.rotated("z", -np.pi / 2).moved(x, 0, z) for p in handle_parts)


def _kitchen(make: Builder) -> None:
    """A tall swan's neck that swings, with a lever at its side."""
    shapes, color = make.shapes, sample_color(make, "metal", "dark")
    radius, height = make.between(0.018, 0.026), make.between(0.06, 0.14)
    base = make.base(
        shapes.lathe(
            [
                (0, 0),
                (1.3 * radius, 0),
                (1.3 * radius, 0.006),
                (radius, 0.01),
                (radius, height),
                (0, height),
            ],
            color,
        )
    )
    reach, rise = make.between(0.12, 0.22), make.between(0.15, 0.3)
    swing = make.hinge(
        "spout", base, (0, 0, height), (0, 0, 1), (-make.between(0.8, 1.6), make.between(0.8, 1.6))
    )
    z0 = height
    swing.add(shapes.cylinder(0.98 * radius, z0, z0 + 0.02, color))
    corners = [
        (0, 0, z0 + 0.01),
        (0, 0, z0 + rise),
        (0, -reach, z0 + rise),
        (0, -reach, z0 + rise * make.between(0.3, 0.7)),
    ]
    path = rounded_path(np.array(corners), 0.5 * reach, 8)
    swing.add(shapes.tube(path, 0.5 * radius, (1, 0, 0), color))
    z, length = 0.6 * height, make.between(0.06, 0.1)
    x = radius + 0.02
    base.add(shapes.cylinder(0.55 * radius, 0, x, color).rotated("y", np.pi / 2).moved(0, 0, z))
    # Turns about its own axle, standing up at zero.
    lever = make.hinge(
        "lever", base, (x, 0, z), (1, 0, 0), (-make.between(0.3, 0.6), make.between(0.6, 1.2))
    )
    lever.add(shapes.cylinder(0.6 * radius, 0, 0.012, color).rotated("y", np.pi / 2).moved(x, 0, z))
    path = np.array([(x + 0.006, 0, z), (x + 0.006, 0, z + length)])
    lever.add(shapes.tube(path, [0.006, 0.005], (1, 0, 0), color))


def _wall_tap(make: Builder) -> None:
    """A tap that comes out of the wall, its handle on top or at the end."""
    shapes, color = make.shapes, sample_color(make, "metal")
    radius, reach, z = make.between(0.012, 0.018), make.between(0.08, 0.14), make.between(0.05, 0.1)
    base = make.base(shapes.cylinder(2.2 * radius, 0, 0.01, color).facing_front().moved(0, 0, z))
    corners = [(0, 0, z), (0, -reach, z), (0, -reach - 0.02, z - 0.05)]
    base.add(shapes.tube(rounded_path(np.array(corners), 0.05, 5), radius, (1, 0, 0), color))
    y, top = -0.5 * reach, z + radius + 0.02
    base.add(shapes.cylinder(0.8 * radius, z, top, color).moved(0, y))
    limits = (0.0, make.pick(np.pi / 2, np.pi, 2 * np.pi))
    link = make.hinge("handle", base, (0, y, top), (0, 0, 1), limits)
    link.add(p.moved(0, y, top) for p in _handle(make, color, make.between(0.02, 0.03)))
