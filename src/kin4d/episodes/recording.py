"""Recording: an episode of a robot as others keep it, before it is in metres."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from kin4d.episodes.timing import shift_actions
from kin4d.errors import InputError
from kin4d.geometry.camera import Camera
from kin4d.kinematics.actions import Actions
from kin4d.storage.sample_id import SampleId

STATES = ("state_joint", "state_pose")
"""Measured motions, the most telling first."""


@dataclass(frozen=True, eq=False, kw_only=True)
class CameraStream:
    """What one camera recorded.

    Attributes:
        read: Gives frames [T, H, W, 3] uint8 and when each was taken, [T] s from the start.
        camera: Where the source says it; its world is the robot's base frame.
    """

    read: Callable[[], tuple[np.ndarray, np.ndarray]]
    camera: Camera | None = None

    @classmethod
    def of(cls, frames: np.ndarray, *, fps: float, camera: Camera | None = None) -> CameraStream:
        """A view of frames [T, H, W, 3] uint8 at hand."""
        times = np.arange(len(frames)) / fps
        return cls(read=lambda: (frames, times), camera=camera)


@dataclass(frozen=True, eq=False, kw_only=True)
class Recording:
    """One episode of a robot.

    Attributes:
        name: Which one it is in its source.
        motions: Measured and commanded motions by name, all of the same length, from time 0 on:
            "state_joint", "state_pose", "action_joint", "action_pose_delta", ...
        views: What cameras saw, by name.
        language: Task instruction; empty if unknown.
        task: The kind of task; empty if unknown.
        success: Whether it was done, or None if unknown.
        robot: What it was recorded with, as `load_robot` takes it; empty if unknown.
        source: Where it is from.
        licence: Terms it comes under; empty if unknown.
        leads: Whether the command in row t leads to the state in row t, as in an `Episode`, or
            was given in it and leads to the next, as in most sources.
    """

    name: str
    motions: Mapping[str, Actions]
    views: Mapping[str, CameraStream] = field(default_factory=lambda: MappingProxyType({}))
    language: str = ""
    task: str = ""
    success: bool | None = None
    robot: str = ""
    source: str = "recording"
    licence: str = ""
    leads: bool = False

    def view(self, name: str | None = None) -> tuple[str, CameraStream]:
        """The view called `name`, or the first."""
        if not self.views:
            raise InputError(f"recording '{self.name}' has no video")
        name = name or next(iter(self.views))
        if name not in self.views:
            raise InputError(
                f"recording '{self.name}' has no such view",
                value=name,
                allowed=", ".join(self.views),
            )
        return name, self.views[name]

    @property
    def state(self) -> Actions | None:
        """What was measured of the robot, if anything was."""
        return next((self.motions[name] for name in STATES if name in self.motions), None)

    @property
    def action(self) -> Actions | None:
        """What was commanded, in the rows it leads to, if that is known."""
        found = next((m for name, m in self.motions.items() if name.startswith("action")), None)
        return found if found is None or self.leads else shift_actions(found, 1)

    @property
    def identity(self) -> SampleId:
        """Who it is, before it is an episode."""
        return SampleId(
            source=self.source,
            category=self.task or "unknown",
            name=self.name,
            licence=self.licence or "unknown",
        )
