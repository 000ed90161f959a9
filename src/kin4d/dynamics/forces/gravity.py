"""Gravity: the same acceleration for everything."""

from __future__ import annotations

from kin4d.dynamics.forces.force import ForceContext, ForceTerms, check_vector


class Gravity:
    """Constant acceleration.

    Args:
        acceleration: [3] m/s^2.
    """

    steady = True

    def __init__(self, acceleration=(0.0, 0.0, -9.81)) -> None:
        self.acceleration = check_vector(acceleration, "gravity")

    def load(self, state: ForceContext) -> ForceTerms:
        """m g on each mass point."""
        return ForceTerms(weight=state.mass[:, None] * self.acceleration)
