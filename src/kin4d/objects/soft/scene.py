"""SoftScene: a soft body, its material and the forces on it, for any engine to run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from kin4d.errors import Kin4dError
from kin4d.objects.soft.skin import SoftSkin

AIR_DENSITY = 1.2  # kg/m³


class SoftDivergedError(Kin4dError):
    """A simulation blew up; its result is worthless and is dropped."""


@dataclass(frozen=True, kw_only=True)
class Obstacle:
    """Something still to fall upon.

    Attributes:
        shape: ``"plane"`` (z up, through `position`), ``"sphere"``, ``"box"`` or ``"cylinder"``
            (along z).
        size: Half sizes (m): radius first for spheres and cylinders, whose second is half the
            height; three for boxes; not used by planes.
        position: Centre, m.
    """

    shape: str
    size: tuple[float, float, float] = (0.0, 0.0, 0.0)
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False, kw_only=True)
class SoftPush:
    """A force that swells and fades once.

    Attributes:
        share: [V] of the surface's vertices; sums to 1.
        force: [3] N at its height.
        start: s.
        length: s.
    """

    share: np.ndarray
    force: np.ndarray
    start: float
    length: float

    def at(self, time: float) -> np.ndarray:
        """[V, 3] N."""
        phase = (time - self.start) / self.length
        height = np.sin(np.pi * phase) ** 2 if 0 < phase < 1 else 0.0
        return height * self.share[:, None] * self.force


@dataclass(frozen=True, eq=False, kw_only=True)
class SoftScene:
    """What an engine simulates: nodes, the elements between them, and all that acts on them.

    Attributes:
        category: What it is, e.g. ``"flag"``.
        nodes: [N, 3] m, at rest and where it starts.
        elements: [E, d + 1] node indices: edges of a rope (d = 1), triangles of a cloth (2),
            tetrahedra of a solid (3).
        masses: [N] kg.
        skin: The surface that is seen, carried by the nodes.
        material: SI: density, young (Pa), poisson, thickness (m, of cloth; diameter of ropes),
            damping (s, times the stiffness), friction.
        pins: [P] nodes that are held or led.
        lead: Time (s) to the pins' positions [P, 3] m; None if they are held where they start.
        obstacles: What it may touch.
        pushes: What pokes it.
        wind: Time (s) to the velocity of the air [3] m/s; None in still air, which then does
            nothing.
        gravity: [3] m/s².
        velocity: [N, 3] m/s at the start; None at rest.
    """

    category: str
    nodes: np.ndarray
    elements: np.ndarray
    masses: np.ndarray
    skin: SoftSkin
    material: Mapping[str, float]
    pins: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    lead: Callable[[float], np.ndarray] | None = None
    obstacles: tuple[Obstacle, ...] = ()
    pushes: tuple[SoftPush, ...] = ()
    wind: Callable[[float], np.ndarray] | None = None
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)
    velocity: np.ndarray | None = None
    notes: Mapping[str, float | str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def dimension(self) -> int:
        """1 for ropes, 2 for cloth, 3 for solids."""
        return self.elements.shape[1] - 1

    def held(self, time: float) -> np.ndarray:
        """[P, 3] m: where the pins are."""
        return self.nodes[self.pins] if self.lead is None else self.lead(time)

    @property
    def is_pushed(self) -> bool:
        """Whether anything but gravity, contact and pins acts on it."""
        return bool(self.pushes) or self.wind is not None

    def forces(self, time: float, nodes: np.ndarray, speeds: np.ndarray) -> np.ndarray:
        """[V, 3] N on the surface's vertices, for nodes [N, 3] m that move at [N, 3] m/s."""
        total = np.zeros((self.skin.count, 3))
        for push in self.pushes:
            total += push.at(time)
        if self.wind is not None:
            faces = self.skin.faces
            vertices, moving = self.skin.carry @ nodes, self.skin.carry @ speeds
            air = self.wind(time) - moving[faces].mean(1)
            a, b, c = vertices[faces].transpose(1, 0, 2)
            area = 0.5 * np.cross(b - a, c - a)
            size = np.maximum(np.linalg.norm(area, axis=-1), 1e-12)
            # Pressure of the air that a small plate stops, along the plate's normal.
            through = np.einsum("fi,fi->f", air, area) / size
            pressure = AIR_DENSITY * abs(through) * through
            share = (pressure / 3)[:, None] * area
            for corner in range(3):
                np.add.at(total, faces[:, corner], share)
        return total
