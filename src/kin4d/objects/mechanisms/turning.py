"""What turns about a line in the surface: doors, lids, levers, bails, louvers, yokes, arms."""

from __future__ import annotations

import numpy as np

from kin4d.objects.mechanisms.mount import Mount
from kin4d.objects.procedural.builder import LinkBuilder


def add_panel(mount: Mount) -> list[Mount]:
    """A door, lid or flap that lies on the mount and turns about one of its edges."""
    make = mount.make
    share = make.between(0.5, 1.0)
    return [_leaf(mount, make.count(0, 3), share)]


def add_double_panel(mount: Mount) -> list[Mount]:
    """Two doors or flaps hung on opposite edges."""
    a, b = mount.half
    along = mount.make.pick(0, 1)
    step = mount.half[along] / 2
    shift = (step, 0.0) if along == 0 else (0.0, step)
    half = (a / 2, b) if along == 0 else (a, b / 2)
    share = mount.make.between(0.75, 0.98)
    return [
        _leaf(mount.part_of((sign * shift[0], sign * shift[1]), half), edge, share)
        for sign, edge in ((-1, 2 * along), (1, 2 * along + 1))
    ]


def _leaf(mount: Mount, edge: int, share: float) -> Mount:
    """A panel on edge 0 (-x), 1 (+x), 2 (-y) or 3 (+y)."""
    make, shapes = mount.make, mount.shapes
    across, sign = edge // 2, -1.0 if edge % 2 == 0 else 1.0
    half = np.array(mount.half) * share
    thick = mount.size * make.between(0.03, 0.2)
    gap = make.pick(0.0, 0.002, 0.01) * mount.size
    low, high = np.array([*-half, gap]), np.array([*half, gap + thick])
    at, axis = np.zeros(3), np.zeros(3)
    at[across] = sign * half[across] * make.pick(1.0, 1.0, 0.97)
    at[2] = make.pick(gap, gap, gap + thick / 2, gap + thick)
    axis[1 - across] = -sign if across == 1 else sign
    limit = make.pick(np.pi / 2, make.between(0.6, 1.5), make.between(1.5, 2.6), np.pi)
    link = mount.hinge("leaf", at, axis, (0.0, limit))
    style = make.pick("plain", "plain", "tub", "frame")
    if style == "plain":
        mount.add(shapes.box(low, high, mount.color), to=link)
    elif style == "tub":
        wall = 0.15 * thick + 0.003
        deep = thick * make.between(1.0, 3.0)
        (x0, y0, z0), (x1, y1, top) = low, (*high[:2], low[2] + deep)
        inside = top - wall
        boards = [
            ((x0, y0, inside), (x1, y1, top)),
            ((x0, y0, z0), (x0 + wall, y1, inside)),
            ((x1 - wall, y0, z0), (x1, y1, inside)),
            ((x0 + wall, y0, z0), (x1 - wall, y0 + wall, inside)),
            ((x0 + wall, y1 - wall, z0), (x1 - wall, y1, inside)),
        ]
        mount.add(shapes.boards(boards, mount.color, merged=make.merged), to=link)
        high[2] = low[2] + deep
    else:
        width = make.between(0.08, 0.2) * mount.size
        boards = [
            (low, (low[0] + width, *high[1:])),
            ((high[0] - width, *low[1:]), high),
            ((low[0] + width, low[1], low[2]), (high[0] - width, low[1] + width, high[2])),
            ((low[0] + width, high[1] - width, low[2]), (high[0] - width, high[1], high[2])),
        ]
        mount.add(shapes.boards(boards, mount.color, merged=make.merged), to=link)
        inner = 0.3 * thick
        mount.add(
            shapes.box(
                (low[0] + width, low[1] + width, low[2] + inner),
                (high[0] - width, high[1] - width, high[2] - inner),
                mount.color,
            ),
            to=link,
        )
    if make.chance(0.5):
        _knuckles(mount, link, at, across, half, max(0.35 * thick, 0.01 * mount.size))
    if make.chance(0.6):
        _pull(mount, link, across, -sign, half, float(high[2]))
    middle = (0.0, 0.0, float(high[2]))
    return mount.on(link, middle, (0.6 * float(half[0]), 0.6 * float(half[1])))


def _knuckles(
    mount: Mount, link: LinkBuilder, at: np.ndarray, across: int, half: np.ndarray, radius: float
) -> None:
    """Barrels of hinges on the axis, on either side by turns."""
    make, shapes = mount.make, mount.shapes
    count, length = make.count(1, 3), make.between(0.06, 0.2) * float(half[1 - across])
    for place in np.linspace(-0.75, 0.75, count) if count > 1 else (0.0,):
        barrel = shapes.cylinder(radius, -length, length, mount.color)
        barrel = barrel.rotated("y", np.pi / 2) if across == 1 else barrel.rotated("x", np.pi / 2)
        shift = at.copy()
        shift[1 - across] = place * half[1 - across]
        mount.add(barrel.moved(*shift), to=make.pick(link, mount.link))


def _pull(
    mount: Mount, link: LinkBuilder, across: int, sign: float, half: np.ndarray, top: float
) -> None:
    """A handle near the free edge."""
    make, shapes = mount.make, mount.shapes
    place = np.array([0.0, 0.0, top])
    place[across] = sign * half[across] * make.between(0.7, 0.92)
    extent = np.full(3, make.between(0.02, 0.04) * mount.size)
    extent[1 - across] = half[1 - across] * make.between(0.08, 0.5)
    extent[2] = make.between(0.02, 0.08) * mount.size
    if make.chance(0.3):
        ball = shapes.cylinder(float(extent[0]) * 1.5, 0, float(2 * extent[2]), mount.color)
        mount.add(ball.moved(*place), to=link)
        return
    if make.chance(0.5):
        mount.add(shapes.box(place - [*extent[:2], 0], place + extent, mount.color), to=link)
        return
    thin, rise = float(min(extent[:2])), np.array([0.0, 0.0, float(extent[2])])
    for end in (-0.9, 0.9):
        foot = place.copy()
        foot[1 - across] += end * extent[1 - across]
        post = np.array([0.5 * thin, 0.5 * thin, 0.0])
        mount.add(shapes.box(foot - post, foot + post + rise, mount.color), to=link)
    bar = np.array([*extent[:2], 0.0])
    low, high = place + rise - bar, place + rise + bar + [0.0, 0.0, thin]
    mount.add(shapes.box(low, high, mount.color), to=link)


def add_lever(mount: Mount) -> list[Mount]:
    """A stick in a bracket that tilts about an axis in the surface, or one that lies flat on it and
    turns about the normal."""
    make, shapes = mount.make, mount.shapes
    size = mount.size
    length, thick = size * make.between(0.5, 2.0), size * make.between(0.02, 0.08)
    if make.chance(0.4):
        link = mount.hinge("lever", (0, 0, 0), (0, 0, 1), mount.both_ways(0.3, 1.6))
        hub = shapes.cylinder(1.8 * thick, 0, 3 * thick, mount.color)
        bar = shapes.box((0, -thick, thick), (length / 2, thick, 2.5 * thick), mount.color)
        mount.add(hub, bar, to=link)
        if make.chance(0.5):
            mount.add(shapes.cylinder(2.5 * thick, 0, 0.5 * thick, mount.color))
        return []
    height = thick * make.between(1.0, 4.0)
    limits = mount.both_ways(0.2, 1.0)
    link = mount.hinge("lever", (0, 0, height), (0, 1, 0), limits)
    rod = shapes.cylinder(0.7 * thick, -0.5 * thick, length, mount.color)
    end = shapes.cylinder(1.4 * thick, length, length + 3 * thick, mount.color)
    pivot = shapes.cylinder(thick, -1.5 * thick, 1.5 * thick, mount.color).rotated("x", np.pi / 2)
    tilt = make.pick(0.0, 0.0, make.between(-0.6, 0.6))
    parts = [rod, pivot, *([end] if make.chance(0.6) else [])]
    mount.add((p.rotated("y", tilt).moved(z=height) for p in parts), to=link)
    for side in (-1, 1):
        cheek = shapes.box((-2 * thick, -0.4 * thick, 0), (2 * thick, 0.4 * thick, height + thick))
        mount.add(cheek.moved(y=side * 2.2 * thick))
    return []


def add_bail(mount: Mount) -> list[Mount]:
    """A hoop handle hung at both sides of the mount."""
    make, shapes = mount.make, mount.shapes
    a, b = mount.half
    thick = mount.size * make.between(0.01, 0.04)
    rise = b * make.between(0.6, 1.6)
    height = thick * make.between(-2.0, 3.0)
    limits = make.pick((-np.pi / 2, np.pi / 2), (0.0, make.between(0.8, np.pi / 2)))
    link = mount.hinge("bail", (0, 0, height), (1, 0, 0), limits)
    x = a * make.between(0.8, 1.0) + 1.5 * thick
    legs = [
        shapes.box((s * x - thick, -thick, 0), (s * x + thick, thick, rise), mount.color)
        for s in (-1, 1)
    ]
    bar = shapes.box((-x - thick, -thick, rise), (x + thick, thick, rise + 2 * thick), mount.color)
    if make.chance(0.4):
        angle = np.linspace(0, np.pi, 20)
        path = np.stack([x * np.cos(angle), 0 * angle, rise * np.sin(angle)], 1)
        legs, bar = [], shapes.tube(path, thick, (0, 1, 0), mount.color)
    mount.add((p.moved(z=height) for p in [*legs, bar]), to=link)
    for s in (-1, 1):
        ear = shapes.cylinder(2 * thick, -thick, thick, mount.color).rotated("y", np.pi / 2)
        mount.add(ear.moved(s * (x - 2.2 * thick), 0, height))
    return []


def add_louvers(mount: Mount) -> list[Mount]:
    """Slats in a frame, each about its own length."""
    make, shapes = mount.make, mount.shapes
    a, b = mount.half
    bar, deep = 0.06 * mount.size, make.between(0.05, 0.15) * mount.size
    frame = [((-a, -b, 0), (-a + bar, b, deep)), ((a - bar, -b, 0), (a, b, deep))]
    frame += [((-a, b - bar, 0), (a, b, deep)), ((-a, -b, 0), (a, -b + bar, deep))]
    mount.add(shapes.boards(frame, mount.color, merged=make.merged))
    count = make.count(2, 7)
    step = 2 * (b - bar) / count
    wide, thick = step * make.between(0.3, 0.5), step * make.between(0.03, 0.12)
    limits = mount.both_ways(0.4, 1.4)
    first = None
    together = make.chance(0.4)
    for i in range(count):
        y = -b + bar + (i + 0.5) * step
        at = (0, y, 0.5 * deep)
        if together and first is not None:
            axis = mount.frame @ np.array([1.0, 0.0, 0.0])
            link = make.hinge("slat", mount.link, mount.point(at), axis, limits, mimic=(first, 1.0))
        else:
            link = mount.hinge("slat", at, (1, 0, 0), limits)
            first = first or link
        slat = shapes.box((-a + bar, -wide, -thick), (a - bar, wide, thick), mount.color)
        mount.add(slat.rotated("x", make.pick(0.0, 0.4)).moved(*at), to=link)
    return []


def add_yoke(mount: Mount) -> list[Mount]:
    """A body between two uprights, about the line through both."""
    make, shapes = mount.make, mount.shapes
    a = mount.half[0] * make.between(0.5, 1.0)
    wall, height = 0.12 * a, a * make.between(0.8, 1.8)
    b = mount.half[1] * make.between(0.2, 0.6)
    for sign in (-1, 1):
        upright = shapes.box((-wall / 2, -b, 0), (wall / 2, b, height * 1.15), mount.color)
        mount.add(upright.moved(sign * (a - wall / 2)))
    limits = (-np.pi, np.pi) if make.chance(0.2) else mount.both_ways(0.3, 1.6)
    link = mount.hinge("tilt", (0, 0, height), (1, 0, 0), limits)
    x = a - 1.3 * wall
    y, z = height * make.between(0.2, 0.7), height * make.between(0.2, 0.8)
    if make.chance(0.4):
        barrel = shapes.cylinder(min(z, 0.8 * x), -y, 1.3 * y, mount.color)
        mount.add(barrel.rotated("x", np.pi / 2).moved(z=height), to=link)
    else:
        mount.add(
            shapes.box((-x, -y, height - z / 2), (x, y, height + z / 2), mount.color), to=link
        )
    pin = shapes.cylinder(0.5 * wall, -a - 0.2 * wall, a + 0.2 * wall, mount.color)
    mount.add(pin.rotated("y", np.pi / 2).moved(z=height), to=make.pick(link, mount.link))
    return [mount.on(link, (0, 0, height + z / 2), (0.6 * x, 0.6 * y))]


def add_arm(mount: Mount) -> list[Mount]:
    """A beam pinned in a fork; the next thing sits on its end."""
    make, shapes = mount.make, mount.shapes
    size = mount.size
    wide, length = size * make.between(0.06, 0.2), size * make.between(0.6, 2.0)
    height = wide * make.between(0.8, 3.0)
    for sign in (-1, 1) if make.chance(0.7) else (1,):
        cheek = shapes.box((-wide, -0.25 * wide, 0), (wide, 0.25 * wide, height + wide))
        mount.add(cheek.moved(y=sign * 1.3 * wide))
    if make.chance(0.5):
        mount.add(shapes.box((-1.5 * wide, -2 * wide, 0), (1.5 * wide, 2 * wide, 0.3 * wide)))
    link = mount.hinge("arm", (0, 0, height), (0, 1, 0), mount.both_ways(0.4, 2.4))
    slim = wide * make.between(0.4, 1.0)
    if make.chance(0.5):
        beam = shapes.box((-slim, -wide, -slim), (slim, wide, length), mount.color)
    else:
        beam = shapes.cylinder(slim, -slim, length, mount.color)
    pin = shapes.cylinder(0.6 * wide, -1.7 * wide, 1.7 * wide, mount.color).rotated("x", np.pi / 2)
    tilt = make.pick(0.0, 0.0, np.pi / 2, make.between(-1.5, 1.5))
    parts = (p.rotated("y", tilt).moved(z=height) for p in (beam, pin))
    mount.add(parts, to=link)
    way = np.array([np.sin(tilt), 0.0, np.cos(tilt)])
    side = np.array([np.cos(tilt), 0.0, -np.sin(tilt)])
    turned = make.chance(0.25)
    end = np.array([0.0, 0.0, height]) + length * way
    half = size * make.between(0.25, 0.5)
    return [mount.on(link, end, (half, half), x=(0, 1, 0) if turned else side, z=way)]
