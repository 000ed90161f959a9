"""Push: a force on one point of the surface, for a while."""

from __future__ import annotations

import numpy as np

from kin4d.dynamics.forces.force import (
    Force,
    ForceContext,
    ForceTerms,
    check_attachment,
    check_vector,
)
from kin4d.errors import InputError


class Push(Force):
    """A constant force at a point, in world directions, during a window of time.

    Args:
        attachment: [3] m: a point on the surface at rest, which the push then moves with. One off
            the surface is moved to the nearest point on it, or refused if that is far.
        force: [3] N; or give `impulse`.
        impulse: [3] N s, spread evenly over the window.
        start: Seconds.
        duration: Seconds.
    """

    def __init__(
        self, attachment, force=None, *, impulse=None, start: float = 0.0, duration: float = 0.1
    ) -> None:
        if (force is None) == (impulse is None):
            raise InputError("a push needs a force or an impulse, one of them")
        if not (np.isfinite(start) and np.isfinite(duration) and duration > 0):
            raise InputError("a push needs a time", value=(start, duration), allowed="duration > 0")
        self.attachment = check_attachment(attachment)
        self.start, self.end = float(start), float(start + duration)
        if force is None:
            force = check_vector(impulse, "impulse of a push") / duration
        self.force = check_vector(force, "force of a push")

    def load(self, context: ForceContext) -> ForceTerms:
        """The force at its attachment; none outside the window."""
        share = context.share(self.start, self.end)
        return ForceTerms(attached=share * self.force) if share else ForceTerms()
