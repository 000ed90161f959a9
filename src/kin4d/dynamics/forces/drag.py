"""DragConstraint: a surface point follows a target, by a spring or exactly."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kin4d.dynamics.forces.force import Force, ForceContext, ForceTerms, check_attachment
from kin4d.errors import InputError


class DragConstraint(Force):
    """A surface point that follows a moving target.

    Args:
        attachment: [3] m: the point, on the surface at rest.
        target: [3] m, or a function of time (s) that gives it.
        stiffness: N/m of the spring; None to follow exactly ("this point moves so").
        damping: N s/m against the target's own motion.
        start: Seconds.
        duration: Seconds; without end if not given.
    """

    def __init__(
        self,
        attachment,
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
        self.attachment = check_attachment(attachment)
        self.stiffness, self.damping = stiffness, damping
        self.start, self.end = start, start + duration
        if callable(target):
            self.target = target
        else:
            fixed = np.array(check_attachment(target))
            self.target = lambda time: fixed

    def load(self, context: ForceContext) -> ForceTerms:
        """The spring about its present length, or the target for the end of the step."""
        low, high = context.ahead
        if not (high > self.start and low < self.end):
            return ForceTerms()
        if self.stiffness is None:
            return ForceTerms(position_target=np.asarray(self.target(high), np.float64))
        position, jacobian = context.attached_point(self)
        ahead = 0.5 * (low + high)
        force = self.stiffness * jacobian.T @ (np.asarray(self.target(ahead)) - position)
        stiffness = self.stiffness * jacobian.T @ jacobian
        stretch = np.asarray(self.target(context.time)) - position
        out: dict = {}
        if self.damping:
            step = 1e-4
            velocity = (np.asarray(self.target(ahead + step)) - self.target(ahead - step)) / (
                2 * step
            )
            force = force + self.damping * jacobian.T @ velocity
            out["damping"] = self.damping * jacobian.T @ jacobian
        energy = 0.5 * self.stiffness * float(stretch @ stretch)
        return ForceTerms(
            stiffness=stiffness,
            constant_force=force + stiffness @ context.q,
            energy=energy,
            **out,
        )
