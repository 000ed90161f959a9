"""Mount: a place on a link where something can be fitted, with a frame of its own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from kin4d.objects.procedural.builder import Builder, LinkBuilder
from kin4d.objects.procedural.parts import Color, MeshPart, PartShapes, Vector


@dataclass(frozen=True, eq=False)
class Mount:
    """A rectangle on a surface.

    What is fitted is drawn in its frame: x and y in the surface, z outwards, the origin in the
    middle; all joints at zero.

    Attributes:
        make: The object being built.
        link: What the surface is on.
        origin: [3] m.
        frame: [3, 3] its columns are x, y and z in the object.
        half: [2] m, half extents.
        color: Of what is fitted.
    """

    make: Builder
    link: LinkBuilder
    origin: np.ndarray
    frame: np.ndarray
    half: tuple[float, float]
    color: Color

    @property
    def shapes(self) -> PartShapes:
        """Part builders."""
        return self.make.shapes

    @property
    def size(self) -> float:
        """m: the shorter side."""
        return 2 * min(self.half)

    def add(self, *parts: MeshPart | Iterable[MeshPart], to: LinkBuilder | None = None) -> None:
        """Put parts, drawn in this frame, on a link; on the mount's own by default."""
        link = to or self.link
        for part in parts:
            for one in [part] if isinstance(part, MeshPart) else part:
                link.add(one.transformed(self.frame).moved(*self.origin))

    def hinge(
        self, name: str, at: Vector, axis: Vector, limits: tuple[float, float]
    ) -> LinkBuilder:
        """A link that turns about `axis` through `at`, both in this frame."""
        return self.make.hinge(name, self.link, self.point(at), self._turned(axis), limits)

    def slider(self, name: str, axis: Vector, limits: tuple[float, float]) -> LinkBuilder:
        """A link that slides along `axis` of this frame."""
        return self.make.slider(name, self.link, self._turned(axis), limits, at=self.origin)

    def point(self, local: Vector) -> np.ndarray:
        """[3] a point of this frame, in the object."""
        return self.frame @ np.asarray(local, np.float64) + self.origin

    def on(
        self,
        link: LinkBuilder,
        at: Vector,
        half: tuple[float, float],
        *,
        x: Vector = (1.0, 0.0, 0.0),
        z: Vector = (0.0, 0.0, 1.0),
        color: Color | None = None,
    ) -> Mount:
        """A mount on another link: its middle, x and z directions given in this frame."""
        first, third = np.asarray(x, np.float64), np.asarray(z, np.float64)
        local = np.stack([first, np.cross(third, first), third], 1)
        return Mount(self.make, link, self.point(at), self.frame @ local, half, color or self.color)

    def part_of(self, center: tuple[float, float], half: tuple[float, float]) -> Mount:
        """A smaller rectangle of this one."""
        return self.on(self.link, (*center, 0.0), half)

    def both_ways(self, least: float, most: float) -> tuple[float, float]:
        """Limits drawn at random, rad: alike both ways, one way only, or anything."""
        make = self.make
        one, other = make.between(least, most), make.between(least, most)
        return make.pick((-one, one), (-one, one), (0.0, one), (-one, 0.0), (-one, other))

    def _turned(self, direction: Vector) -> np.ndarray:
        turned = self.frame @ np.asarray(direction, np.float64)
        return np.where(np.abs(turned) < 1e-12, 0.0, turned)


def box_mounts(
    mount: Mount, link: LinkBuilder, low: Vector, high: Vector, *, sides: str = "+z+x-x+y-y"
) -> list[Mount]:
    """Mounts on the sides of a box of a link, drawn in the frame of another mount."""
    low, high = np.asarray(low, np.float64), np.asarray(high, np.float64)
    middle, half = (low + high) / 2, (high - low) / 2
    out = []
    for sign, axis in zip(sides[::2], sides[1::2], strict=True):
        third = "xyz".index(axis)
        first = (third + 1) % 3
        second = (third + 2) % 3
        way = 1.0 if sign == "+" else -1.0
        at = middle.copy()
        at[third] += way * half[third]
        out.append(
            mount.on(
                link,
                at,
                (float(half[first]), float(half[second])),
                x=np.eye(3)[first],
                z=way * np.eye(3)[third],
            )
        )
    return out
