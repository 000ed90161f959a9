"""DragConstraint: a surface point follows a target, by a spring or exactly."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kin4d.dynamics.forces.force import ForceContext, ForceTerms, check_attachment
from kin4d.errors import InputError


class DragConstraint:
    """A place that follows a moving target.

    Args:
        at: [3] m: the place, on the surface at rest.
        target: [3] m, or a function of time (s) that gives it.
        stiffness: N/m of the spring; None to follow exactly ("this point moves so").
        damping: N s/m against the target's own motion.
        start: Seconds.
        duration: Seconds; without end if not given.
    """

    def __init__(
        self,
        at,
        target: Callable[[float], np.ndarray] | np.ndarray | tuple,
        *,
        stiffness: float | None = 100.0,
        damping: float = 0.0,
        start: float = 0.0,
        duration: float = np.inf,
    ) -> None:
        if stiffness is not None and not (np.isfinite(stiffness) and stiffness >= 0):
            raise InputError(
                "stiffness of a drag constraint", value=stiffness, allowed="N/m, >= 0, or None"
            )
        if not (np.isfinite(damping) and damping >= 0):
            raise InputError("damping of a drag constraint", value=damping, allowed="N s/m, >= 0")
        self.at, self.stiffness, self.damping = check_attachment(at), stiffness, damping
        self.start, self.end = start, start + duration
        if callable(target):
            self.target = target
        else:
            fixed = np.array(check_attachment(target))
            self.target = lambda time: fixed

    def load(self, state: ForceContext) -> ForceTerms:
        """The spring about its present length, or the goal for the end of the step."""
        low, high = state.ahead
        if not (high > self.start and low < self.end):
            return ForceTerms()
        if self.stiffness is None:
            return ForceTerms(goals=((self.at, np.asarray(self.target(high), np.float64)),))
        position, _, jacobian = state.site(self.at)
        ahead = 0.5 * (low + high)
        pull = self.stiffness * jacobian.T @ (np.asarray(self.target(ahead)) - position)
        stiffness = self.stiffness * jacobian.T @ jacobian
        stretch = np.asarray(self.target(state.time)) - position
        out: dict = {}
        if self.damping:
            step = 1e-4
            rate = (np.asarray(self.target(ahead + step)) - self.target(ahead - step)) / (2 * step)
            pull = pull + self.damping * jacobian.T @ rate
            out["damping"] = self.damping * jacobian.T @ jacobian
        energy = 0.5 * self.stiffness * float(stretch @ stretch)
        return ForceTerms(
            stiffness=stiffness, pull=pull + stiffness @ state.q, energy=energy, **out
        )
