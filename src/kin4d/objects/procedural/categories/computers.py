"""Laptop, monitor and USB stick."""

from __future__ import annotations

import numpy as np

from kin4d.objects.procedural.assembly import ArticulatedObject
from kin4d.objects.procedural.builder import Builder, LinkBuilder, side_by_side
from kin4d.objects.procedural.palette import sample_color, shaded
from kin4d.objects.procedural.parts import Color, MeshPart
from kin4d.objects.procedural.profiles import ellipse, rounded_rectangle


def laptop(rng: np.random.Generator) -> ArticulatedObject:
    """A screen hinged on a keyboard."""
    make = Builder("laptop", rng, size=0.45)
    shapes = make.shapes
    width = make.between(0.26, 0.4)
    depth = width * make.between(0.6, 0.75)
    base_h, lid_h = make.between(0.01, 0.032), make.between(0.004, 0.014)
    color, dark = (
        sample_color(make, "metal", "dark", "appliance", "plastic"),
        sample_color(make, "dark"),
    )
    radius = make.pick(0.0, make.between(0.004, 0.02))
    low, high = (-width / 2, -depth / 2, 0.0), (width / 2, depth / 2, base_h)

    def slab(a, b) -> MeshPart:
        return shapes.rounded_box(a, b, radius, color) if radius else shapes.box(a, b, color)

    base = make.base(slab(low, high))
    # Room for the keys below and the panel above, closed.
    gap = make.pick(0.001, 0.001, 0.002, 0.003)
    key_color = dark if make.chance(0.7) else shaded(color, 0.9)
    _keyboard(make, base, width, depth, base_h, key_color, sunk=gap < 0.002)
    if make.chance(0.8):
        w, d = make.between(0.25, 0.4) * width, make.between(0.18, 0.3) * depth
        z = base_h + 0.0004
        base.add(
            shapes.box(
                (-w / 2, -0.46 * depth, base_h - 0.001),
                (w / 2, -0.46 * depth + d, z),
                shaded(color, 0.92),
            )
        )
    z = base_h + gap
    hinge_y = depth / 2 - make.pick(0.0, 0.0, 0.012)
    # Pivot half way up the gap: closed, the screen lies on the keys; open, it stands behind them.
    limits = (0.0, make.between(1.7, 2.5))
    rest = None if make.chance(0.3) else make.between(1.2, min(2.1, limits[1]))
    lid = make.hinge("screen", base, (0, hinge_y, z), (-1, 0, 0), limits, bearing=0.018, rest=rest)
    lid.add(slab((low[0], low[1], z), (high[0], hinge_y, z + lid_h)))
    bezel = make.between(0.006, 0.02)
    screen_box = (
        (low[0] + bezel, low[1] + 1.2 * bezel, z - 0.0004),
        (high[0] - bezel, hinge_y - bezel, z + 0.3 * lid_h),
    )
    lid.add(shapes.box(*screen_box, (24, 26, 34)))
    if make.chance(0.6):
        count, r = make.pick(1, 2, 2), make.between(0.003, 0.006)
        for x in np.linspace(-0.35, 0.35, count) * width if count > 1 else (0.0,):
            pin = shapes.cylinder(r, -0.03, 0.03, dark).rotated("y", np.pi / 2)
            lid.add(pin.moved(x, hinge_y, z))
    return make.build()


def _keyboard(
    make: Builder,
    base: LinkBuilder,
    width: float,
    depth: float,
    top: float,
    color: Color,
    *,
    sunk: bool,
) -> None:
    """Rows of keys, just proud of the base, or one plate for all of them."""
    shapes = make.shapes
    y0, y1 = -0.08 * depth, make.between(0.36, 0.44) * depth
    half = make.between(0.4, 0.47) * width
    rise = 0.0005 if sunk else 0.0015
    if make.chance(0.3):
        base.add(shapes.box((-half, y0, top - 0.001), (half, y1, top + rise), color))
        return
    for a, b in side_by_side(y0, y1, make.count(4, 6), 0.003):
        for x0, x1 in side_by_side(-half, half, make.count(8, 14), 0.003):
            base.add(shapes.box((x0, a, top - 0.001), (x1, b, top + rise), color))


def monitor(rng: np.random.Generator) -> ArticulatedObject:
    """A screen on a stand that tilts, turns, rises and pivots."""
    make = Builder("monitor", rng, size=0.6)
    shapes = make.shapes
    width, height = make.between(0.4, 0.75), make.between(0.26, 0.4)
    color, thick = sample_color(make, "dark", "appliance", "metal"), make.between(0.015, 0.045)
    foot_w, foot_d = make.between(0.2, 0.32), make.between(0.16, 0.24)
    outline = rounded_rectangle(foot_w, foot_d, make.pick(0.01, 0.07), shapes.sides)
    if make.chance(0.3):
        outline = ellipse(foot_w / 2, foot_d / 2, shapes.sides)
    base = make.base(shapes.prism(outline, 0, 0.012, color))
    target = base
    if make.chance(0.7):
        target = make.hinge("turn", base, (0, 0, 0.012), (0, 0, 1), (-0.8, 0.8))
        target.add(shapes.cylinder(0.05, 0.012, 0.02, shaded(color)))
    pole, sleeve = make.between(0.016, 0.024), 0.006
    lift = make.between(0.05, 0.1) if make.chance(0.6) else 0.0
    # High enough that the tilted screen stays off the foot at the bottom of its travel.
    pole_h = height / 2 + 0.1 + lift + make.between(0.0, 0.08)
    ring = rounded_rectangle(2 * pole + 2 * sleeve, 2 * pole + 2 * sleeve, 0.006, 16)
    target.add(
        shapes.prism(rounded_rectangle(2 * pole, 2 * pole, 0.004, 16), 0.012, pole_h, color).moved(
            0, 0.01
        )
    )
    carrier, z = target, pole_h - 0.05
    if lift:
        carrier = make.slider("lift", target, (0, 0, 1), (-lift, 0.0))
    hole = rounded_rectangle(2 * pole + 0.001, 2 * pole + 0.001, 0.0045, 16)
    carrier.add(
        shapes.ring_plate(ring, hole, z - 0.04, z + 0.04, shaded(color, 1.1)).moved(0, 0.01)
    )
    arm_y = 0.01 - pole - sleeve
    carrier.add(shapes.box((-0.02, arm_y - 0.05, z - 0.02), (0.02, arm_y, z + 0.02), color))
    y = arm_y - 0.055
    lean = float(np.arcsin(0.05 / max(height / 2, 0.1)))
    tilt = make.hinge("tilt", carrier, (0, y, z), (-1, 0, 0), (-0.1, lean), bearing=0.02)
    knuckle = (
        shapes.cylinder(0.008, -0.03, 0.03, shaded(color)).rotated("y", np.pi / 2).moved(0, y, z)
    )
    plate = shapes.box((-0.05, y - 0.018, z - 0.05), (0.05, y - 0.01, z + 0.05), shaded(color))
    tilt.add(knuckle, plate)
    panel_y = y - 0.018
    screen = tilt
    if make.chance(0.4) and width / 2 < z - lift - 0.09:
        screen = make.hinge("pivot", tilt, (0, panel_y, z), (0, 1, 0), (0.0, np.pi / 2))
    low, high = (-width / 2, panel_y - thick, z - height / 2), (width / 2, panel_y, z + height / 2)
    outline = rounded_rectangle(width, height, make.pick(0.001, 0.012), shapes.sides)
    screen.add(
        shapes.prism(outline, 0, thick, color, taper=1.0).facing_front().moved(0, panel_y, z)
    )
    bezel = make.between(0.006, 0.02)
    screen.add(
        shapes.box(
            (low[0] + bezel, low[1] - 0.001, low[2] + bezel),
            (high[0] - bezel, low[1], high[2] - bezel),
            (22, 24, 30),
        )
    )
    return make.build()


def usb_stick(rng: np.random.Generator) -> ArticulatedObject:
    """A stick whose cap pulls off, whose cover swings, or whose plug slides out."""
    make = Builder("usb_stick", rng, size=0.07)
    shapes = make.shapes
    width, thick, length = (
        make.between(0.016, 0.022),
        make.between(0.007, 0.01),
        make.between(0.03, 0.045),
    )
    color, metal = sample_color(make, "plastic", "dark"), sample_color(make, "metal")
    plug_w, plug_t, plug_l = 0.012, 0.0045, 0.012
    outline = rounded_rectangle(width, length, make.between(0.001, 0.008), shapes.sides)
    kind = make.pick("cap", "swing", "slide")
    plug = shapes.box(
        (-plug_w / 2, length / 2, -plug_t / 2), (plug_w / 2, length / 2 + plug_l, plug_t / 2), metal
    )
    if kind == "cap":
        base = make.base(shapes.prism(outline, -thick / 2, thick / 2, color, bevel=0.001), plug)
        cap = make.slider("cap", base, (0, 1, 0), (0.0, make.between(0.012, 0.03)))
        # A sleeve around the plug, closed at its far end.
        y0, y1 = length / 2, length / 2 + plug_l + 0.003
        boxes = [
            ((-width / 2, y0, -thick / 2), (-plug_w / 2 - 0.0005, y1, thick / 2)),
            ((plug_w / 2 + 0.0005, y0, -thick / 2), (width / 2, y1, thick / 2)),
            ((-plug_w / 2 - 0.0005, y0, plug_t / 2 + 0.0003), (plug_w / 2 + 0.0005, y1, thick / 2)),
            (
                (-plug_w / 2 - 0.0005, y0, -thick / 2),
                (plug_w / 2 + 0.0005, y1, -plug_t / 2 - 0.0003),
            ),
            (
                (-plug_w / 2 - 0.0005, y1 - 0.002, -plug_t / 2 - 0.0003),
                (plug_w / 2 + 0.0005, y1, plug_t / 2 + 0.0003),
            ),
        ]
        cap.add(shapes.boards(boxes, shaded(color), merged=make.merged))
    elif kind == "swing":
        base = make.base(shapes.prism(outline, -thick / 2, thick / 2, color), plug)
        pivot = -length / 2 + width / 2
        cover = make.hinge(
            "cover",
            base,
            (0, pivot, 0),
            (0, 0, 1),
            (0.0, make.pick(np.pi, 1.75 * np.pi)),
            bearing=0.004,
        )
        sheet, gap = 0.0008, 0.0004
        reach = length + plug_l + 0.002
        plate = rounded_rectangle(width, reach - width / 2 + width, 0.45 * width, shapes.sides)
        for side in (-1, 1):
            z0, z1 = sorted((side * (thick / 2 + gap), side * (thick / 2 + gap + sheet)))
            cover.add(
                shapes.prism(plate, z0, z1, metal).moved(0, pivot + (reach - width) / 2 - 0.001)
            )
        far, outside = pivot + reach - width / 2 - 0.001, thick / 2 + gap + sheet
        strap = (-0.3 * width, far - 0.0005, -outside), (0.3 * width, far + 0.0008, outside)
        cover.add(shapes.box(*strap, metal))
        pin = shapes.cylinder(
            0.003, -thick / 2 - gap - sheet, thick / 2 + gap + sheet, shaded(metal)
        )
        cover.add(pin.moved(0, pivot))
    else:
        wall = 0.0014
        thick = max(thick, plug_t + 2 * (wall + 0.0003))
        y0, y1 = -length / 2, length / 2 + 0.004
        boxes = [
            ((-width / 2, y0, -thick / 2), (-width / 2 + wall, y1, thick / 2)),
            ((width / 2 - wall, y0, -thick / 2), (width / 2, y1, thick / 2)),
            ((-width / 2 + wall, y0, -thick / 2), (width / 2 - wall, y1, -thick / 2 + wall)),
            ((-width / 2 + wall, y0, thick / 2 - wall), (-0.003, y1, thick / 2)),
            ((0.003, y0, thick / 2 - wall), (width / 2 - wall, y1, thick / 2)),
        ]
        base = make.base(shapes.boards(boxes, color, merged=make.merged))
        sled = make.slider("plug", base, (0, 1, 0), (0.0, 0.013))
        inner = width / 2 - wall - 0.0004
        sled.add(
            shapes.box(
                (-inner, y0 + 0.004, -thick / 2 + wall + 0.0003),
                (inner, y1 - 0.014, thick / 2 - wall - 0.0003),
                shaded(color),
            )
        )
        sled.add(
            shapes.box(
                (-plug_w / 2, y1 - 0.014, -plug_t / 2), (plug_w / 2, y1 - 0.001, plug_t / 2), metal
            )
        )
        sled.add(
            shapes.box(
                (-0.0025, -0.004, thick / 2 - wall - 0.0003),
                (0.0025, 0.002, thick / 2 + 0.0015),
                shaded(color),
            )
        )
    return make.build()
