"""Torque: a generalised force on one coordinate, for a while."""

from __future__ import annotations

import numpy as np

from kin4d.dynamics.forces.force import Force, ForceContext, ForceTerms
from kin4d.errors import InputError


class Torque(Force):
    """A constant torque (N m) or force (N) along one coordinate.

    Args:
        coordinate: Its position in q.
        value: N m for angles, N for metres.
        start: Seconds.
        duration: Seconds; without end if not given.
    """

    def __init__(
        self, coordinate: int, value: float, *, start: float = 0.0, duration: float = np.inf
    ) -> None:
        if not np.isfinite(value) or not duration > 0:
            raise InputError("a torque needs a finite value and a duration > 0", value=value)
        self.coordinate, self.value = coordinate, float(value)
        self.start, self.end = float(start), float(start) + duration

    def load(self, context: ForceContext) -> ForceTerms:
        """The torque; none outside the window."""
        if not -len(context.q) <= self.coordinate < len(context.q):
            raise InputError(
                "torque on a coordinate that does not exist",
                value=self.coordinate,
                allowed=f"0 to {len(context.q) - 1}",
            )
        share = context.share(self.start, self.end)
        if not share:
            return ForceTerms()
        out = np.zeros(len(context.q))
        out[self.coordinate] = share * self.value
        return ForceTerms(coordinates=out)
