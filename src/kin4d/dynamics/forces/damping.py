"""Damping: motion that dies away, after Rayleigh."""

from __future__ import annotations

import numpy as np

from kin4d.dynamics.forces.force import Force, ForceContext, ForceTerms, check_matrix
from kin4d.errors import InputError


class Damping(Force):
    """A force -(rate G + viscosity) dq/dt.

    Args:
        rate: 1/s, Rayleigh's mass coefficient: free velocities fall as exp(-rate t), oscillations
            half as fast. The material's damping if not given.
        viscosity: Extra damping of the coordinates, one number, [k] or [k, k] (N s/m, N m s/rad).
            Rayleigh's stiffness term is `viscosity = beta * K`. Of a matrix the symmetric part
            counts: the rest does no work.
    """

    constant = True

    def __init__(self, rate: float | None = None, *, viscosity: float | np.ndarray = 0.0) -> None:
        self.rate, self.viscosity = rate, np.array(viscosity, np.float64)
        if rate is not None and not (np.isfinite(rate) and rate >= 0):
            raise InputError("damping rate", value=rate, allowed="1/s, >= 0")
        if not np.isfinite(self.viscosity).all() or self.viscosity.ndim > 2:
            raise InputError("viscosity must be finite, a number, [k] or [k, k]", value=viscosity)
        self._is_viscous = bool(self.viscosity.any())

    def load(self, context: ForceContext) -> ForceTerms:
        """What resists."""
        rate = context.material.damping if self.rate is None else self.rate
        if not self._is_viscous:
            return ForceTerms(decay=rate)
        viscous = check_matrix(self.viscosity, len(context.q), "viscosity")
        return ForceTerms(decay=rate, damping=0.5 * (viscous + viscous.T))
