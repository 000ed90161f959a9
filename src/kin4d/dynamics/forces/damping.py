"""Damping: motion that dies away, after Rayleigh."""

from __future__ import annotations

from copy import copy

import numpy as np

from kin4d.dynamics.forces.force import (
    ActorConstants,
    Force,
    ForceContext,
    ForceTerms,
    check_matrix,
)
from kin4d.errors import InputError


class Damping(Force):
    """A force -(rate G + viscosity) dq/dt, and friction in joints.

    Args:
        rate: 1/s, Rayleigh's mass coefficient: free velocities fall as exp(-rate t), oscillations
            half as fast. The material's damping if not given.
        viscosity: Extra damping of the coordinates, one number, [k] or [k, k] (N s/m, N m s/rad).
            Rayleigh's stiffness term is `viscosity = beta * K`. Of a matrix the symmetric part
            counts: the rest does no work.
        joints: 1/s, viscosity against each coordinate's own inertia at the start, but for the six
            of a free body's root: how fast a limb that swings on one joint comes to rest.
    """

    constant = True

    def __init__(
        self,
        rate: float | None = None,
        *,
        viscosity: float | np.ndarray = 0.0,
        joints: float = 0.0,
    ) -> None:
        self.rate, self.viscosity, self.joints = rate, np.array(viscosity, np.float64), joints
        if not (np.isfinite(joints) and joints >= 0):
            raise InputError("damping of joints", value=joints, allowed="1/s, >= 0")
        if rate is not None and not (np.isfinite(rate) and rate >= 0):
            raise InputError("damping rate", value=rate, allowed="1/s, >= 0")
        if not np.isfinite(self.viscosity).all() or self.viscosity.ndim > 2:
            raise InputError("viscosity must be finite, a number, [k] or [k, k]", value=viscosity)
        self._is_viscous = bool(self.viscosity.any())
        self._friction = np.zeros(0)

    def prepare(self, actor: ActorConstants) -> Damping:
        """The damping of one body."""
        prepared = copy(self)
        prepared._friction = self.joints * np.diag(actor.start_mass_matrix)
        if actor.kinematics.floating:
            prepared._friction[:6] = 0.0
        return prepared

    def load(self, context: ForceContext) -> ForceTerms:
        """What resists."""
        rate = context.material.damping if self.rate is None else self.rate
        if not (self._is_viscous or self.joints):
            return ForceTerms(decay=rate)
        viscous = check_matrix(self.viscosity, len(context.q), "viscosity")
        return ForceTerms(decay=rate, damping=0.5 * (viscous + viscous.T) + np.diag(self._friction))
