"""Footprint: the smallest upright box around points of something that stands on a table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_DIRECTIONS = 18  # in which its sides are looked for


@dataclass(frozen=True, eq=False)
class UprightBox:
    """An upright box.

    Attributes:
        axes: [3, 3] unit vectors along its sides, the last one up.
        low: [3] m: where it begins along each of them.
        high: [3] m: where it ends.
    """

    axes: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, points: np.ndarray) -> UprightBox:
        """Of points [N, 3] m, z up."""
        found: list[UprightBox] = []
        for angle in np.arange(_DIRECTIONS) * (np.pi / 2 / _DIRECTIONS):
            cos, sin = np.cos(angle), np.sin(angle)
            axes = np.array([[cos, sin, 0.0], [-sin, cos, 0.0], [0.0, 0.0, 1.0]])
            along = points @ axes.T
            found.append(cls(axes, along.min(0), along.max(0)))
        return min(found, key=lambda box: float(np.prod((box.high - box.low)[:2])))

    @property
    def middle(self) -> np.ndarray:
        """[3] m."""
        return (self.low + self.high) / 2 @ self.axes

    @property
    def slimness(self) -> float:
        """Its shorter horizontal side over the longer one."""
        short, long = np.sort((self.high - self.low)[:2])
        return float(short / max(long, 1e-9))

    def pierced(self, eye: np.ndarray, way: np.ndarray) -> tuple[np.ndarray, ...]:
        """Where rays from `eye` [3] along `way` [N, 3] enter and leave it, in lengths of `way`.

        Returns:
            Entry and exit [N], infinite and minus infinite where it is missed, and the axis [N] of
            the sides through which they enter and leave.
        """
        start, along = self.axes @ eye, way @ self.axes.T
        along = np.where(np.abs(along) < 1e-12, 1e-12, along)
        one, other = (self.low - start) / along, (self.high - start) / along
        near, far = np.minimum(one, other), np.maximum(one, other)
        enter, leave = near.max(1), far.min(1)
        hit = enter < leave
        enter, leave = np.where(hit, enter, np.inf), np.where(hit, leave, -np.inf)
        return enter, leave, near.argmax(1), far.argmin(1)
