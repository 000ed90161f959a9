"""PrescribedMotion: coordinates that follow a given course, whatever touches them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from kin4d.bodies.body import Body
from kin4d.errors import InputError


@dataclass(frozen=True, eq=False)
class PrescribedMotion:
    """Where the coordinates of an actor are at every time; `kin4d.actions_to_q` makes such rows.

    Coordinates go straight from row to row and stay at the last one. Contacts push what the actor
    touches and never the actor itself, except for coordinates with a force limit: these stop at
    what needs more to move, as the fingers of a gripper do at what they hold.

    Attributes:
        q: [T, k] coordinates, rad or m.
        fps: Rows per second; the first is the start.
        max_force: N m or N with which a coordinate follows at most, by its name. The weight and
            the inertial forces of the actor itself count as compensated.
    """

    q: np.ndarray
    _: KW_ONLY
    fps: float
    max_force: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        q = np.array(self.q, np.float64)
        if q.ndim != 2 or len(q) == 0 or not np.isfinite(q).all():
            raise InputError(
                "a prescribed motion is [T >= 1, k] finite coordinates", value=tuple(q.shape)
            )
        if not (np.isfinite(self.fps) and self.fps > 0):
            raise InputError("fps of a prescribed motion", value=self.fps, allowed="> 0")
        for name, force in self.max_force.items():
            if not force > 0:
                raise InputError(f"largest force on '{name}'", value=force, allowed="N or N m, > 0")
        q.flags.writeable = False
        object.__setattr__(self, "q", q)

    @property
    def seconds(self) -> float:
        """How long it lasts."""
        return (len(self.q) - 1) / self.fps

    def at(self, time: float) -> np.ndarray:
        """[k] coordinates at `time` seconds."""
        row = min(max(time * self.fps, 0.0), len(self.q) - 1.0)
        first = min(int(row), max(len(self.q) - 2, 0))
        share = row - first
        if share == 0.0:
            return self.q[first].copy()
        return (1.0 - share) * self.q[first] + share * self.q[first + 1]

    def force_limits(self, body: Body) -> np.ndarray:
        """[k] N m or N; infinite where nothing but the motion counts."""
        if self.q.shape[1] != len(body.coordinates):
            raise InputError(
                "a prescribed motion does not fit its body",
                value=f"{self.q.shape[1]} coordinates",
                allowed=f"{len(body.coordinates)}: {', '.join(body.coordinates)}",
            )
        out = np.full(len(body.coordinates), np.inf)
        for name, force in self.max_force.items():
            if name not in body.coordinates:
                raise InputError(
                    f"there is no coordinate '{name}' whose force could be limited",
                    allowed=", ".join(body.coordinates),
                )
            out[body.coordinates.index(name)] = force
        return out
