"""Assembling random mechanisms: a body, things fitted to it, and things fitted to those."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from kin4d.objects.articulated_sample import ArticulatedSample
from kin4d.objects.mechanisms import sliding, spinning, turning
from kin4d.objects.mechanisms.mount import Mount, box_mounts
from kin4d.objects.object_sample import ObjectSample
from kin4d.objects.procedural.assembly import ArticulatedObject
from kin4d.objects.procedural.builder import Builder, LinkBuilder
from kin4d.objects.procedural.palette import sample_color
from kin4d.objects.sources import ProceduralSource

MECHANISM = "mechanism"
"""Category and source of every random mechanism."""

Fitting = Callable[[Mount], list[Mount]]

_CARRIERS: tuple[Fitting, ...] = (
    turning.add_arm, turning.add_arm, spinning.add_turntable, turning.add_yoke,
    sliding.add_carriage, sliding.add_carriage, sliding.add_telescope,
)  # fmt: skip
"""Others can be fitted to what these move."""

_ENDS: tuple[Fitting, ...] = (
    turning.add_panel, turning.add_panel, turning.add_panel, turning.add_double_panel,
    spinning.add_dial, turning.add_lever, spinning.add_rotor, spinning.add_wheels, turning.add_bail,
    turning.add_louvers, spinning.add_tongs, sliding.add_drawers, sliding.add_drawers,
    sliding.add_keys, sliding.add_plunger, sliding.add_panes, sliding.add_fingers,
    sliding.add_cap,
)  # fmt: skip

_MOST_JOINTS = 10
_DEPTH = 4  # of joints on joints


def random_mechanism(rng: np.random.Generator) -> ArticulatedObject:
    """One with 1 to about 20 joints, upright, about a metre in size."""
    make = Builder(MECHANISM, rng)
    mounts = _body(make, make.base())
    for index in rng.permutation(len(mounts))[: make.count(1, 4)]:
        _fit(mounts[index], 0)
    return make.build()


def mechanism_source() -> ProceduralSource:
    """Random mechanisms as a source of training objects."""

    def make(category: str, seed: int) -> ObjectSample:
        made = replace(random_mechanism(np.random.default_rng([seed, 23])), seed=seed)
        return ArticulatedSample(source.identity(category, seed), made)

    source = ProceduralSource(
        name=f"kin4d-{MECHANISM}s", licence="Apache-2.0", categories=(MECHANISM,), make=make
    )
    return source


def _fit(mount: Mount, depth: int) -> None:
    """Fit one thing, and things to it, `depth` joints above the body."""
    make = mount.make
    color = sample_color(make, "metal", "plastic", "paint", "dark", "wood")
    mount = replace(mount, color=color)
    carrier = depth < _DEPTH and make.chance(0.45)
    fitting = make.pick(*(_CARRIERS if carrier else _ENDS))
    if make.chance(0.5):  # the other way round in its plane
        a, b = mount.half
        mount = mount.on(mount.link, (0, 0, 0), (b, a), x=(0.0, 1.0, 0.0))
    share = make.pick(1.0, make.between(0.4, 1.0))
    # Things may be wider than what they are fitted to.
    least = max(mount.half) * make.pick(0.1, 0.3, 0.5)
    half = (max(mount.half[0] * share, least), max(mount.half[1] * share, least))
    room = make.between(-1.0, 1.0) * (1 - share)
    mount = mount.part_of((room * mount.half[0], room * mount.half[1]), half)
    further = fitting(mount)
    for index in make.rng.permutation(len(further)):
        if make.joint_count < _MOST_JOINTS and make.chance(0.55 if index == 0 else 0.2):
            _fit(further[index], depth + 1)


def _body(make: Builder, base: LinkBuilder) -> list[Mount]:
    """What stands still, and where things can be fitted to it."""
    color = sample_color(make, "metal", "plastic", "paint", "wood")
    ground = Mount(make, base, np.zeros(3), np.eye(3), (0.5, 0.5), color)
    style = make.pick(_block, _block, _post, _plate, _gantry, _wall, _drum, _table)
    return style(ground)


def _block(ground: Mount) -> list[Mount]:
    """A box, perhaps on feet, perhaps hollow and open in front."""
    make, shapes = ground.make, ground.shapes
    a, b, height = make.between(0.1, 0.5), make.between(0.1, 0.5), make.between(0.1, 1.0)
    foot = make.pick(0.0, 0.0, make.between(0.02, 0.2))
    low, high = np.array([-a, -b, foot]), np.array([a, b, foot + height])
    if foot:
        wide = 0.1 * min(a, b)
        for x in (-a + wide, a - wide):
            for y in (-b + wide, b - wide):
                ground.add(shapes.box((x - wide, y - wide, 0), (x + wide, y + wide, foot)))
    if make.chance(0.35):
        wall = 0.03 * max(a, b, height) + 0.002
        side = make.pick("+z", "-y", "+x")
        boards = _open_box(low, high, wall, side)
        ground.add(shapes.boards(boards, ground.color, merged=make.merged))
        inner = box_mounts(ground, ground.link, low, high, sides=side)
        return [*inner, *box_mounts(ground, ground.link, low, high)]
    ground.add(shapes.box(low, high, ground.color))
    return box_mounts(ground, ground.link, low, high)


def _open_box(low: np.ndarray, high: np.ndarray, wall: float, side: str) -> list:
    """Boards of a box without one side."""
    boards = []
    for sign in "+-":
        for axis in range(3):
            if f"{sign}{'xyz'[axis]}" == side:
                continue
            start, stop = low.copy(), high.copy()
            if sign == "+":
                start[axis] = high[axis] - wall
            else:
                stop[axis] = low[axis] + wall
            for other in range(axis):  # boards do not overlap
                start[other] += wall
                stop[other] -= wall
            boards.append((start, stop))
    return boards


def _post(ground: Mount) -> list[Mount]:
    """A column on a foot."""
    make, shapes = ground.make, ground.shapes
    foot, thick = make.between(0.1, 0.4), make.between(0.02, 0.08)
    radius, height = make.between(0.02, 0.12), make.between(0.3, 1.2)
    if make.chance(0.5):
        ground.add(shapes.cylinder(foot, 0, thick, ground.color))
    else:
        ground.add(shapes.box((-foot, -foot, 0), (foot, foot, thick), ground.color))
    low, high = (-radius, -radius, thick), (radius, radius, height)
    if make.chance(0.5):
        ground.add(shapes.cylinder(radius, thick, height, ground.color))
    else:
        ground.add(shapes.box(low, high, ground.color))
    top = ground.on(ground.link, (0, 0, height), (0.2, 0.2))
    return [top, top, *box_mounts(ground, ground.link, low, high, sides="+x-x+y-y")][:-1]


def _plate(ground: Mount) -> list[Mount]:
    """A flat base."""
    make, shapes = ground.make, ground.shapes
    a, b, thick = make.between(0.15, 0.5), make.between(0.15, 0.5), make.between(0.02, 0.1)
    ground.add(shapes.box((-a, -b, 0), (a, b, thick), ground.color))
    if make.chance(0.5):
        return [ground.on(ground.link, (0, 0, thick), (a, b))]
    return [ground.on(ground.link, (sign * a / 2, 0, thick), (0.45 * a, b)) for sign in (-1, 1)]


def _gantry(ground: Mount) -> list[Mount]:
    """A beam on two uprights: things hang under it or sit on it."""
    make, shapes = ground.make, ground.shapes
    a, height, wide = make.between(0.2, 0.6), make.between(0.4, 1.0), make.between(0.03, 0.12)
    for sign in (-1, 1):
        ground.add(
            shapes.box((-wide, -wide, 0), (wide, wide, height), ground.color).moved(sign * a)
        )
    low, high = (-a - wide, -wide, height), (a + wide, wide, height + 2 * wide)
    ground.add(shapes.box(low, high, ground.color))
    under = ground.on(ground.link, (0, 0, height), (a, 0.2), x=(1, 0, 0), z=(0, 0, -1))
    return [under, *box_mounts(ground, ground.link, low, high, sides="+z-y")]


def _wall(ground: Mount) -> list[Mount]:
    """An upright plate."""
    make, shapes = ground.make, ground.shapes
    a, height, thick = make.between(0.1, 0.5), make.between(0.2, 1.0), make.between(0.02, 0.1)
    low, high = (-a, 0, 0), (a, thick, height)
    ground.add(shapes.box(low, high, ground.color))
    return box_mounts(ground, ground.link, low, high, sides="-y-y")[:1]


def _drum(ground: Mount) -> list[Mount]:
    """An upright cylinder."""
    make, shapes = ground.make, ground.shapes
    radius, height = make.between(0.1, 0.4), make.between(0.1, 1.0)
    ground.add(shapes.cylinder(radius, 0, height, ground.color, tip=make.between(0.8, 1.1)))
    top = ground.on(ground.link, (0, 0, height), (0.9 * radius, 0.9 * radius))
    front = ground.on(
        ground.link, (0, -radius, height / 2), (0.3 * radius, 0.45 * height), z=(0, -1, 0)
    )
    return [top, top, front]


def _table(ground: Mount) -> list[Mount]:
    """A board on legs."""
    make, shapes = ground.make, ground.shapes
    a, b, height = make.between(0.2, 0.6), make.between(0.15, 0.4), make.between(0.3, 0.8)
    wide, thick = make.between(0.01, 0.04), make.between(0.02, 0.06)
    for x in (-a + wide, a - wide):
        for y in (-b + wide, b - wide):
            ground.add(shapes.box((x - wide, y - wide, 0), (x + wide, y + wide, height)))
    low, high = (-a, -b, height), (a, b, height + thick)
    ground.add(shapes.box(low, high, ground.color))
    top = ground.on(ground.link, (0, 0, height + thick), (a, b))
    under = ground.on(ground.link, (0, 0, height), (0.8 * a, 0.8 * b), x=(1, 0, 0), z=(0, 0, -1))
    return [top, top, under, *box_mounts(ground, ground.link, low, high, sides="+x-x-y")]
