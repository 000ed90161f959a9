"""Joint: how one link moves on another. Mimic: how one joint's value follows another's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from kin4d.errors import InputError

JOINT_TYPES = ("fixed", "revolute", "prismatic")


@dataclass(frozen=True, eq=False)
class Mimic:
    """A joint's value as a function of its leader's.

    value = sum_i coefficients[i] T_i(s), T_i the Chebyshev polynomials, s the leader's value v
    mapped so that `domain` becomes [-1, 1].

    Attributes:
        leader: Name of the joint that is followed.
        coefficients: [n >= 2], in rad or m. Two are a straight line, as URDF has it; more are the
            solution of a closed loop of links.
        domain: Leader values (rad or m) the function was made for.
    """

    leader: str
    coefficients: Sequence[float] | np.ndarray = (0.0, 1.0)
    domain: tuple[float, float] = (-1.0, 1.0)

    def __post_init__(self) -> None:
        coefficients = np.asarray(self.coefficients, np.float64)
        low, high = self.domain
        if coefficients.ndim != 1 or len(coefficients) < 2 or not np.isfinite(coefficients).all():
            raise InputError(
                f"following joint '{self.leader}' takes two or more finite coefficients",
                value=coefficients.tolist(),
            )
        if not (np.isfinite([low, high]).all() and low < high):
            raise InputError(f"following joint '{self.leader}' has no domain", value=(low, high))
        object.__setattr__(self, "coefficients", coefficients)

    @classmethod
    def linear(cls, leader: str, multiplier: float = 1.0, offset: float = 0.0) -> Mimic:
        """value = multiplier * leader + offset."""
        return cls(leader, (offset, multiplier))

    @property
    def is_linear(self) -> bool:
        """Whether the value is a straight line in the leader's."""
        return len(self.coefficients) == 2

    def after(self, first: Mimic) -> Mimic:
        """The joint that follows by `self` a joint that follows by `first`, as one function."""
        (low, high), coefficients = self.domain, np.asarray(self.coefficients)
        slope, middle = 2 / (high - low), (low + high) / 2
        if self.is_linear:
            offset, multiplier = coefficients[0] - coefficients[1] * slope * middle, coefficients[1]
            line = np.asarray(first.coefficients) * multiplier * slope
            line[0] += offset
            return Mimic(first.leader, line, first.domain)
        if not first.is_linear:
            raise InputError(
                f"a joint follows a joint that itself follows '{first.leader}' in a curve"
            )
        start, end = first.domain
        inner, scale = np.asarray(first.coefficients), 2 / (end - start)
        # Where the inner line takes the values low and high.
        ends = (np.array([low, high]) - inner[0]) / (inner[1] * scale) + (start + end) / 2
        if ends[0] > ends[1]:  # T_i(-s) = (-1)^i T_i(s)
            coefficients = coefficients * (-1.0) ** np.arange(len(coefficients))
            ends = ends[::-1]
        return Mimic(first.leader, coefficients, (float(ends[0]), float(ends[1])))


@dataclass(frozen=True, eq=False, kw_only=True)
class Joint:
    """How a child link moves on its parent.

    Attributes:
        name: Unique within its body.
        kind: One of `JOINT_TYPES`.
        parent: Name of the parent link.
        child: Name of the child link.
        origin: [4, 4] rigid, the joint frame in the parent's frame, metres.
        axis: [3] unit vector in the joint frame.
        limits: Lower and upper value (rad or m); infinite where there is none.
        mimic: Set if the value follows another joint's.
    """

    name: str
    kind: str
    parent: str
    child: str
    origin: np.ndarray = field(default_factory=lambda: np.eye(4))
    axis: np.ndarray = field(default_factory=lambda: np.array([1.0, 0.0, 0.0]))
    limits: tuple[float, float] = (-np.inf, np.inf)
    mimic: Mimic | None = None

    def __post_init__(self) -> None:
        origin, axis = np.asarray(self.origin, np.float64), np.asarray(self.axis, np.float64)
        where = f"joint '{self.name}'"
        if self.kind not in JOINT_TYPES:
            raise InputError(
                f"{where} has an unknown type", value=self.kind, allowed=", ".join(JOINT_TYPES)
            )
        if origin.shape != (4, 4) or not np.isfinite(origin).all():
            raise InputError(f"{where} has an origin that is not a finite 4x4 matrix")
        length = np.linalg.norm(axis)
        if axis.shape != (3,) or (
            self.kind != "fixed" and not (np.isfinite(length) and length > 1e-9)
        ):
            raise InputError(f"{where} has an axis without direction", value=axis.tolist())
        lower, upper = self.limits
        if np.isnan(lower) or np.isnan(upper) or lower > upper:
            raise InputError(f"{where} has impossible limits", value=(lower, upper))
        object.__setattr__(self, "origin", origin)
        object.__setattr__(self, "axis", axis / length if length > 0 else axis)
