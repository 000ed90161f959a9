"""UprightBox: the smallest box with vertical sides around points of an object on a table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_DIRECTIONS = 18  # tried for its sides


@dataclass(frozen=True, eq=False)
class UprightBox:
    """A box with vertical sides.

    Attributes:
        axes: [3, 3] unit vectors along its sides, the last one up.
        low: [3] m: lower bound along each of them.
        high: [3] m: upper bound.
    """

    axes: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, points: np.ndarray) -> UprightBox:
        """The box of points [N, 3] m, z up."""
        boxes: list[UprightBox] = []
        for angle in np.arange(_DIRECTIONS) * (np.pi / 2 / _DIRECTIONS):
            cos, sin = np.cos(angle), np.sin(angle)
            axes = np.array([[cos, sin, 0.0], [-sin, cos, 0.0], [0.0, 0.0, 1.0]])
            along = points @ axes.T
            boxes.append(cls(axes, along.min(0), along.max(0)))
        return min(boxes, key=lambda box: float(np.prod((box.high - box.low)[:2])))

    @property
    def centre(self) -> np.ndarray:
        """[3] m: its centre."""
        return (self.low + self.high) / 2 @ self.axes

    @property
    def aspect_ratio(self) -> float:
        """Shorter over longer horizontal side."""
        short, long = np.sort((self.high - self.low)[:2])
        return float(short / max(long, 1e-9))

    def intersect_rays(self, origin: np.ndarray, direction: np.ndarray) -> tuple[np.ndarray, ...]:
        """Where rays from `origin` [3] along `direction` [N, 3] enter and leave it, in ray lengths.

        Returns:
            Entry and exit [N], infinite and minus infinite for rays that miss, and the axis [N] of
            the sides of entry and exit.
        """
        start, along = self.axes @ origin, direction @ self.axes.T
        along = np.where(np.abs(along) < 1e-12, 1e-12, along)
        to_low, to_high = (self.low - start) / along, (self.high - start) / along
        near, far = np.minimum(to_low, to_high), np.maximum(to_low, to_high)
        enter, leave = near.max(1), far.min(1)
        hit = enter < leave
        enter, leave = np.where(hit, enter, np.inf), np.where(hit, leave, -np.inf)
        return enter, leave, near.argmax(1), far.argmin(1)
