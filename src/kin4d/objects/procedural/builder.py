"""Builder: assembles one object from parts drawn where they stand when every joint is at zero."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from kin4d.bodies.joint import Joint, Mimic
from kin4d.objects.procedural.assembly import ArticulatedObject, ObjectLink
from kin4d.objects.procedural.parts import MeshPart, PartShapes, Vector

T = TypeVar("T")


@dataclass(eq=False, slots=True)
class LinkBuilder:
    """A link under construction: parts in the object's frame, all joints at zero."""

    name: str
    origin: np.ndarray
    bearing: float = 0.0
    parts: list[MeshPart] = field(default_factory=list)

    def add(self, *parts: MeshPart | Iterable[MeshPart]) -> LinkBuilder:
        """Put parts, or lists of parts, on this link."""
        for part in parts:
            if isinstance(part, MeshPart):
                self.parts.append(part)
            else:
                self.parts.extend(part)
        return self


class Builder:
    """One object being built, with its random generator and tessellation.

    Args:
        category: What it is.
        rng: Every choice comes from here.
        size: Rough diameter, m; sets the scale of panel grids.
    """

    def __init__(self, category: str, rng: np.random.Generator, *, size: float = 1.0) -> None:
        self.category = category
        self.rng = rng
        fine = self.chance(0.5)
        self.shapes = PartShapes(
            sides=self.pick(8, 16, 16, 24, 24, 32, 40),
            spacing=size * self.between(0.08, 0.4) if fine else np.inf,
            flip=self.chance(0.5),
        )
        self.merged = self.chance(0.4)
        self.closed = self.pick("closed", "mixed", "open")
        self._links: list[LinkBuilder] = []
        self._joints: list[Joint] = []
        self._rest: list[float] = []

    @property
    def joint_count(self) -> int:
        """Joints made so far."""
        return len(self._joints)

    def between(self, low: float, high: float) -> float:
        """Uniform in [low, high)."""
        return low + (high - low) * self.rng.random()

    def chance(self, probability: float) -> bool:
        """True that often."""
        return self.rng.random() < probability

    def pick(self, *options: T) -> T:
        """One of them."""
        return options[int(self.rng.random() * len(options))]

    def count(self, low: int, high: int) -> int:
        """An integer in [low, high], both included."""
        return low + int(self.rng.random() * (high - low + 1))

    def base(self, *parts: MeshPart | Iterable[MeshPart]) -> LinkBuilder:
        """The root link."""
        draft = LinkBuilder("base", np.zeros(3))
        self._links.append(draft)
        return draft.add(*parts)

    def hinge(
        self,
        name: str,
        parent: LinkBuilder,
        at: Vector,
        axis: Vector,
        limits: tuple[float, float],
        *,
        bearing: float = 0.0,
        rest: float | None = None,
        mimic: tuple[LinkBuilder, float] | None = None,
    ) -> LinkBuilder:
        """A link that turns about `axis` through `at` (m); see `slider` for the rest."""
        return self._joint("revolute", name, parent, at, axis, limits, bearing, rest, mimic)

    def slider(
        self,
        name: str,
        parent: LinkBuilder,
        axis: Vector,
        limits: tuple[float, float],
        *,
        at: Vector = (0.0, 0.0, 0.0),
        bearing: float = 0.0,
        rest: float | None = None,
        mimic: tuple[LinkBuilder, float] | None = None,
    ) -> LinkBuilder:
        """A link that slides along `axis`.

        Args:
            name: A number is added if the name is taken.
            parent: What it moves on.
            axis: Direction of positive motion.
            limits: Lower and upper value (rad or m).
            at: A point on the axis; matters to `bearing` only.
            bearing: See `ObjectLink`.
            rest: Value at rest; left out, it is drawn: closed (the value nearest zero) or open.
            mimic: (link, factor): follows that link's joint instead of being a coordinate.
        """
        return self._joint("prismatic", name, parent, at, axis, limits, bearing, rest, mimic)

    def _joint(
        self,
        kind: str,
        name: str,
        parent: LinkBuilder,
        at: Vector,
        axis: Vector,
        limits: tuple[float, float],
        bearing: float,
        rest: float | None,
        mimic: tuple[LinkBuilder, float] | None,
    ) -> LinkBuilder:
        taken = sum(link.name.rstrip("0123456789_") == name for link in self._links)
        name = f"{name}_{taken + 1}" if taken else name
        draft = LinkBuilder(name, np.round(np.asarray(at, np.float64), 6), bearing)
        origin = np.eye(4)
        origin[:3, 3] = draft.origin - parent.origin
        self._links.append(draft)
        self._joints.append(
            Joint(
                name=name,
                kind=kind,
                parent=parent.name,
                child=name,
                origin=origin,
                axis=np.asarray(axis, np.float64),
                limits=(float(limits[0]), float(limits[1])),
                mimic=None if mimic is None else Mimic.linear(mimic[0].name, mimic[1]),
            )
        )
        if mimic is None:
            self._rest.append(self._draw_rest(limits) if rest is None else float(rest))
        return draft

    def _draw_rest(self, limits: tuple[float, float]) -> float:
        opened = self.between(*limits)
        keep = self.chance(0.5) if self.closed == "mixed" else self.closed == "closed"
        return min(max(0.0, limits[0]), limits[1]) if keep else opened

    def build(self, *, mirror: bool | None = None) -> ArticulatedObject:
        """The finished object; by default half of all objects are mirrored left to right."""
        made = ArticulatedObject(
            category=self.category,
            seed=0,
            links=tuple(_finish(link) for link in self._links),
            joints=tuple(self._joints),
            q0=np.array(self._rest),
        )
        mirror = self.chance(0.5) if mirror is None else mirror
        return made.mirrored() if mirror else made


def _finish(draft: LinkBuilder) -> ObjectLink:
    counts = [len(part.vertices) for part in draft.parts]
    starts = np.cumsum([0, *counts[:-1]])
    # Micrometres: vertices that touch do so exactly, and the last bit of a sine, which differs
    # between processors, does not show.
    vertices = np.round(np.concatenate([part.vertices for part in draft.parts]) - draft.origin, 6)
    faces = np.concatenate(
        [part.faces + start for part, start in zip(draft.parts, starts, strict=True)]
    )
    colors = np.repeat(np.array([part.color for part in draft.parts], np.uint8), counts, axis=0)
    return ObjectLink(draft.name, vertices, faces, colors, draft.bearing)


def side_by_side(
    start: float, stop: float, count: int, gap: float
) -> Sequence[tuple[float, float]]:
    """`count` equal intervals of [start, stop] with `gap` between them, all m."""
    width = (stop - start - gap * (count - 1)) / count
    return [(start + i * (width + gap), start + i * (width + gap) + width) for i in range(count)]
