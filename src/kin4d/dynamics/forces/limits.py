"""Limits: what keeps coordinates within their bounds, smoothly or by a stop."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from kin4d.dynamics.barrier import barrier_energy
from kin4d.dynamics.forces.force import ForceContext, ForceTerms
from kin4d.errors import InputError
from kin4d.kinematics.compiled.compiled_kinematics import CompiledKinematics


class Limits:
    """Bounds on the coordinates.

    Without `restitution` a bound is a spring that conserves energy: it sets in `margin` before the
    bound and turns a coordinate round at `rate`. With it, a bound is a hard stop.

    Args:
        restitution: Speed after hitting a stop over speed before; None for the smooth form.
        rate: rad/s of the spring against the body's own inertia: larger is harder.
        margin: Part of the coordinate's range at which the spring sets in before the bound.
        bounds: [k, 2]; the body's own limits if not given.
    """

    def __init__(
        self,
        *,
        restitution: float | None = None,
        rate: float = 60.0,
        margin: float = 0.03,
        bounds=None,
    ) -> None:
        if restitution is not None and not 0 <= restitution <= 1:
            raise InputError("restitution of limits", value=restitution, allowed="0 to 1")
        if not (np.isfinite(rate) and rate > 0 and 0 <= margin < 0.5):
            raise InputError("limits need rate > 0 and margin from 0 to 0.5", value=(rate, margin))
        self.restitution, self.rate, self.margin = restitution, rate, margin
        self.steady = restitution is not None
        self.bounds = None if bounds is None else np.array(bounds, np.float64)
        self._known: WeakKeyDictionary[CompiledKinematics, np.ndarray] = WeakKeyDictionary()

    def load(self, state: ForceContext) -> ForceTerms:
        """The soft limits with their energy, or the stops."""
        known = self._known.get(state.map)
        if known is None:
            known = self._known[state.map] = self._made_for(state)
        if self.restitution is not None:
            return ForceTerms(stops=known)
        return ForceTerms(soft_limits=known, energy=barrier_energy(state.q, known))

    def _made_for(self, state: ForceContext) -> np.ndarray:
        bounds = state.limits if self.bounds is None else self.bounds
        if bounds.shape != state.limits.shape or (bounds[:, 0] > bounds[:, 1]).any():
            raise InputError("bounds do not fit the body", value=bounds.tolist())
        lower, upper = bounds.T
        if self.restitution is not None:
            return np.column_stack([lower, upper, np.full(len(lower), self.restitution)])
        width = np.where(np.isfinite(upper - lower), upper - lower, 1.0)
        softness = np.maximum(self.margin * width, 1e-9)
        stiffness = self.rate**2 * np.diag(state.metric)
        return np.column_stack([lower + softness, upper - softness, stiffness, softness])
