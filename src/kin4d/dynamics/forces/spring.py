"""Spring: a linear spring on the coordinates, given or derived from a material."""

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


class Spring(Force):
    """V = (q - rest).K (q - rest) / 2.

    Args:
        matrix: K as one number, [k] or [k, k]: joules per unit of coordinate squared.
        rest: [k] where the spring is relaxed; the body's own rest if not given.
    """

    def __init__(self, matrix, *, rest=None) -> None:
        self.matrix = np.array(matrix, np.float64)
        if self.matrix.ndim > 2 or not np.isfinite(self.matrix).all():
            raise InputError("stiffness must be a finite number, [k] or [k, k]", value=matrix)
        if self.matrix.ndim == 2:
            self.matrix = 0.5 * (self.matrix + self.matrix.T)
        if self.matrix.ndim < 2 and (self.matrix < 0).any():
            raise InputError("stiffness cannot be negative", value=matrix, allowed=">= 0")
        self.rest = None if rest is None else np.array(rest, np.float64)
        self._constant_force = np.zeros(0)

    def prepare(self, actor: ActorConstants) -> Spring:
        """The spring of one body: all of its matrix and of its rest."""
        k, prepared = len(actor.rest), copy(self)
        prepared.matrix = check_matrix(self.matrix, k, "stiffness")
        prepared.rest = actor.rest if self.rest is None else self.rest
        if prepared.rest.shape != (k,):
            raise InputError(
                "rest of a spring does not fit the body",
                value=prepared.rest.shape,
                allowed=f"[{k}]",
            )
        prepared._constant_force = prepared.matrix @ prepared.rest
        return prepared

    def load(self, context: ForceContext) -> ForceTerms:
        """K rest - K q, and the energy stored."""
        assert self.rest is not None, "prepare() gives it"
        stretch = context.q - self.rest
        return ForceTerms(
            stiffness=self.matrix,
            constant_force=self._constant_force,
            energy=0.5 * float(stretch @ (self.matrix @ stretch)),
        )
