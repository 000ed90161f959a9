"""What turns about the normal of a mount: knobs, rotors, wheels, tongs, turntables."""

from __future__ import annotations

import numpy as np

from kin4d.objects.mechanisms.mount import Mount, box_mounts
from kin4d.objects.procedural.hardware import knob
from kin4d.objects.procedural.parts import MeshPart


def add_dial(mount: Mount) -> list[Mount]:
    """A row of knobs that turn about the normal."""
    make, shapes = mount.make, mount.shapes
    count = make.pick(1, 1, 2, 3, 4)
    step = 2 * mount.half[0] / count
    radius = min(step, 2 * mount.half[1]) * make.between(0.12, 0.42)
    depth = radius * make.between(0.3, 2.0)
    endless, limit = make.chance(0.2), make.between(0.6, 2.6)
    marked, ring = make.chance(0.6), make.chance(0.3)
    for i in range(count):
        x = -mount.half[0] + (i + 0.5) * step
        limits = (-np.pi, np.pi) if endless else make.pick((-limit, limit), (0.0, limit))
        link = mount.hinge("dial", (x, 0, 0), (0, 0, 1), limits)
        part = knob(make, radius, depth, mount.color, marked=marked)
        mount.add(_upright(part).moved(x), to=link)
        if ring:
            mount.add(shapes.cylinder(1.25 * radius, 0, 0.1 * depth, mount.color).moved(x))
    return []


def _upright(part: MeshPart) -> MeshPart:
    """What faces -y now faces +z."""
    return part.rotated("x", -np.pi / 2)


def add_rotor(mount: Mount) -> list[Mount]:
    """Blades, spokes or a disc that turn on a shaft along the normal."""
    make, shapes = mount.make, mount.shapes
    radius = mount.size * make.between(0.3, 1.4)
    stand = radius * make.between(0.05, 0.5)
    hub = radius * make.between(0.06, 0.2)
    thick = radius * make.between(0.02, 0.12)
    mount.add(shapes.cylinder(0.7 * hub, 0, stand, mount.color))
    limits = (-np.pi, np.pi) if make.chance(0.75) else mount.both_ways(0.5, 2.5)
    link = mount.hinge("rotor", (0, 0, stand), (0, 0, 1), limits)
    mount.add(shapes.cylinder(hub, stand, stand + 3 * thick, mount.color), to=link)
    style = make.pick("blades", "disc", "spokes", "bar", "crank")
    if style == "disc":
        disc = shapes.cylinder(radius, stand + thick, stand + 2 * thick, mount.color)
        mount.add(disc, to=link)
        return [mount.on(link, (0, 0, stand + 2 * thick), (0.6 * radius, 0.6 * radius))]
    count = {"blades": make.count(2, 6), "spokes": make.count(3, 6), "bar": 2, "crank": 1}[style]
    wide = radius * make.between(0.04, 0.25)
    blade = shapes.box((0.5 * hub, -wide, 0), (radius, wide, thick), mount.color)
    blade = blade.rotated("x", make.pick(0.0, make.between(0.1, 0.6)))
    blade = blade.moved(z=stand + 1.5 * thick)
    mount.add((blade.rotated("z", 2 * np.pi * i / count) for i in range(count)), to=link)
    if style == "spokes":
        circle = np.linspace(0, 2 * np.pi, 24, endpoint=False)
        rim = radius * np.stack([np.cos(circle), np.sin(circle), 0 * circle], 1)
        ring = shapes.tube(rim, max(wide, thick), (0, 0, 1), mount.color, closed=True)
        mount.add(ring.moved(z=stand + 1.5 * thick), to=link)
    if style == "crank":
        grip = shapes.cylinder(0.8 * wide, 0, 3 * wide, mount.color)
        mount.add(grip.moved(0.9 * radius, 0, stand + 2 * thick), to=link)
    return []


def add_wheels(mount: Mount) -> list[Mount]:
    """Wheels whose axles are along the normal."""
    make, shapes = mount.make, mount.shapes
    count = make.count(1, 3)
    step = 2 * mount.half[0] / count
    radius = min(0.45 * step, mount.half[1]) * make.between(0.5, 1.1)
    wide, gap = radius * make.between(0.15, 0.8), radius * make.between(0.02, 0.2)
    drop = mount.half[1] * make.between(-1.0, 0.0)
    for i in range(count):
        x = -mount.half[0] + (i + 0.5) * step
        mount.add(shapes.cylinder(0.15 * radius, 0, gap + 0.3 * wide, mount.color).moved(x, drop))
        link = mount.hinge("wheel", (x, drop, 0), (0, 0, 1), (-np.pi, np.pi))
        tyre = shapes.cylinder(radius, gap, gap + wide, mount.color)
        mount.add(tyre.moved(x, drop), to=link)
        if make.chance(0.6):
            cap = shapes.cylinder(0.4 * radius, gap + wide, gap + 1.15 * wide, mount.color)
            mount.add(cap.moved(x, drop), to=link)
    return []


def add_tongs(mount: Mount) -> list[Mount]:
    """Jaws or blades that turn about a common pin along the normal."""
    make, shapes = mount.make, mount.shapes
    length, thick = mount.size * make.between(0.6, 1.5), mount.size * make.between(0.02, 0.08)
    wide, limit = length * make.between(0.04, 0.12), make.between(0.3, 1.0)
    mount.add(shapes.cylinder(1.2 * wide, 0, thick, mount.color))
    back = make.pick(0.2, 0.2, 0.8) * length
    for i, sign in enumerate((-1.0, 1.0)):
        z = thick * (1.05 + 1.05 * i)
        link = mount.hinge("jaw", (0, 0, z), (0, 0, sign), (0.0, limit))
        blade = shapes.box((-back, -wide, z), (length, wide, z + thick), mount.color)
        mount.add(blade.rotated("z", sign * make.between(0.02, 0.3)), to=link)
    return []


def add_turntable(mount: Mount) -> list[Mount]:
    """A body that turns about the normal on a disc."""
    make, shapes = mount.make, mount.shapes
    radius, thick = mount.size * make.between(0.25, 0.5), mount.size * make.between(0.03, 0.15)
    mount.add(shapes.cylinder(radius * make.between(0.7, 1.1), 0, thick, mount.color))
    limits = (-np.pi, np.pi) if make.chance(0.5) else mount.both_ways(0.5, 2.8)
    link = mount.hinge("turn", (0, 0, thick), (0, 0, 1), limits)
    top = 1.8 * thick
    mount.add(shapes.cylinder(radius, thick, top, mount.color), to=link)
    if make.chance(0.3):
        return [mount.on(link, (0, 0, top), (0.7 * radius, 0.7 * radius))]
    a, b = radius * make.between(0.3, 0.9), radius * make.between(0.3, 0.9)
    height = top + radius * make.between(0.3, 2.0)
    mount.add(shapes.box((-a, -b, top), (a, b, height), mount.color), to=link)
    return box_mounts(mount, link, (-a, -b, top), (a, b, height))
