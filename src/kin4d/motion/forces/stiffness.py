"""Stiffness: a spring on the coordinates, given or derived from a material."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from kin4d.errors import InputError
from kin4d.motion.forces.force import Load, State
from kin4d.motion.maps.point_map import PointMap


class Stiffness:
    """V = (q - rest).K (q - rest) / 2.

    Args:
        matrix: K as one number, [k] or [k, k]: joules per unit of coordinate squared.
        rest: [k] where the spring is at ease; where the actor starts if not given.
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
        self._known: WeakKeyDictionary[PointMap, tuple[np.ndarray, np.ndarray, np.ndarray]] = (
            WeakKeyDictionary()
        )

    def load(self, state: State) -> Load:
        """pull - K q, and the energy stored."""
        known = self._known.get(state.map)
        if known is None:
            k = len(state.q)
            matrix = (
                np.diag(np.broadcast_to(self.matrix, k)) if self.matrix.ndim < 2 else self.matrix
            )
            rest = state.q.copy() if self.rest is None else self.rest
            if matrix.shape != (k, k) or rest.shape != (k,):
                raise InputError(
                    "stiffness does not fit the body",
                    value=(self.matrix.shape, rest.shape),
                    allowed=f"[{k}] or [{k}, {k}], and rest [{k}]",
                )
            known = self._known[state.map] = (matrix, rest, matrix @ rest)
        matrix, rest, pull = known
        stretch = state.q - rest
        return Load(stiffness=matrix, pull=pull, energy=0.5 * float(stretch @ (matrix @ stretch)))
