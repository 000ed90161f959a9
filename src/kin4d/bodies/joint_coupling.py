"""JointCoupling: from a tree's coordinates to the values of all its joints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import chebyshev

from kin4d.bodies.joint import Joint, Mimic
from kin4d.errors import InputError


@dataclass(frozen=True, eq=False)
class JointCoupling:
    """How coordinates q become the values of J joints: v_j = sum_i c[j, i] T_i(a_j q[col_j] + b_j).

    Attributes:
        column: [J] int64 coordinate that drives each joint; 0 where none does.
        scale: [J] a.
        shift: [J] b.
        coefficients: [J, n] c; all zero for joints that nothing moves.
    """

    column: np.ndarray
    scale: np.ndarray
    shift: np.ndarray
    coefficients: np.ndarray

    @property
    def slopes(self) -> np.ndarray:
        """[J, n - 1] Chebyshev coefficients of dv/dq."""
        return chebyshev.chebder(self.coefficients, axis=1) * self.scale[:, None]

    def values(self, q: np.ndarray) -> np.ndarray:
        """[J] values of all joints at q [k]."""
        q = np.append(q, 0.0)  # so that column 0 exists also where nothing moves
        at = self.scale * q[self.column] + self.shift
        return chebyshev.chebval(at, self.coefficients.T, tensor=False)


def resolve_mimics(name: str, joints: Sequence[Joint], columns: Mapping[str, int]) -> JointCoupling:
    """Resolve who follows whom; `columns` gives the free joints their coordinates."""
    by_name = {joint.name: joint for joint in joints}
    followed: list[tuple[int, Mimic]] = []
    for row, joint in enumerate(joints):
        if joint.kind == "fixed":
            continue
        function, seen = Mimic(joint.name), {joint.name}
        while (mimic := by_name[function.leader].mimic) is not None:
            if mimic.leader not in by_name or mimic.leader in seen:
                raise InputError(
                    f"joint '{function.leader}' of '{name}' mimics '{mimic.leader}', "
                    "which does not exist or mimics it in turn",
                    allowed=", ".join(columns),
                )
            seen.add(mimic.leader)
            function = function.after(mimic)
        followed.append((row, function))
    count, terms = len(joints), max([2, *(len(f.coefficients) for _, f in followed)])
    found = JointCoupling(
        np.zeros(count, np.int64), np.ones(count), np.zeros(count), np.zeros((count, terms))
    )
    for row, function in followed:
        low, high = function.domain
        if function.leader not in columns:  # Follows a joint that cannot move.
            found.coefficients[row, 0] = chebyshev.chebval(
                -(low + high) / (high - low), function.coefficients
            )
            continue
        found.column[row] = columns[function.leader]
        found.scale[row], found.shift[row] = 2 / (high - low), -(low + high) / (high - low)
        found.coefficients[row, : len(function.coefficients)] = function.coefficients
    return found
