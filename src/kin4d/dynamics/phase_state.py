"""PhaseState: coordinates and momentum of a body at one instant."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from kin4d.dynamics.small_linalg import mass_matrix, velocity_from_momentum
from kin4d.kinematics.compiled.compiled_kinematics import CompiledKinematics, Configuration


class PhaseState:
    """A configuration and a momentum; never changed once made.

    Attributes:
        configuration: The body at q, with its embedding y and the Jacobian dy/dq.
        p: [k] momentum M dq/dt.
        mass_matrix: [k, k] M = J^T J.
        q: [k] coordinates.
    """

    def __init__(
        self, configuration: Configuration, p: np.ndarray, mass: np.ndarray | None = None
    ) -> None:
        self.configuration, self.q, self.p = configuration, configuration.q, p
        self.mass_matrix = mass_matrix(configuration.jacobian) if mass is None else mass

    @classmethod
    def moving(cls, configuration: Configuration, qd: np.ndarray) -> PhaseState:
        """The state with velocity qd [k]."""
        jacobian = configuration.jacobian
        return cls(configuration, jacobian.T @ (jacobian @ qd))

    @classmethod
    def from_arrays(
        cls, kinematics: CompiledKinematics, arrays: tuple[np.ndarray, ...]
    ) -> PhaseState:
        """The state whose `arrays` are given."""
        q, p, y, jacobian, mass = arrays
        return cls(Configuration(kinematics, q, y, jacobian), p, mass)

    def with_momentum(self, p: np.ndarray) -> PhaseState:
        """The same configuration with another momentum [k]."""
        return PhaseState(self.configuration, p, self.mass_matrix)

    @cached_property
    def velocity(self) -> np.ndarray:
        """dq/dt [k]."""
        return velocity_from_momentum(self.mass_matrix, self.p)

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """(q, p, y, J, M), as compiled code takes them."""
        at = self.configuration
        return self.q, self.p, at.y, at.jacobian, self.mass_matrix
