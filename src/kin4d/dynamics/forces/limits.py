"""Limits: bounds on the coordinates, soft or hard."""

from __future__ import annotations

from copy import copy

import numpy as np

from kin4d.dynamics.barrier import barrier_energy
from kin4d.dynamics.forces.force import ActorConstants, Force, ForceContext, ForceTerms
from kin4d.errors import InputError


class Limits(Force):
    """Bounds on the coordinates.

    Without `restitution` a bound is a spring that conserves energy: it sets in `margin` before the
    bound, and its frequency is `rate`. With it, a bound is a hard limit.

    Args:
        restitution: Speed after hitting a hard limit over speed before; None for the smooth form.
        rate: rad/s of the spring against the body's own inertia: larger is harder.
        margin: Part of the coordinate's range at which the spring sets in before the bound.
        bounds: [k, 2]; the body's own limits if not given.
        bearing: Of a free body's own inertia about its root, the share that every spring holds at
            least: a light leg that is stood on must bear the body.
    """

    def __init__(
        self,
        *,
        restitution: float | None = None,
        rate: float = 60.0,
        margin: float = 0.03,
        bounds=None,
        bearing: float = 0.0,
    ) -> None:
        if restitution is not None and not 0 <= restitution <= 1:
            raise InputError("restitution of limits", value=restitution, allowed="0 to 1")
        if not (np.isfinite(rate) and rate > 0 and 0 <= margin < 0.5):
            raise InputError("limits need rate > 0 and margin from 0 to 0.5", value=(rate, margin))
        if not (np.isfinite(bearing) and bearing >= 0):
            raise InputError("bearing of limits", value=bearing, allowed=">= 0")
        self.restitution, self.rate, self.margin = restitution, rate, margin
        self.bearing = bearing
        self.constant = restitution is not None
        self.bounds = None if bounds is None else np.array(bounds, np.float64)
        self._rows = np.zeros((0, 0))

    def prepare(self, actor: ActorConstants) -> Limits:
        """The limits of one body."""
        prepared = copy(self)
        prepared._rows = self._limit_rows(actor)
        return prepared

    def load(self, context: ForceContext) -> ForceTerms:
        """The soft limits with their energy, or the hard ones."""
        if self.constant:
            return ForceTerms(hard_limits=self._rows)
        return ForceTerms(soft_limits=self._rows, energy=barrier_energy(context.q, self._rows))

    def _limit_rows(self, actor: ActorConstants) -> np.ndarray:
        """[k, 3] or [k, 4], see `ForceTerms`."""
        bounds = actor.limits if self.bounds is None else self.bounds
        if bounds.shape != actor.limits.shape or (bounds[:, 0] > bounds[:, 1]).any():
            raise InputError("bounds do not fit the body", value=bounds.tolist())
        lower, upper = bounds.T
        if self.restitution is not None:
            return np.column_stack([lower, upper, np.full(len(lower), self.restitution)])
        width = np.where(np.isfinite(upper - lower), upper - lower, 1.0)
        softness = np.maximum(self.margin * width, 1e-9)
        inertia = np.diag(actor.start_mass_matrix)
        if actor.kinematics.floating:
            inertia = np.maximum(inertia, self.bearing * inertia[3:6].mean())
        stiffness = self.rate**2 * inertia
        return np.column_stack([lower + softness, upper - softness, stiffness, softness])
