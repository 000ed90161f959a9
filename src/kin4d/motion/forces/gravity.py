"""Gravity: the same acceleration for everything."""

from __future__ import annotations

from kin4d.motion.forces.force import Load, State, vector


class Gravity:
    """Constant acceleration.

    Args:
        acceleration: [3] m/s^2.
    """

    steady = True

    def __init__(self, acceleration=(0.0, 0.0, -9.81)) -> None:
        self.acceleration = vector(acceleration, "gravity")

    def load(self, state: State) -> Load:
        """m g on each mass point."""
        return Load(weight=state.mass[:, None] * self.acceleration)
