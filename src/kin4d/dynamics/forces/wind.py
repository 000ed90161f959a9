"""Wind: air that moves, and drags surfaces along."""

from __future__ import annotations

from collections.abc import Callable
from math import sin

import numba
import numpy as np

from kin4d.dynamics.forces.force import Force, ForceContext, ForceTerms, check_vector
from kin4d.errors import InputError


class Wind(Force):
    """Pressure on the surface from air that moves relative to it: rho c A (u.n)|u.n| n / 2.

    Args:
        velocity: [3] m/s, or a function of time (s) that gives it.
        density: kg/m^3 of the medium: 1.2 is air, 1000 is water.
        drag: Coefficient c; about 1.2 for a plate across the wind.
        gusts: Relative strength of slow, smooth changes of the speed (0 for none).
    """

    needs_elements = True

    def __init__(
        self,
        velocity: Callable[[float], np.ndarray] | np.ndarray | tuple,
        *,
        density: float = 1.2,
        drag: float = 1.2,
        gusts: float = 0.0,
    ) -> None:
        if not (np.isfinite([density, drag, gusts]).all() and min(density, drag, gusts) >= 0):
            raise InputError(
                "wind needs density, drag and gusts >= 0", value=(density, drag, gusts)
            )
        if callable(velocity):
            self.velocity = velocity
        else:
            fixed = check_vector(velocity, "wind")
            self.velocity = lambda time: fixed
        self.strength, self.gusts = 0.5 * density * drag, gusts

    def load(self, context: ForceContext) -> ForceTerms:
        """Forces on the elements of the surface."""
        velocities, normals, areas = context.elements
        # Incommensurate periods of about 1, 2 and 4 s: never the same twice, and repeatable.
        sway = sum(sin(rate * context.time) for rate in (1.7, 3.1, 6.1)) / 3
        air = (1 + self.gusts * sway) * np.asarray(self.velocity(context.time), np.float64)
        return ForceTerms(elements=_drag(self.strength, air, velocities, normals, areas))


@numba.njit(cache=True, error_model="numpy")
def _drag(strength, air, velocities, normals, areas):
    """[N, 3] N on elements with velocities [N, 3], normals [N, 3] and areas [N], in air [3] m/s."""
    out = np.empty_like(normals)
    for n in range(len(areas)):
        across = 0.0
        for r in range(3):
            across += (air[r] - velocities[n, r]) * normals[n, r]
        push = strength * areas[n] * across * abs(across)
        for r in range(3):
            out[n, r] = push * normals[n, r]
    return out
