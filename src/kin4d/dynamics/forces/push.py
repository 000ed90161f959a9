"""Push: a force on one place of the surface, for a while."""

from __future__ import annotations

import numpy as np

from kin4d.dynamics.forces.force import ForceContext, ForceTerms, check_attachment, check_vector
from kin4d.errors import InputError


class Push:
    """A constant force at a place, in world directions, during a window of time.

    Args:
        at: [3] m: a place on the surface at rest, which the push then follows. A place off the
            surface is moved to the nearest one on it, or refused if that is far.
        force: [3] N; or give `impulse`.
        impulse: [3] N s, spread evenly over the window.
        start: Seconds.
        duration: Seconds.
    """

    def __init__(
        self, at, force=None, *, impulse=None, start: float = 0.0, duration: float = 0.1
    ) -> None:
        if (force is None) == (impulse is None):
            raise InputError("a push needs a force or an impulse, one of them")
        if not (np.isfinite(start) and np.isfinite(duration) and duration > 0):
            raise InputError("a push needs a time", value=(start, duration), allowed="duration > 0")
        self.at, self.start, self.end = check_attachment(at), float(start), float(start + duration)
        if force is None:
            force = check_vector(impulse, "impulse of a push") / duration
        self.force = check_vector(force, "force of a push")

    def load(self, state: ForceContext) -> ForceTerms:
        """The force at its place; none outside the window."""
        share = state.share(self.start, self.end)
        return ForceTerms(sites=((self.at, share * self.force),)) if share else ForceTerms()
