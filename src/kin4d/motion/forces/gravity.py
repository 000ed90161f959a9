"""Gravity: the same acceleration for everything."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from kin4d.motion.forces.force import Load, State, vector
from kin4d.motion.maps.point_map import PointMap


class Gravity:
    """Constant acceleration.

    Args:
        acceleration: [3] m/s^2.
    """

    def __init__(self, acceleration=(0.0, 0.0, -9.81)) -> None:
        self.acceleration = vector(acceleration, "gravity")
        self._weights: WeakKeyDictionary[PointMap, np.ndarray] = WeakKeyDictionary()

    def load(self, state: State) -> Load:
        """m g on each mass point."""
        weight = self._weights.get(state.map)
        if weight is None:
            weight = state.mass[:, None] * self.acceleration
            self._weights[state.map] = weight
        return Load(weight=weight)
