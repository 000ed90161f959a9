"""Spring: a linear spring on the coordinates, given or derived from a material."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from kin4d.dynamics.forces.force import ForceContext, ForceTerms, check_matrix
from kin4d.errors import InputError
from kin4d.kinematics.compiled.compiled_kinematics import CompiledKinematics


class Spring:
    """V = (q - rest).K (q - rest) / 2.

    Args:
        matrix: K as one number, [k] or [k, k]: joules per unit of coordinate squared.
        rest: [k] where the spring is at ease; the body's own rest if not given.
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
        self._known: WeakKeyDictionary[
            CompiledKinematics, tuple[np.ndarray, np.ndarray, np.ndarray]
        ] = WeakKeyDictionary()

    def load(self, state: ForceContext) -> ForceTerms:
        """pull - K q, and the energy stored."""
        known = self._known.get(state.map)
        if known is None:
            matrix = check_matrix(self.matrix, len(state.q), "stiffness")
            rest = state.rest if self.rest is None else self.rest
            if rest.shape != state.q.shape:
                raise InputError(
                    "rest of a spring does not fit the body",
                    value=rest.shape,
                    allowed=f"[{len(state.q)}]",
                )
            known = self._known[state.map] = (matrix, rest, matrix @ rest)
        matrix, rest, pull = known
        stretch = state.q - rest
        return ForceTerms(
            stiffness=matrix, pull=pull, energy=0.5 * float(stretch @ (matrix @ stretch))
        )
