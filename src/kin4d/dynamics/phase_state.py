"""PhaseState: coordinates and momentum of a body at one instant."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from kin4d.dynamics.small_linalg import mass_matrix, velocity_from_momentum


class PhaseState:
    """Coordinates and momentum, with what the map says there.

    Attributes:
        q: [k].
        p: [k] momentum G dq/dt.
        y: [n] embedding at q.
        jacobian: [n, k] dy/dq.
        metric: [k, k] mass matrix G = J^T J.
    """

    def __init__(
        self,
        q: np.ndarray,
        p: np.ndarray,
        y: np.ndarray,
        jacobian: np.ndarray,
        gram: np.ndarray | None = None,
    ) -> None:
        self.q, self.p, self.y, self.jacobian = q, p, y, jacobian
        self.metric = mass_matrix(jacobian) if gram is None else gram

    @classmethod
    def moving(
        cls, q: np.ndarray, qd: np.ndarray, y: np.ndarray, jacobian: np.ndarray
    ) -> PhaseState:
        """The state with velocity qd [k], given y and dy/dq at q."""
        return cls(q, jacobian.T @ (jacobian @ qd), y, jacobian)

    def with_momentum(self, p: np.ndarray) -> PhaseState:
        """The same configuration with another momentum [k]."""
        return PhaseState(self.q, p, self.y, self.jacobian, self.metric)

    @cached_property
    def velocity(self) -> np.ndarray:
        """dq/dt [k]."""
        return velocity_from_momentum(self.metric, self.p)

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """What `flow` starts from."""
        return self.q, self.p, self.y, self.jacobian, self.metric
