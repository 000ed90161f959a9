"""Forces that a hand changes while a simulation runs: pulling at a point, holding coordinates."""

from __future__ import annotations

import numpy as np

from kin4d.dynamics.forces.force import ActorConstants, Force, ForceContext, ForceTerms

_FREQUENCY = 2.0  # Hz at which the whole actor would swing on the spring of a pull
_NEIGHBOURS = 8


class LivePull(Force):
    """A damped spring from a grabbed point to the hand; nothing while nothing is grabbed.

    The point is a combination of an actor's contact points, which are compiled already: grabbing
    another one costs nothing.
    """

    def __init__(self) -> None:
        self.strength = 1.0
        self._points, self._weights = np.zeros(0, np.int64), np.zeros(0)
        self._target = np.zeros(3)
        self._mass = 1.0

    def prepare(self, actor: ActorConstants) -> LivePull:
        """The same object, so that who made it can move it."""
        self._mass = float(actor.kinematics.mass.sum())
        return self

    def grab(self, rest: np.ndarray, part: np.ndarray, at: np.ndarray, of: int) -> None:
        """Hold the point `at` [3] (m, at rest) of part `of`.

        Args:
            rest: [C, 3] the contact points at rest (m).
            part: [C] which part each is on.
            at: The point.
            of: Its part.
        """
        own = np.flatnonzero(part == of)
        own = own if len(own) else np.arange(len(part))
        near = own[np.argsort(np.linalg.norm(rest[own] - at, axis=1))[:_NEIGHBOURS]]
        # Least weights that add up to one and whose combination is the point.
        scale = max(float(np.linalg.norm(rest[near] - at, axis=1).max()), 1e-9)
        system = np.vstack([(rest[near] - at).T / scale, np.ones(len(near))])
        self._weights = np.linalg.lstsq(system, np.array([0.0, 0.0, 0.0, 1.0]), rcond=1e-3)[0]
        self._points, self._target = near, np.asarray(at, np.float64)

    def move(self, target: np.ndarray) -> None:
        """Where the hand is now, [3] m."""
        self._target = np.array(target, np.float64)

    def release(self) -> None:
        """Let go."""
        self._points = self._points[:0]

    def load(self, context: ForceContext) -> ForceTerms:
        """The spring about its present length, and its damper."""
        if not len(self._points):
            return ForceTerms()
        points, jacobians = context.kinematics.points_and_jacobians(
            context.phase.configuration, self._points
        )
        point = self._weights @ points
        jacobian = np.tensordot(self._weights, jacobians, 1)
        stiffness = self.strength * self._mass * (2 * np.pi * _FREQUENCY) ** 2
        stretch = self._target - point
        matrix = stiffness * jacobian.T @ jacobian
        damping = np.sqrt(stiffness * self._mass)
        return ForceTerms(
            stiffness=matrix,
            constant_force=stiffness * jacobian.T @ stretch + matrix @ context.q,
            damping=damping * jacobian.T @ jacobian,
            energy=0.5 * stiffness * float(stretch @ stretch),
        )


class LiveHold(Force):
    """Joints that stay where they are: hard limits on both sides, over the body's own.

    Attributes:
        held: Where each held coordinate is, by its index.
    """

    def __init__(self) -> None:
        self.held: dict[int, float] = {}
        self._limits = np.zeros((0, 2))

    def prepare(self, actor: ActorConstants) -> LiveHold:
        """The same object, so that who made it can change what is held."""
        self._limits = actor.limits
        return self

    def load(self, context: ForceContext) -> ForceTerms:
        """The limits, while something is held."""
        if not self.held:
            return ForceTerms()
        rows = np.column_stack([self._limits, np.zeros(len(self._limits))])
        for index, value in self.held.items():
            rows[index, :2] = value
        return ForceTerms(hard_limits=rows)
