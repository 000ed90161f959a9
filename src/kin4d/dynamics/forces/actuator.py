"""Actuator: a servo on a coordinate, towards a position or at a speed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kin4d.dynamics.forces.force import Force, ForceContext, ForceTerms
from kin4d.errors import InputError


class Actuator(Force):
    """A proportional and derivative servo, with a largest force.

    Args:
        coordinate: Its position in q.
        position: Target (rad or m), or a function of time (s) that gives it; None for none.
        velocity: Target velocity (rad/s or m/s), or a function of time.
        gain: N m/rad or N/m towards the position.
        damping: N m s/rad or N s/m towards the velocity.
        max_force: Largest force (N m or N) it can give.
    """

    def __init__(
        self,
        coordinate: int,
        position: Callable[[float], float] | float | None = None,
        *,
        velocity: Callable[[float], float] | float = 0.0,
        gain: float = 100.0,
        damping: float = 10.0,
        max_force: float = np.inf,
    ) -> None:
        if not (
            gain >= 0 and damping >= 0 and max_force > 0 and np.isfinite([gain, damping]).all()
        ):
            raise InputError(
                "gains of an actuator", value=(gain, damping, max_force), allowed="finite, >= 0"
            )
        self.coordinate, self.max_force = coordinate, max_force
        self.gain = 0.0 if position is None else gain
        self.damping = damping
        self.position = _function(0.0 if position is None else position)
        self.velocity = _function(velocity)

    def load(self, context: ForceContext) -> ForceTerms:
        """Spring and damper to the target, or the largest force where they would exceed it."""
        i, k = self.coordinate, len(context.q)
        if not -k <= i < k:
            raise InputError(
                "actuator on a coordinate that does not exist", value=i, allowed=f"0 to {k - 1}"
            )
        middle = 0.5 * (context.ahead[0] + context.ahead[1])
        position, velocity = self.position(middle), self.velocity(middle)
        wanted = self.gain * (position - context.q[i]) + self.damping * (velocity - context.qd[i])
        force = np.zeros(k)
        if abs(wanted) > self.max_force:
            force[i] = np.copysign(self.max_force, wanted)
            return ForceTerms(coordinates=force)
        stiffness, damping = np.zeros((k, k)), np.zeros((k, k))
        stiffness[i, i], damping[i, i] = self.gain, self.damping
        force[i] = self.gain * position + self.damping * velocity
        return ForceTerms(stiffness=stiffness, constant_force=force, damping=damping)


def _function(value: Callable[[float], float] | float) -> Callable[[float], float]:
    return value if callable(value) else lambda time: float(value)
