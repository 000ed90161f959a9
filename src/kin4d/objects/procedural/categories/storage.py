"""Storage furniture: cabinet, drawer unit, wardrobe, storage chest."""

from __future__ import annotations

import numpy as np

from kin4d.objects.procedural.assembly import ArticulatedObject
from kin4d.objects.procedural.builder import Builder
from kin4d.objects.procedural.carcass import carcass, choose_bays
from kin4d.objects.procedural.hardware import feet, handle
from kin4d.objects.procedural.palette import sample_color_scheme
from kin4d.objects.procedural.panels import panel, shell, tray


def cabinet(rng: np.random.Generator) -> ArticulatedObject:
    """Doors, drawers and open shelves in columns; kitchen unit, sideboard or cupboard."""
    make = Builder("cabinet", rng, size=1.2)
    width, height = make.between(0.4, 1.8), make.between(0.45, 2.1)
    columns = min(4, max(1, round(width / make.between(0.35, 0.7))))
    foot = make.pick(0.0, make.between(0.03, 0.18))
    colors = sample_color_scheme(make, "wood", "paint")
    base = make.base()
    bays = choose_bays(make, columns, 4 if height > 1.2 else 3)
    carcass(make, base, (width, make.between(0.3, 0.6), height), foot, bays, colors)
    return make.build()


def drawer_unit(rng: np.random.Generator) -> ArticulatedObject:
    """A chest of drawers."""
    make = Builder("drawer_unit", rng, size=1.0)
    width = make.between(0.3, 1.3)
    columns = 2 if width > 0.8 and make.chance(0.6) else 1
    rows = make.count(2, 6)
    bays = [["drawer"] * rows for _ in range(columns)]
    if columns == 2 and make.chance(0.3):
        bays[1] = ["drawer"] * make.count(1, 6)
    colors = sample_color_scheme(make, "wood", "paint", "appliance")
    base = make.base()
    foot = make.pick(0.0, make.between(0.03, 0.15))
    height = min(rows * make.between(0.1, 0.24), 1.5)
    carcass(make, base, (width, make.between(0.35, 0.6), height), foot, bays, colors)
    return make.build()


def wardrobe(rng: np.random.Generator) -> ArticulatedObject:
    """Tall, with two or three sliding doors in tracks one behind the other."""
    make = Builder("wardrobe", rng, size=2.0)
    width, depth, height = make.between(1.0, 2.4), make.between(0.45, 0.65), make.between(0.7, 2.3)
    colors = sample_color_scheme(make, "wood", "paint")
    wall, thick, gap = (
        make.between(0.016, 0.03),
        make.between(0.014, 0.024),
        make.between(0.002, 0.01),
    )
    doors = make.count(2, 3)
    room = 2 * (thick + gap) + 0.02
    low, high = (-width / 2, 0.0, 0.0), (width / 2, depth, height)
    boards = shell(low, high, wall, back=0.008)
    middle = make.between(-0.2, 0.2) * width
    boards.append(((middle, room, wall), (middle + wall, depth, height - wall)))
    for _ in range(make.count(0, 4)):
        z = make.between(0.1, 0.9) * height
        boards.append(((low[0] + wall, room, z), (middle, depth, z + 0.8 * wall)))
    base = make.base(make.shapes.boards(boards, colors.body, merged=make.merged))
    if make.chance(0.6):
        rail = make.shapes.cylinder(0.014, middle + wall, high[0] - wall, colors.accent)
        base.add(rail.rotated("y", np.pi / 2).moved(0, (room + depth) / 2, 0.85 * height))
    inner = width - 2 * wall
    overlap = make.between(0.02, 0.06)
    leaf_width = (inner + (doors - 1) * overlap) / doors
    style = make.pick("slab", "framed", "panelled", "glazed")
    step = leaf_width - overlap
    # Two doors pass each other; of three, the middle one passes both and the last stands still.
    spans = {
        2: [(0.0, inner - leaf_width), (leaf_width - inner, 0.0)],
        3: [(0.0, step - overlap), (-step, step), None],
    }[doors]
    grips = make.chance(0.6)
    for d, span in enumerate(spans):
        x, y = low[0] + wall + d * step, 0.006 + d % 2 * (thick + gap)
        corners = (x, y, wall + 0.004), (x + leaf_width, y + thick, height - wall - 0.004)
        link = base if span is None else make.slider("door", base, (1, 0, 0), span)
        link.add(panel(make, *corners, colors.front, style=style))
        if grips and d % 2 == 0:
            near = x + 0.03 if d == 0 else x + leaf_width - 0.03
            pull = (near - 0.012, y - 0.012, 0.4 * height), (near + 0.012, y, 0.4 * height + 0.12)
            link.add(make.shapes.box(*pull, colors.accent))
    return make.build()


def storage_chest(rng: np.random.Generator) -> ArticulatedObject:
    """A trunk with a lid hinged at the back, flat or domed."""
    make = Builder("storage_chest", rng, size=1.0)
    width, depth, height = make.between(0.5, 1.3), make.between(0.35, 0.6), make.between(0.3, 0.6)
    wall, colors = make.between(0.012, 0.03), sample_color_scheme(make, "wood", "paint")
    shapes = make.shapes
    foot = make.pick(0.0, make.between(0.02, 0.08))
    low, high = (-width / 2, 0, foot), (width / 2, depth, foot + height)
    base = make.base(tray(make, low, high, wall, colors.body))
    if foot:
        base.add(feet(make, low[:2], high[:2], foot, colors.accent))
    gap, over = make.pick(0.0, 0.002), make.pick(0.0, 0.015)
    lid_z, thick = high[2] + gap, make.between(0.015, 0.03)
    lid = make.hinge("lid", base, (0, depth, lid_z), (-1, 0, 0), (0.0, make.between(1.3, 1.9)))
    if make.chance(0.5):
        lid.add(
            shapes.box(
                (low[0] - over, -over, lid_z), (high[0] + over, depth, lid_z + thick), colors.front
            )
        )
    else:
        rise = make.between(0.15, 0.4) * depth
        angle = np.linspace(0, np.pi, max(8, shapes.sides // 2))
        outline = np.stack([0.5 * depth * np.cos(angle), rise * np.sin(angle) ** 0.8], -1)
        dome = shapes.prism(outline, -width / 2, width / 2, colors.front).facing_side()
        lid.add(dome.moved(0, depth / 2, lid_z))
        for x in np.linspace(-0.4, 0.4, make.count(2, 4)) * width:
            band = shapes.prism(outline * 1.02, -0.02, 0.02, colors.accent).facing_side()
            lid.add(band.moved(x, depth / 2, lid_z + 0.001))
    if make.chance(0.7):
        pull, _ = handle(
            make,
            (0, -over, lid_z + 0.4 * thick),
            0.14,
            colors.accent,
            vertical=False,
            style=make.pick("block", "ledge", "knob"),
        )
        lid.add(pull)
    for side in (-1, 1) if make.chance(0.5) else ():
        grip = shapes.box((0, 0, 0), (0.02, 0.12, 0.025), colors.accent)
        grip = (grip if side > 0 else grip.mirrored(0)).moved(
            side * width / 2, depth / 2 - 0.06, foot + 0.6 * height
        )
        base.add(grip)
    return make.build()
