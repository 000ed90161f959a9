"""Parts: the solids that objects are assembled from, at one object's own tessellation.

Conventions of every object: z up, front towards -y, metres. Parts are closed surfaces facing
outwards unless their builder says otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kin4d.objects.procedural.profiles import rounded_rectangle, unit_circle
from kin4d.objects.procedural.surfaces import loft_surface, merge_boxes, unit_box

Color = tuple[int, int, int]
Vector = Sequence[float] | np.ndarray
GREY: Color = (200, 200, 200)


@dataclass(frozen=True, eq=False, slots=True)
class MeshPart:
    """One piece of surface.

    Attributes:
        vertices: [V, 3] m.
        faces: [F, 3].
        color: sRGB, 0 to 255.
    """

    vertices: np.ndarray
    faces: np.ndarray
    color: Color = GREY

    def moved(self, x: float = 0.0, y: float = 0.0, z: float = 0.0) -> MeshPart:
        """Shifted, m."""
        return MeshPart(self.vertices + np.array((x, y, z)), self.faces, self.color)

    def rotated(self, axis: str, angle: float, about: Vector = (0.0, 0.0, 0.0)) -> MeshPart:
        """By `angle` (rad) about the line through `about` along ``"x"``, ``"y"`` or ``"z"``."""
        return self.transformed(rotation_about(axis, angle), about)

    def transformed(self, matrix: np.ndarray, about: Vector = (0.0, 0.0, 0.0)) -> MeshPart:
        """By a [3, 3] rotation or scaling about a point."""
        about = np.asarray(about, np.float64)
        return MeshPart((self.vertices - about) @ matrix.T + about, self.faces, self.color)

    def mirrored(self, axis: int) -> MeshPart:
        """Reflected in the plane through the origin across `axis` (0, 1, 2)."""
        vertices = self.vertices.copy()
        vertices[:, axis] *= -1
        return MeshPart(vertices, self.faces[:, ::-1], self.color)

    def facing_front(self) -> MeshPart:
        """What was drawn in the xy plane with its top at +z now stands up and looks to -y."""
        x, y, z = self.vertices.T
        return MeshPart(np.stack([x, -z, y], -1), self.faces, self.color)

    def facing_side(self) -> MeshPart:
        """What was drawn in the xy plane with its top at +z now stands in yz and looks to +x."""
        x, y, z = self.vertices.T
        return MeshPart(np.stack([z, x, y], -1), self.faces, self.color)


def rotation_about(axis: str, angle: float) -> np.ndarray:
    """[3, 3] rotation by `angle` (rad) about a coordinate axis."""
    c, s = np.cos(angle), np.sin(angle)
    i = "xyz".index(axis)
    j, k = (i + 1) % 3, (i + 2) % 3
    out = np.eye(3)
    out[j, j] = out[k, k] = c
    out[j, k], out[k, j] = -s, s
    return out


@dataclass(frozen=True, slots=True)
class PartShapes:
    """Part builders that share one tessellation.

    Attributes:
        sides: Segments of a full circle; a multiple of 8.
        spacing: Longest edge of a flat panel's grid, m; infinite leaves panels at two triangles.
        flip: Which diagonal cuts the quads.
    """

    sides: int = 24
    spacing: float = np.inf
    flip: bool = False

    def box(self, low: Vector, high: Vector, color: Color = GREY) -> MeshPart:
        """An axis-aligned box between two corners, m."""
        low, high = np.asarray(low, np.float64), np.asarray(high, np.float64)
        size = high - low
        x, y, z = (min(int(n), 12) + 1 for n in size / self.spacing)
        vertices, faces = unit_box((x, y, z), self.flip)
        return MeshPart(low + vertices * size, faces, color)

    def boards(
        self, boxes: Sequence, color: Color = GREY, *, merged: bool = False
    ) -> list[MeshPart]:
        """Boxes given as (low, high) corners: one part each, or `merged` into a single surface."""
        if not merged or len(boxes) < 2:
            return [self.box(low, high, color) for low, high in boxes]
        # Micrometres: boards that meet must share their planes exactly.
        array = np.round(np.asarray(boxes, np.float64), 6)
        spacing = max(self.spacing, float(np.ptp(array, axis=(0, 1)).max()) / 12)
        return [MeshPart(*merge_boxes(array, spacing=spacing, flip=self.flip), color)]

    def loft(
        self,
        rings: np.ndarray,
        color: Color = GREY,
        *,
        start: np.ndarray | None = None,
        end: np.ndarray | None = None,
        closed: bool = False,
    ) -> MeshPart:
        """See `surfaces.loft`; without `start`, `end` or `closed` it is open."""
        return MeshPart(
            *loft_surface(rings, start=start, end=end, closed=closed, flip=self.flip), color
        )

    def prism(
        self,
        outline: np.ndarray,
        bottom: float,
        top: float,
        color: Color = GREY,
        *,
        bevel: float = 0.0,
        taper: float = 1.0,
    ) -> MeshPart:
        """An outline [N, 2], star-shaped about its mean, extruded along z.

        `bevel` (m) rounds off the two ends; `taper` scales the top against the bottom.
        """
        middle = outline.mean(0)
        bevel = min(bevel, 0.45 * (top - bottom))
        size = np.abs(outline - middle).max(0)
        levels, inset = [bottom, top], [0.0, 0.0]
        if bevel > 0:
            levels = [bottom, bottom + 0.3 * bevel, bottom + bevel]
            levels += [top - bevel, top - 0.3 * bevel, top]
            inset = [bevel, 0.3 * bevel, 0.0, 0.0, 0.3 * bevel, bevel]
        z = np.array(levels)
        scale = 1 + (taper - 1) * (z - bottom) / (top - bottom)
        scale = scale[:, None] - np.array(inset)[:, None] / size
        flat = middle + (outline - middle) * scale[:, None]
        rings = np.concatenate([flat, np.broadcast_to(z[:, None, None], (*flat.shape[:2], 1))], -1)
        return self.loft(
            rings, color, start=np.array([*middle, bottom]), end=np.array([*middle, top])
        )

    def rounded_box(
        self, low: Vector, high: Vector, radius: float, color: Color = GREY, *, bevel: float = 0.0
    ) -> MeshPart:
        """A box whose vertical edges have `radius` and whose top and bottom edges `bevel`, m."""
        (x0, y0, z0), (x1, y1, z1) = low, high
        outline = rounded_rectangle(x1 - x0, y1 - y0, radius, self.sides)
        part = self.prism(outline, z0, z1, color, bevel=bevel)
        return part.moved((x0 + x1) / 2, (y0 + y1) / 2)

    def lathe(
        self, profile: Sequence | np.ndarray, color: Color = GREY, *, sides: int | None = None
    ) -> MeshPart:
        """A surface of revolution about z through (radius, height) points, from the bottom out.

        A first or last point at radius 0 closes that end with a fan; else that end stays open.
        """
        points = np.asarray(profile, np.float64)
        start, end = points[0, 0] <= 0, points[-1, 0] <= 0
        rows = points[int(start) : len(points) - int(end)]
        circle = unit_circle(sides or self.sides)
        rings = np.empty((len(rows), len(circle), 3))
        rings[..., :2] = rows[:, :1, None] * circle
        rings[..., 2] = rows[:, 1:]
        return self.loft(
            rings,
            color,
            start=np.array([0, 0, points[0, 1]]) if start else None,
            end=np.array([0, 0, points[-1, 1]]) if end else None,
        )

    def cylinder(
        self, radius: float, bottom: float, top: float, color: Color = GREY, *, tip: float = 1.0
    ) -> MeshPart:
        """Closed, along z; the top's radius is `tip` times the bottom's."""
        small = radius < 0.02
        return self.lathe(
            [(0, bottom), (radius, bottom), (radius * tip, top), (0, top)],
            color,
            sides=max(8, self.sides // 2) if small else None,
        )

    def sphere(self, radius: float, color: Color = GREY) -> MeshPart:
        """About the origin."""
        angle = np.linspace(-np.pi / 2, np.pi / 2, max(self.sides // 2, 4) + 1)
        profile = np.stack([radius * np.cos(angle), radius * np.sin(angle)], -1)
        profile[[0, -1], 0] = 0
        return self.lathe(profile, color)

    def tube(
        self,
        path: np.ndarray,
        radius: float | Sequence[float] | np.ndarray,
        normal: Vector,
        color: Color = GREY,
        *,
        outline: np.ndarray | None = None,
        closed: bool = False,
    ) -> MeshPart:
        """A solid rod along a flat path [N, 3] whose plane has `normal`.

        `outline` [S, 2] replaces the round section: its first coordinate is across the path in
        its plane, its second along `normal`; `radius` then scales it.
        """
        path, up = np.asarray(path, np.float64), np.asarray(normal, np.float64)
        up = up / np.linalg.norm(up)
        if closed:
            tangent = np.roll(path, -1, 0) - np.roll(path, 1, 0)
        else:
            tangent = np.concatenate(
                [path[1:2] - path[:1], path[2:] - path[:-2], path[-1:] - path[-2:-1]]
            )
        across = np.cross(up, tangent)
        across /= np.linalg.norm(across, axis=-1, keepdims=True)
        section = unit_circle(max(6, self.sides // 3)) if outline is None else outline
        scale = np.broadcast_to(np.asarray(radius, np.float64), len(path))[:, None, None]
        rings = path[:, None] + scale * (section[:, :1] * across[:, None] + section[:, 1:] * up)
        if closed:
            return self.loft(rings, color, closed=True)
        return self.loft(rings, color, start=path[0], end=path[-1])

    def ring_plate(
        self, outer: np.ndarray, inner: np.ndarray, bottom: float, top: float, color: Color = GREY
    ) -> MeshPart:
        """A plate along z between two outlines of equal count [N, 2]: a plate with a hole."""
        flat = np.stack([outer, outer, inner, inner])
        z = np.array([bottom, top, top, bottom])
        rings = np.concatenate([flat, np.broadcast_to(z[:, None, None], (*flat.shape[:2], 1))], -1)
        return self.loft(rings, color, closed=True)

    def tub(
        self,
        outline: np.ndarray,
        bottom: float,
        top: float,
        wall: float,
        color: Color = GREY,
        *,
        taper: float = 1.0,
        floor: float | None = None,
        bulge: float = 0.0,
    ) -> MeshPart:
        """An open vessel with walls `wall` thick and a floor `floor` thick (else as the walls).

        The outline [N, 2], star-shaped about its mean, is that of the bottom; the top is `taper`
        times as large, and `bulge` widens the middle by that fraction.
        """
        middle, height = outline.mean(0), top - bottom
        size = np.abs(outline - middle).max(0)
        floor = wall if floor is None else floor
        steps = np.linspace(0, 1, 5 if bulge else 2)
        inner = np.linspace(1, floor / height, len(steps))
        levels = np.concatenate([steps, inner])
        scale = 1 + (taper - 1) * levels + bulge * np.sin(np.pi * levels)
        inset = np.concatenate([np.zeros(len(steps)), np.full(len(inner), wall)])
        flat = middle + (outline - middle) * (scale[:, None] - inset[:, None] / size)[:, None]
        z = bottom + height * levels
        rings = np.concatenate([flat, np.broadcast_to(z[:, None, None], (*flat.shape[:2], 1))], -1)
        start, end = np.array([*middle, bottom]), np.array([*middle, bottom + floor])
        return self.loft(rings, color, start=start, end=end)
