"""Gravity: the same acceleration for everything."""

from __future__ import annotations

from kin4d.dynamics.forces.force import Force, ForceContext, ForceTerms, check_vector


class Gravity(Force):
    """Constant acceleration.

    Args:
        acceleration: [3] m/s^2.
    """

    constant = True

    def __init__(self, acceleration=(0.0, 0.0, -9.81)) -> None:
        self.acceleration = check_vector(acceleration, "gravity")

    def load(self, context: ForceContext) -> ForceTerms:
        """m g on each mass point."""
        return ForceTerms(weight=context.mass[:, None] * self.acceleration)
