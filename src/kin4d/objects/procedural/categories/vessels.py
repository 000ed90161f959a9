"""Round vessels for liquids: bucket, pot, kettle, blender."""

from __future__ import annotations

import numpy as np

from kin4d.objects.procedural.assembly import ArticulatedObject
from kin4d.objects.procedural.builder import Builder
from kin4d.objects.procedural.doors_drawers import add_buttons, add_dials
from kin4d.objects.procedural.hardware import bail
from kin4d.objects.procedural.palette import sample_color
from kin4d.objects.procedural.parts import Color, MeshPart
from kin4d.objects.procedural.profiles import rounded_path, superellipse


def cup_profile(outside: np.ndarray, wall: float, *, single: bool = False) -> np.ndarray:
    """[N, 2] (radius, height): an outer profile from the foot to the rim, and back down inside.

    `single` leaves one wall of no thickness, open at the rim, as many models are drawn.
    """
    outside = np.asarray(outside, np.float64)
    foot = np.array([[0.0, outside[0, 1]]])
    if single:
        return np.concatenate([foot, outside])
    inside = outside[::-1] - (wall, 0)
    inside = inside[inside[:, 1] > outside[0, 1] + 1.01 * wall]
    floor = outside[0, 1] + wall
    last = [[outside[0, 0] - wall, floor], [0.0, floor]]
    return np.concatenate([foot, outside, inside, last])


def _lid(make: Builder, radius: float, rise: float, color: Color) -> list[MeshPart]:
    """A domed lid over z = 0 with a knob or a loop on top."""
    shapes = make.shapes
    t = np.linspace(0, 1, 5)[1:-1]
    thick = 0.03 * radius + 0.001
    dome = [(radius, thick)] + [
        (radius * np.cos(a), thick + rise * np.sin(a)) for a in t * np.pi / 2
    ]
    parts = [shapes.lathe([(0, 0), (radius, 0), *dome, (0, thick + rise)], color)]
    top, accent = thick + 0.97 * rise, sample_color(make, "dark", "metal", "wood")
    if make.chance(0.6):
        r, h = make.between(0.1, 0.18) * radius, make.between(0.15, 0.3) * radius
        profile = [(0, 0), (0.5 * r, 0), (0.45 * r, 0.4 * h), (r, 0.6 * h), (0.9 * r, h), (0, h)]
        parts.append(shapes.lathe(profile, accent).moved(z=top))
    else:
        loop = bail(
            make, 0.3 * radius, 0.25 * radius, 0.04 * radius, accent, square=make.chance(0.5)
        )
        parts.append(loop.moved(z=top))
    return parts


def bucket(rng: np.random.Generator) -> ArticulatedObject:
    """A tapered pail with a hoop handle between its ears."""
    make = Builder("bucket", rng, size=0.4)
    shapes = make.shapes
    top, height = make.between(0.1, 0.18), make.between(0.18, 0.42)
    bottom = top * make.between(0.65, 1.0)
    wall, color = make.between(0.0015, 0.006), sample_color(make, "plastic", "metal", "wood")
    lip = make.between(0.002, 0.012)
    ribs = make.count(0, 3)
    outside = [(bottom, 0.0)]
    for i in range(ribs):
        z = height * (0.3 + 0.5 * i / max(ribs, 1))
        r = bottom + (top - bottom) * z / height
        outside += [(r, z), (r + 0.6 * lip, z + 0.005), (r, z + 0.012)]
    outside += [(top, height - 3 * lip), (top + lip, height - 2.6 * lip), (top + lip, height)]
    single = make.chance(0.25)
    base = make.base(shapes.lathe(cup_profile(np.array(outside), wall, single=single), color))
    boxy = ribs == 0 and make.chance(0.3)
    if boxy:
        base.parts[0] = shapes.tub(
            superellipse(bottom, bottom * make.between(0.7, 1.0), make.between(2, 6), shapes.sides),
            0,
            height,
            max(wall, 0.003),
            color,
            taper=top / bottom,
        )
        lip = 0.0
    ear_z = height - make.between(0.012, 0.05)
    thick = make.between(0.0018, 0.005)
    reach = top + lip + thick + make.between(0.005, 0.01)
    accent = sample_color(make, "metal", "dark", "plastic")
    for side in (-1, 1):
        inner = side * (bottom + (top - bottom) * (ear_z / height) - 0.5 * wall)
        x0, x1 = sorted((inner, side * (reach - thick)))
        base.add(shapes.box((x0, -0.012, ear_z - 0.01), (x1, 0.012, ear_z + 0.012), accent))
    rise = (reach + 3 * thick) * make.between(1.3 if boxy else 1.0, 1.45)
    square = boxy or make.chance(0.25)
    # Further down than this the hoop would press into the wall.
    limit = min(make.between(1.2, 2.0), np.pi - float(np.arcsin((reach + 2.6 * thick) / rise)))
    limits = (-limit, limit) if make.chance(0.6) else (-make.between(0.2, 1.0), limit)
    loop = make.hinge("handle", base, (0, 0, ear_z), (1, 0, 0), limits, bearing=0.02)
    # Straight past the rim, which a hoop that bends in at once would cut.
    leg = height - ear_z + thick
    loop.add(bail(make, reach, rise, thick, accent, square=square, leg=leg).moved(z=ear_z))
    if make.chance(0.5):
        grip = shapes.cylinder(
            2.6 * thick, -0.3 * reach, 0.3 * reach, sample_color(make, "plastic", "wood")
        )
        loop.add(grip.rotated("y", np.pi / 2).moved(z=ear_z + rise))
    return make.build()


def pot(rng: np.random.Generator) -> ArticulatedObject:
    """A cooking pot or pan with a lid to lift and two short handles or one long one."""
    make = Builder("pot", rng, size=0.4)
    shapes = make.shapes
    radius, height = make.between(0.08, 0.18), make.between(0.06, 0.22)
    wall, color = (
        make.between(0.002, 0.006),
        sample_color(make, "metal", "dark", "plastic", "ceramic"),
    )
    belly = make.between(1.0, 1.12) if make.chance(0.4) else 1.0
    outside = [(0.9 * radius, 0), (radius * belly, 0.12 * height), (radius * belly, 0.7 * height)]
    outside += [(radius, height - 0.004), (1.03 * radius, height)]
    base = make.base(shapes.lathe(cup_profile(np.array(outside), wall), color))
    accent = sample_color(make, "metal", "dark", "wood")
    z = height * make.between(0.6, 0.85)
    thick = make.between(0.004, 0.009)
    if make.chance(0.65):
        half, out = make.between(0.25, 0.4) * radius, make.between(0.2, 0.4) * radius
        start = np.sqrt(max(radius**2 - half**2, 0)) - wall
        corners = [(start, -half, z), (radius + out, -0.8 * half, z), (radius + out, 0.8 * half, z)]
        path = rounded_path(np.array([*corners, (start, half, z)]), 0.4 * half, 4)
        ear = shapes.tube(path, thick, (0, 0, 1), accent)
        base.add(ear, ear.rotated("z", np.pi))
    else:
        length = make.between(0.9, 1.6) * radius
        path = np.array(
            [
                (radius - wall, 0, z),
                (radius + 0.3 * length, 0, z + 0.01),
                (radius + length, 0, z + 0.03),
            ]
        )
        base.add(shapes.tube(path, [thick, 1.6 * thick, 2 * thick], (0, 1, 0), accent))
    gap = make.pick(0.0, 0.001)
    lift = make.between(0.3, 1.2) * radius
    lid = make.slider("lid", base, (0, 0, 1), (0.0, lift))
    lid_color = color if make.chance(0.5) else sample_color(make, "glass", "metal")
    rise = radius * make.between(0.05, 0.3)
    lid.add(part.moved(z=height + gap) for part in _lid(make, 1.03 * radius, rise, lid_color))
    if radius > 0.13 and make.chance(0.3):
        # A valve or steam vent that turns on the lid.
        centre = (0.6 * radius, 0, height + gap + rise + 0.004)
        vent = make.hinge("vent", lid, centre, (0, 0, 1), (-1.5, 1.5), bearing=0.02)
        body = shapes.cylinder(0.012, -0.5 * rise, 0.012, accent)
        lever = shapes.box((-0.004, -0.025, 0.012), (0.004, 0.012, 0.018), accent)
        vent.add(body.moved(*centre), lever.moved(*centre))
    return make.build()


def kettle(rng: np.random.Generator) -> ArticulatedObject:
    """A kettle or teapot: spout, handle or hoop, and a lid that lifts or flips."""
    make = Builder("kettle", rng, size=0.3)
    shapes = make.shapes
    radius, height = make.between(0.07, 0.11), make.between(0.1, 0.22)
    color, accent = (
        sample_color(make, "metal", "plastic", "ceramic"),
        sample_color(make, "dark", "metal", "wood"),
    )
    neck = radius * make.between(0.5, 0.8)
    t = np.linspace(0, 1, 6)
    bulge = make.between(0.0, 0.25)
    radii = radius + (neck - radius) * t**2 + radius * bulge * np.sin(np.pi * t)
    outside = np.stack([radii, height * t], -1)
    base = make.base(shapes.lathe(cup_profile(outside, 0.003), color))
    tip = (radius + make.between(0.05, 0.09), 0, height * make.between(0.8, 1.0))
    path = rounded_path(
        np.array([(0.9 * radius, 0, 0.35 * height), (tip[0] - 0.03, 0, 0.5 * height), tip]), 0.04, 4
    )
    base.add(shapes.tube(path, np.linspace(0.02, 0.009, len(path)), (0, 1, 0), color))
    lid_r, hooped = neck * 1.02, make.chance(0.4)
    if hooped or make.chance(0.4):
        lift = make.between(0.015, 0.03) if hooped else make.between(0.04, 0.12)
        lid = make.slider("lid", base, (0, 0, 1), (0.0, lift))
    else:
        limits = (0.0, make.between(1.0, 1.6))
        lid = make.hinge("lid", base, (-lid_r, 0, height), (0, -1, 0), limits)
    lid.add(part.moved(z=height) for part in _lid(make, lid_r, 0.02, color))
    thick = make.between(0.006, 0.011)
    if hooped:
        reach, z = 1.02 * radius * (1 + bulge) + 0.012, 0.75 * height
        # High enough to pass over the lifted lid when it leans.
        rise = (0.25 * height + 0.12) * make.between(1.15, 1.4)
        # Across the spout, so that it can swing down on either side.
        loop = make.hinge("handle", base, (0, 0, z), (0, 1, 0), (-0.5, 0.5), bearing=0.03)
        hoop = bail(make, reach, rise, thick, accent, square=True).rotated("z", np.pi / 2)
        loop.add(hoop.moved(z=z))
        for side in (-1, 1):
            y0, y1 = sorted((side * 0.5 * radius, side * (reach - 0.002)))
            base.add(shapes.box((-0.01, y0, z - 0.01), (0.01, y1, z + 0.01), color))
    else:
        back = -(radius + make.between(0.04, 0.07))
        corners = [
            (-0.92 * neck, 0, 0.88 * height),
            (back, 0, 0.9 * height),
            (back, 0, 0.3 * height),
        ]
        path = rounded_path(np.array([*corners, (-0.9 * radius, 0, 0.2 * height)]), 0.05, 4)
        base.add(shapes.tube(path, thick, (0, 1, 0), accent))
    if make.chance(0.4):
        base.add(shapes.cylinder(1.05 * radius, -0.025, -0.001, accent))
    return make.build()


def blender(rng: np.random.Generator) -> ArticulatedObject:
    """A motor base with a dial, a jar to lift off and the jar's lid."""
    make = Builder("blender", rng, size=0.4)
    shapes = make.shapes
    wide, tall = make.between(0.07, 0.11), make.between(0.1, 0.16)
    color, accent = (
        sample_color(make, "plastic", "appliance", "metal"),
        sample_color(make, "dark", "metal"),
    )
    neck = wide * make.between(0.6, 0.85)
    square = make.chance(0.4)
    if square:
        outline = superellipse(wide, wide, 6, shapes.sides)
        base = make.base(shapes.prism(outline, 0, tall, color, taper=neck / wide, bevel=0.01))
    else:
        t = np.linspace(0, 1, 5)
        radii = neck + (wide - neck) * np.cos(0.5 * np.pi * t)
        base = make.base(
            shapes.lathe([(0, 0), *zip(radii, tall * t, strict=True), (0, tall)], color)
        )
    # Controls stand on a flat panel in front.
    panel = 0.45 * wide
    base.add(
        shapes.box((-panel, -wide - 0.006, 0.15 * tall), (panel, -0.5 * wide, 0.6 * tall), accent)
    )
    if make.chance(0.6):
        add_dials(make, base, [(0, 0.37 * tall)], -wide - 0.006, 0.18 * tall, color, moving=1)
    else:
        corners = (-0.8 * panel, 0.22 * tall), (0.8 * panel, 0.5 * tall)
        add_buttons(
            make,
            base,
            *corners,
            -wide - 0.006,
            (make.count(2, 4), 1),
            color,
            moving=make.count(0, 4),
        )
    jar_h, jar_top = make.between(0.16, 0.26), make.between(1.05, 1.5)
    jar = make.slider("jar", base, (0, 0, 1), (0.0, make.between(0.05, 0.2)))
    glass = sample_color(make, "glass")
    outline = superellipse(neck, neck, make.pick(2.0, 2.0, 5.0), shapes.sides)
    jar.add(shapes.tub(outline, tall, tall + jar_h, 0.004, glass, taper=jar_top, floor=0.02))
    top = neck * jar_top
    if make.chance(0.8):
        out = top + make.between(0.04, 0.06)
        mid = neck + (top - neck) * 0.2
        corners = [
            (0.97 * top, 0, tall + 0.9 * jar_h),
            (out, 0, tall + 0.88 * jar_h),
            (out * 0.95, 0, tall + 0.25 * jar_h),
        ]
        path = rounded_path(np.array([*corners, (0.98 * mid, 0, tall + 0.2 * jar_h)]), 0.03, 4)
        jar.add(shapes.tube(path, 0.009, (0, 1, 0), glass))
    lid = make.slider("lid", jar, (0, 0, 1), (0.0, make.between(0.04, 0.15)))
    z = tall + jar_h
    lid.add(shapes.prism(outline * jar_top * 1.02, z, z + 0.015, accent))
    lid.add(shapes.cylinder(0.4 * top, z + 0.015, z + 0.035, accent, tip=0.9))
    return make.build()
