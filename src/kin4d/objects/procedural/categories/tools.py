"""Things held in the hand: scissors, pliers, tongs, pocket knife, folding ruler."""

from __future__ import annotations

import numpy as np

from kin4d.objects.procedural.assembly import ArticulatedObject
from kin4d.objects.procedural.builder import Builder
from kin4d.objects.procedural.palette import sample_color, shaded
from kin4d.objects.procedural.parts import Color, MeshPart
from kin4d.objects.procedural.profiles import ellipse, rectangle, rounded_path, rounded_rectangle


def _flat_bar(
    make: Builder,
    path: np.ndarray,
    width: list[float] | float,
    low: float,
    high: float,
    color: Color,
) -> MeshPart:
    """A bar of rectangular section along a path [N, 2] in the xy plane, between two heights."""
    points = np.column_stack([path, np.full(len(path), (low + high) / 2)])
    widths = np.broadcast_to(np.asarray(width, np.float64), len(path))
    rings = make.shapes.tube(points, 1.0, (0, 0, 1), color, outline=rectangle(1.0, high - low))
    centre = np.repeat(points, 4, axis=0)
    body = rings.vertices.copy()
    offset = body[: len(centre)] - centre
    offset[:, :2] *= np.repeat(widths, 4)[:, None]
    body[: len(centre)] = centre + offset
    return MeshPart(body, rings.faces, color)


def scissors(rng: np.random.Generator) -> ArticulatedObject:
    """Two halves in two layers, crossing at a screw."""
    make = Builder("scissors", rng, size=0.2)
    shapes = make.shapes
    blade, shank = make.between(0.06, 0.13), make.between(0.03, 0.07)
    width, thick = make.between(0.006, 0.011), make.between(0.0012, 0.003)
    metal, grip = sample_color(make, "metal"), sample_color(make, "plastic", "dark", "metal")
    loop = make.between(0.014, 0.024), make.between(0.018, 0.032)
    apart = loop[0] * make.between(1.1, 1.5)
    uneven = make.between(0.8, 1.3)
    base = make.base()
    gap = make.pick(0.0, 0.0003)
    limits = (0.0, make.between(0.6, 1.3))
    other = make.hinge("half", base, (0, 0, 0), (0, 0, 1), limits, bearing=0.6 * width)
    # A finger ring may be thicker than the blade only away from the other half.
    for link, side, low in ((base, -1, 0.0), (other, 1, thick + gap)):
        high = low + thick
        tip = blade * make.between(0.97, 1.0)
        outline = np.array(
            [
                (-width, -0.8 * width),
                (width, -0.8 * width),
                (0.9 * width, 0.4 * blade),
                (0.25 * width, tip),
                (-0.3 * width, tip),
                (-0.9 * width, 0.4 * blade),
            ]
        )
        if side > 0:
            outline = (outline * (-1, 1))[::-1]
        link.add(shapes.prism(outline, low, high, metal))
        scale = uneven if side > 0 else 1.0
        centre = np.array([side * apart, -shank - loop[1] * scale])
        joins = (centre[0] - 0.3 * side * loop[0], centre[1] + loop[1] * scale)
        path = rounded_path(
            np.array([(0, 0), (0.5 * side * width, -0.4 * shank), joins]),
            0.4 * shank,
            4,
        )
        link.add(
            _flat_bar(make, path, [1.8 * width] * (len(path) - 1) + [1.2 * width], low, high, metal)
        )
        ring = ellipse(loop[0], loop[1] * scale, max(16, shapes.sides)) + centre
        points = np.column_stack([ring, np.full(len(ring), (low + high) / 2)])
        bar = make.between(0.0025, 0.0045)
        link.add(
            shapes.tube(
                points, 1.0, (0, 0, 1), grip, outline=rectangle(2 * bar, thick), closed=True
            )
        )
    top = 2 * thick + gap
    base.add(shapes.cylinder(0.4 * width, top, top + 0.4 * thick + 0.0005, shaded(metal)))
    base.add(shapes.cylinder(0.35 * width, 0.5 * thick, top, shaded(metal)))
    return make.build()


def pliers(rng: np.random.Generator) -> ArticulatedObject:
    """Jaws that meet, a lapped joint, and long grips."""
    make = Builder("pliers", rng, size=0.2)
    shapes = make.shapes
    jaw, grip = make.between(0.03, 0.07), make.between(0.09, 0.14)
    r, thick = make.between(0.009, 0.014), make.between(0.004, 0.006)
    metal, rubber = sample_color(make, "metal", "dark"), sample_color(make, "plastic")
    limits = (0.0, make.between(0.4, 0.8))
    base = make.base()
    other = make.hinge("half", base, (0, 0, 0), (0, 0, -1), limits, bearing=1.15 * r)
    wide, tip = make.between(0.7, 1.1) * r, make.between(0.15, 0.6)
    spread = make.between(0.014, 0.022)
    bow = make.between(0.3, 1.2) * spread
    for link, side, low in ((base, -1, 0.0), (other, 1, thick)):
        link.add(shapes.cylinder(r, low, low + thick, metal))
        # From the disc out, jaw and handle have the full thickness of both layers.
        start = 0.75 * r
        outline = np.array(
            [
                (0.0, start),
                (side * wide, start),
                (side * wide * 0.95, r + 0.4 * jaw),
                (side * wide * tip, r + jaw),
                (0.0, r + jaw),
            ]
        )
        if side < 0:
            outline = outline[::-1]
        outline[:, 0] += side * 0.0001
        root = np.abs(outline[:, 1] - start) < 1e-9
        outline[root, 0] = np.clip(outline[root, 0], -r, r)
        link.add(shapes.prism(outline, 0, 2 * thick, metal))
        x0, y0 = -side * 0.45 * r, -0.8 * r
        corners = [(x0, y0), (-side * (spread + bow * 0.5), -0.35 * grip), (-side * spread, -grip)]
        path = rounded_path(np.array(corners), 0.3 * grip, 5)
        widths = np.linspace(0.8 * r, 0.7 * r, len(path))
        link.add(_flat_bar(make, path, list(widths), 0, 2 * thick, metal))
        if make.chance(0.85):
            cover = path[len(path) // 2 :]
            link.add(_flat_bar(make, cover, 1.05 * r, -0.001, 2 * thick + 0.001, rubber))
    base.add(shapes.cylinder(0.4 * r, 2 * thick, 2 * thick + 0.001, shaded(metal)))
    return make.build()


def tongs(rng: np.random.Generator) -> ArticulatedObject:
    """Two long arms on a hinge at one end, with paddles at the other."""
    make = Builder("tongs", rng, size=0.3)
    length, width = make.between(0.18, 0.34), make.between(0.012, 0.022)
    thick, color = make.between(0.0015, 0.004), sample_color(make, "metal", "wood")
    pad = sample_color(make, "plastic") if make.chance(0.5) else color
    base = make.base()
    open_at = make.between(0.25, 0.6)
    other = make.hinge("arm", base, (0, 0, 0), (0, 0, 1), (0.0, open_at), bearing=0.02)
    bulge = make.between(0.008, 0.02)
    for link, side in ((base, 1), (other, -1)):
        # Arms bow apart in the middle and meet at the paddles, which are this far from closing.
        tip = side * (thick / 2 + 0.0005)
        corners = [
            (0.0, 0.0),
            (side * bulge, 0.3 * length),
            (side * 0.8 * bulge, 0.75 * length),
            (tip, length),
        ]
        path = rounded_path(np.array(corners), 0.2 * length, 5)
        path[:, 0] += side * (thick / 2 + 0.0005)
        path[-1, 0] = tip
        link.add(_flat_bar(make, path, thick, -width / 2, width / 2, color))
        paddle = rounded_rectangle(1.6 * width, 0.16 * length, 0.5 * width, make.shapes.sides)
        part = make.shapes.prism(paddle[:, ::-1][::-1], 0, thick, pad).facing_side()
        part = part if side > 0 else part.mirrored(0)
        link.add(part.moved(side * 0.0004, 1.06 * length))
    ring = make.shapes.cylinder(
        bulge * 0.6 + 0.002, -width / 2 - 0.001, width / 2 + 0.001, shaded(color)
    )
    base.add(ring)
    return make.build()


def pocket_knife(rng: np.random.Generator) -> ArticulatedObject:
    """Blades and tools in layers between two scales, each on its own pivot."""
    make = Builder("pocket_knife", rng, size=0.15)
    shapes = make.shapes
    length, width = make.between(0.08, 0.12), make.between(0.02, 0.028)
    color, metal = sample_color(make, "plastic", "wood", "dark"), sample_color(make, "metal")
    count = make.count(1, 7)
    layer, gap = make.between(0.0018, 0.003), 0.0003
    scale = make.between(0.003, 0.005)
    inner = count * (layer + gap) + gap
    outline = rounded_rectangle(length, width, make.between(0.2, 0.5) * width, shapes.sides)
    base = make.base(
        shapes.prism(outline, -scale, 0, color, bevel=0.3 * scale),
        shapes.prism(outline, inner, inner + scale, color, bevel=0.3 * scale),
    )
    # The spring along the back holds the scales together.
    back = -0.5 * width
    base.add(
        shapes.box(
            (-0.45 * length, back, 0), (0.45 * length, back + 0.12 * width, inner), shaded(metal)
        )
    )
    reach = 0.8 * length
    for i in range(count):
        end = -1 if make.chance(0.6) or count == 1 else 1
        x = end * (length / 2 - 0.3 * width)
        z0 = gap + i * (layer + gap)
        limit = make.between(1.5, 1.0 * np.pi)
        tool = make.hinge("tool", base, (x, 0, 0), (0, 0, -end), (0.0, limit), bearing=0.12 * width)
        tool.add(
            _tool(make, reach * make.between(0.6, 0.97), width, z0, layer, end, metal).moved(x)
        )
        tool.add(shapes.cylinder(0.28 * width, z0, z0 + layer, metal).moved(x))
    for end in (-1, 1):
        pin = shapes.cylinder(0.1 * width, -0.5 * scale, inner + 0.5 * scale, shaded(metal))
        base.add(pin.moved(end * (length / 2 - 0.3 * width)))
    return make.build()


def _tool(
    make: Builder, reach: float, width: float, z: float, thick: float, end: int, color: Color
) -> MeshPart:
    """A blade, saw, driver or file lying along the handle from its pivot at the origin."""
    half = 0.26 * width
    style = make.pick("blade", "blade", "driver", "file", "hook")
    if style == "blade":
        points = [
            (0, -half),
            (0.75 * reach, -half),
            (reach, 0.4 * half),
            (0.7 * reach, half),
            (0, half),
        ]
    elif style == "driver":
        points = [
            (0, -half),
            (0.5 * reach, -half),
            (0.6 * reach, -0.5 * half),
            (0.8 * reach, -0.5 * half),
        ]
        points += [
            (0.8 * reach, 0.5 * half),
            (0.6 * reach, 0.5 * half),
            (0.5 * reach, half),
            (0, half),
        ]
    elif style == "file":
        points = [
            (0, -half),
            (0.9 * reach, -0.8 * half),
            (0.95 * reach, 0),
            (0.9 * reach, 0.8 * half),
            (0, half),
        ]
    else:
        points = [
            (0, -half),
            (0.5 * reach, -half),
            (0.7 * reach, -0.2 * half),
            (0.75 * reach, half),
            (0.4 * reach, 0.6 * half),
            (0, half),
        ]
    outline = np.array(points)
    if end > 0:
        outline = (outline * (-1, 1))[::-1]
    return make.shapes.prism(outline, z, z + thick, color)


def folding_ruler(rng: np.random.Generator) -> ArticulatedObject:
    """Slats joined end to end that fold into a stack and unfold into a line."""
    make = Builder("folding_ruler", rng, size=0.5)
    shapes = make.shapes
    slats = make.count(3, 11)
    length, width = make.between(0.1, 0.24), make.between(0.012, 0.02)
    thick, gap = make.between(0.002, 0.0045), make.pick(0.0, 0.0004)
    color, metal = sample_color(make, "wood", "plastic", "paint"), sample_color(make, "metal")
    other = color if make.chance(0.7) else sample_color(make, "plastic")
    outline = rounded_rectangle(length, width, make.between(0.0, 0.5) * width, shapes.sides)
    reach = length / 2 - 0.5 * width
    swing = make.pick(np.pi, np.pi, 0.8 * np.pi)
    link = make.base(shapes.prism(outline, 0, thick, color))
    for i in range(1, slats + 1):
        x, z = reach * (-1) ** i, i * (thick + gap)
        sign = (-1) ** i
        link = make.hinge("slat", link, (x, 0, z), (0, 0, sign), (0.0, swing), bearing=0.25 * width)
        link.add(shapes.prism(outline, z, z + thick, color if i % 2 == 0 else other))
        pin = shapes.cylinder(0.2 * width, z - 0.5 * thick, z + thick, metal)
        link.add(pin.moved(x))
    return make.build()
