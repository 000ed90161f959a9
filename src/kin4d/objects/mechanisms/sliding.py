"""What slides on a mount: drawers, buttons, carriages, tubes, plungers, panes, fingers, caps."""

from __future__ import annotations

import numpy as np

from kin4d.objects.mechanisms.mount import Mount, box_mounts
from kin4d.objects.procedural.parts import MeshPart


def add_drawers(mount: Mount) -> list[Mount]:
    """A chest on the mount with drawers that come out at one side, or along the normal."""
    make, shapes = mount.make, mount.shapes
    a, b = np.array(mount.half) * make.between(0.6, 1.0)
    deep = mount.size * make.between(0.4, 1.2)
    wall = 0.04 * mount.size
    boards: list = [((-a, -b, 0), (-a + wall, b, deep)), ((a - wall, -b, 0), (a, b, deep))]
    boards += [((-a + wall, -b, 0), (a - wall, -b + wall, deep))]
    boards += [((-a + wall, b - wall, 0), (a - wall, b, deep))]
    boards += [((-a + wall, -b + wall, 0), (a - wall, b - wall, wall))]
    count = make.count(1, 4)
    step = 2 * (b - wall) / count
    for i in range(1, count):
        if make.chance(0.7):
            y = -b + wall + i * step
            boards.append(((-a + wall, y - wall / 4, wall), (a - wall, y + wall / 4, deep)))
    mount.add(shapes.boards(boards, mount.color, merged=make.merged))
    reach = (deep - wall) * make.between(0.4, 0.95)
    inset, room = make.chance(0.5), 0.1 * wall
    faces = []
    for i in range(count):
        low = np.array([-a + wall + room, -b + wall + i * step + 0.4 * wall, 1.5 * wall])
        high = np.array([a - wall - room, -b + wall + (i + 1) * step - 0.4 * wall, deep])
        link = mount.slider("drawer", (0, 0, 1), (0.0, reach))
        thin = 0.6 * wall
        plate_low, plate_high = low * [1, 1, 0] + [0, 0, deep - thin], high.copy()
        if not inset:
            plate_low[2] += thin
            plate_high[2] += thin
            plate_low[0], plate_high[0] = -a + 0.2 * wall, a - 0.2 * wall
        rear = float(plate_low[2])
        tray = [
            (plate_low, plate_high),
            (low, (low[0] + thin, high[1] - thin, rear)),
            ((high[0] - thin, low[1], low[2]), (high[0], high[1] - thin, rear)),
            (low, (high[0], low[1] + thin, rear)),
            (low, (high[0], high[1] - thin, low[2] + thin)),
        ]
        solid = make.chance(0.2)
        boxes = [tray[0], (low, (*high[:2], rear))] if solid else tray
        mount.add(shapes.boards(boxes, mount.color, merged=make.merged), to=link)
        middle = (plate_low + plate_high) / 2
        top = float(plate_high[2])
        if make.chance(0.75):
            wide, thick = a * make.between(0.05, 0.4), 0.5 * wall
            grip = shapes.box((-wide, -thick, 0), (wide, thick, make.between(1, 3) * wall))
            mount.add(grip.moved(float(middle[0]), float(middle[1]), top), to=link)
        else:
            half = (0.5 * float(high[0] - low[0]), 0.4 * float(high[1] - low[1]))
            faces.append(mount.on(link, (*middle[:2], top), half))
    return faces


def add_keys(mount: Mount) -> list[Mount]:
    """Keys that are pressed in."""
    make, shapes = mount.make, mount.shapes
    columns, rows = make.count(1, 5), make.pick(1, 1, 2, 3)
    pitch = 2 * np.array(mount.half) * make.between(0.4, 0.9) / [columns, rows]
    half = pitch * make.between(0.2, 0.45)
    height = float(half.min()) * make.between(0.3, 1.5)
    travel, is_round = height * make.between(0.2, 0.9), make.chance(0.4)
    for i in range(columns):
        for j in range(rows):
            x, y = pitch * ([i + 0.5, j + 0.5] - np.array([columns, rows]) / 2)
            link = mount.slider("button", (0, 0, -1), (0.0, travel))
            if is_round:
                part = shapes.cylinder(float(half.min()), 0, height, mount.color)
            else:
                part = shapes.box((-half[0], -half[1], 0), (half[0], half[1], height), mount.color)
            mount.add(part.moved(float(x), float(y)), to=link)
    return []


def add_carriage(mount: Mount) -> list[Mount]:
    """A block on rails, or on a slotted beam, that goes along x."""
    make, shapes = mount.make, mount.shapes
    a, b = mount.half
    rails = make.pick(1, 2, 2)
    height, width = mount.size * make.between(0.05, 0.2), mount.size * make.between(0.03, 0.12)
    spread = b * make.between(0.3, 0.8) if rails == 2 else 0.0
    is_round = make.chance(0.4)
    for y in (-spread, spread) if rails == 2 else (0.0,):
        if is_round:
            rod = shapes.cylinder(width / 2, -a, a, mount.color).rotated("y", np.pi / 2)
            mount.add(rod.moved(0, y, height - width / 2))
            for end in (-1, 1):
                block = shapes.box((-width, -width, 0), (width, width, height + width / 2))
                mount.add(block.moved(end * (a - width), y))
        else:
            mount.add(shapes.box((-a, y - width / 2, 0), (a, y + width / 2, height), mount.color))
    long = a * make.between(0.15, 0.45)
    wide = (spread + width) * make.between(1.0, 1.4)
    thick = mount.size * make.between(0.06, 0.4)
    reach = 0.97 * a - long
    place = reach * make.between(-1.0, 1.0)
    link = mount.slider("carriage", (1, 0, 0), (-reach - place, reach - place))
    low, high = (place - long, -wide, height), (place + long, wide, height + thick)
    mount.add(shapes.box(low, high, mount.color), to=link)
    if make.chance(0.4):
        for y in (-spread, spread) if rails == 2 else (0.0,):
            shoe = shapes.box(
                (-0.8 * long, -0.9 * width, 0.3 * height), (0.8 * long, 0.9 * width, height)
            )
            mount.add(shoe.moved(place, y), to=link)
    return box_mounts(mount, link, low, high, sides="+z+y-y")


def add_telescope(mount: Mount) -> list[Mount]:
    """Tubes in tubes along the normal; the next thing sits on the last."""
    make, shapes = mount.make, mount.shapes
    radius, length = mount.size * make.between(0.06, 0.25), mount.size * make.between(0.6, 2.5)
    square, shrink = make.chance(0.5), make.between(0.65, 0.88)

    def tube(size: float, bottom: float, top: float) -> MeshPart:
        if square:
            return shapes.box((-size, -size, bottom), (size, size, top), mount.color)
        return shapes.cylinder(size, bottom, top, mount.color)

    mount.add(tube(radius, 0, length))
    if make.chance(0.5):
        mount.add(tube(1.2 * radius, 0.92 * length, length))
    here, top = mount, length
    for _ in range(make.pick(1, 1, 2, 3)):
        radius *= shrink
        start = top - length * make.between(0.3, 0.9)
        shown = length * make.between(0.03, 0.8)
        hidden = top - start
        link = here.slider("tube", (0, 0, 1), (-min(shown, start) * 0.9, hidden * 0.85))
        here = mount.on(link, (0, 0, 0), mount.half)
        top += shown
        here.add(tube(radius, start, top))
        length = top - start
    half = mount.size * make.between(0.2, 0.5)
    if make.chance(0.4):
        here.add(tube(1.6 * radius, top, top + 0.4 * radius))
        top += 0.4 * radius
    return [mount.on(here.link, (0, 0, top), (half, half))]


def add_plunger(mount: Mount) -> list[Mount]:
    """A rod with a grip that is pushed into a collar."""
    make, shapes = mount.make, mount.shapes
    radius, length = mount.size * make.between(0.02, 0.1), mount.size * make.between(0.3, 1.2)
    collar = radius * make.between(1.0, 3.0)
    mount.add(shapes.cylinder(1.6 * radius, 0, collar, mount.color))
    reach = (length - collar) * make.between(0.4, 0.9)
    link = mount.slider("plunger", (0, 0, 1), make.pick((-reach, 0.0), (0.0, reach)))
    mount.add(shapes.cylinder(radius, 0, length, mount.color), to=link)
    wide = radius * make.between(2, 6)
    if make.chance(0.5):
        grip = shapes.cylinder(radius, -wide, wide, mount.color).rotated("y", np.pi / 2)
        mount.add(grip.moved(z=length), to=link)
    else:
        mount.add(shapes.cylinder(0.6 * wide, length, length + radius, mount.color), to=link)
    return []


def add_panes(mount: Mount) -> list[Mount]:
    """Panels that slide past each other in a frame."""
    make, shapes = mount.make, mount.shapes
    a, b = mount.half
    bar, deep = 0.06 * mount.size, make.between(0.06, 0.2) * mount.size
    frame = [((-a, -b, 0), (-a + bar, b, deep)), ((a - bar, -b, 0), (a, b, deep))]
    frame += [((-a + bar, b - bar, 0), (a - bar, b, deep))]
    frame += [((-a + bar, -b, 0), (a - bar, -b + bar, deep))]
    mount.add(shapes.boards(frame, mount.color, merged=make.merged))
    x, y = a - bar, b - bar
    thick = 0.3 * deep
    fixed = make.chance(0.5)
    for i, sign in enumerate((-1.0, 1.0)):
        low = np.array([min(sign * x, -sign * 0.05 * x), -y, 0.15 * deep + 1.2 * thick * i])
        high = np.array([max(sign * x, -sign * 0.05 * x), y, low[2] + thick])
        if fixed and i == 0:
            link = mount.link
        else:
            link = mount.slider("pane", (-sign, 0, 0), (0.0, 0.93 * x))
        if make.chance(0.5):
            mount.add(shapes.box(low, high, mount.color), to=link)
            continue
        edge = 1.2 * bar
        boards = [
            (low, (low[0] + edge, high[1], high[2])),
            ((high[0] - edge, *low[1:]), high),
            ((low[0] + edge, *low[1:]), (high[0] - edge, low[1] + edge, high[2])),
            ((low[0] + edge, high[1] - edge, low[2]), (high[0] - edge, *high[1:])),
        ]
        mount.add(shapes.boards(boards, mount.color, merged=make.merged), to=link)
        inner = np.array([edge, edge, 0.35 * thick])
        mount.add(shapes.box(low + inner, high - inner, mount.color), to=link)
    return []


def add_fingers(mount: Mount) -> list[Mount]:
    """Two or three jaws on a palm that slide towards each other."""
    make, shapes = mount.make, mount.shapes
    a = mount.half[0] * make.between(0.5, 1.0)
    b = mount.half[1] * make.between(0.3, 0.9)
    palm = mount.size * make.between(0.1, 0.4)
    mount.add(shapes.box((-a, -b, 0), (a, b, palm), mount.color))
    length, thick = a * make.between(0.5, 1.6), a * make.between(0.08, 0.2)
    place = a * make.between(0.3, 0.9)
    first = None
    together = make.chance(0.4)
    for sign in (-1.0, 1.0):
        limits = (0.0, 0.9 * (place - thick))
        if together and first is not None:
            axis = mount.frame @ np.array([-sign, 0.0, 0.0])
            link = make.slider("finger", mount.link, axis, limits, mimic=(first, 1.0))
        else:
            link = mount.slider("finger", (-sign, 0, 0), limits)
            first = first or link
        jaw = shapes.box((-thick, -0.7 * b, palm), (thick, 0.7 * b, palm + length), mount.color)
        mount.add(jaw.moved(sign * place), to=link)
        if make.chance(0.4):
            tip = shapes.box((-thick, -0.5 * b, 0), (thick, 0.5 * b, thick), mount.color)
            mount.add(tip.moved(sign * (place - thick), 0, palm + length - thick), to=link)
    return []


def add_cap(mount: Mount) -> list[Mount]:
    """A round cap or lid over a neck, that lifts off or turns."""
    make, shapes = mount.make, mount.shapes
    radius, height = mount.size * make.between(0.12, 0.48), mount.size * make.between(0.05, 0.4)
    mount.add(shapes.cylinder(0.85 * radius, 0, 0.8 * height, mount.color))
    if make.chance(0.5):
        link = mount.slider("cap", (0, 0, 1), (0.0, height * make.between(0.8, 2.5)))
    else:
        link = mount.hinge("cap", (0, 0, 0), (0, 0, 1), (-np.pi, np.pi))
    wall = 0.1 * radius
    profile = [(radius - wall, 0.1 * height), (radius, 0.1 * height), (radius, height), (0, height)]
    mount.add(shapes.lathe(profile, mount.color), to=link)
    if make.chance(0.5):
        top = shapes.cylinder(0.25 * radius, height, height * 1.5, mount.color)
        mount.add(top, to=link)
    return []
