"""JointFriction: what a joint resists with, however slowly it moves."""

from __future__ import annotations

import numpy as np

from kin4d.dynamics.forces.force import Force, ForceContext, ForceTerms
from kin4d.errors import InputError


class JointFriction(Force):
    """A force of constant size against the motion of each coordinate (Coulomb).

    Below `creep` it falls to zero with the speed: a joint at rest that is pushed less creeps.

    Args:
        size: N or N m; one number or [k].
        creep: m/s or rad/s.
    """

    def __init__(self, size: float | np.ndarray, *, creep: float = 2e-3) -> None:
        self.size, self.creep = np.array(size, np.float64), creep
        if not (np.isfinite(self.size).all() and (self.size >= 0).all()) or self.size.ndim > 1:
            raise InputError("joint friction", value=size, allowed="N or N m, >= 0, one or [k]")
        if not (np.isfinite(creep) and creep > 0):
            raise InputError("creep of joint friction", value=creep, allowed="m/s or rad/s, > 0")

    def load(self, context: ForceContext) -> ForceTerms:
        """The viscosity that gives this force at the present speed."""
        speed = np.maximum(np.abs(context.qd), self.creep)
        return ForceTerms(damping=np.diag(np.broadcast_to(self.size, speed.shape) / speed))
