"""Episode: the unit of robot data. Video of a robot at work, its actions and its instruction."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from kin4d.episodes.part_tracks import PartTracks
from kin4d.errors import InputError
from kin4d.geometry.pointmap import PointmapVideo
from kin4d.kinematics.actions import Actions
from kin4d.storage.sample_id import SampleId

FRAMES = 49
"""Frames of an episode that a world model learns from, as in Robo4D-200k."""

ROBOT = 1
"""Mask id of the robot in an episode's video."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Episode:
    """One robot at one task, seen by one fixed camera, in T frames.

    Attributes:
        name: Unique within its source and task.
        video: RGB, XYZ (camera frame, m) and mask. Mask id 1 is the robot, ids of objects follow.
        robot: What `load_robot` loads: a name, or the path of a URDF or MJCF file.
        base: [4, 4] float64: the robot's base in the world of the camera's pose, m.
        joints: [T, n] float64 rad or m: the robot's measured coordinates in each frame, finite;
            None where they are not known.
        joint_names: Of the n columns.
        actions: T actions with their conventions, at the video's fps; None where not known. Row t
            leads to the state in frame t.
        parts: Which rigid parts are seen and how they move, where a simulator knew.
        language: Task instruction; empty if unknown.
        task: The kind of task ("open_drawer"); empty if unknown.
        success: Whether it was done, or None if unknown.
        seed: What the episode was made from, if it was made.
        source: What made or recorded it ("kin4d", "droid", the name of a folder).
        licence: Terms it comes under: an SPDX identifier, or words.
        factors: What varies between episodes and may be held out, by name: "background",
            "object", ... The arm is `robot`.
        flags: What a user should know: "stretched" (fewer frames were recorded than there are).
        meta: Anything else, as JSON values.
    """

    name: str
    video: PointmapVideo
    robot: str
    base: np.ndarray = field(default_factory=lambda: np.eye(4))
    joints: np.ndarray | None = None
    joint_names: tuple[str, ...] = ()
    actions: Actions | None = None
    parts: PartTracks | None = None
    language: str = ""
    task: str = ""
    success: bool | None = None
    seed: int | None = None
    source: str = "kin4d"
    licence: str = "Apache-2.0"
    factors: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    flags: tuple[str, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        if not self.name or "/" in self.name:
            raise InputError("an episode needs a name without '/'", value=self.name)
        if len(self.video) < 2:
            raise InputError(
                f"episode '{self.name}' has too few frames",
                value=len(self.video),
                allowed="at least 2",
            )
        if not self.video.names:
            raise InputError(f"episode '{self.name}' does not name mask id 1, its robot")
        base = np.array(self.base, np.float64)
        if base.shape != (4, 4) or not np.isfinite(base).all():
            raise InputError("the robot's base must be a finite 4x4 matrix", value=base.tolist())
        object.__setattr__(self, "base", base)
        self._check_joints()
        self._check_actions()
        if self.parts is not None and self.parts.mask.shape != self.video.mask.shape:
            raise InputError(
                f"parts of episode '{self.name}' have another size than its video",
                value=self.parts.mask.shape,
                allowed=f"{self.video.mask.shape}",
            )
        try:
            json.dumps([dict(self.factors), dict(self.meta)])
        except (TypeError, ValueError) as error:
            raise InputError(f"factors and meta hold JSON values: {error}") from None

    def __len__(self) -> int:
        return len(self.video)

    @property
    def fps(self) -> float:
        """Frames per second."""
        return self.video.fps

    @property
    def robot_mask(self) -> np.ndarray:
        """[T, H, W] bool: where the robot is seen."""
        return self.video.mask == ROBOT

    @property
    def identity(self) -> SampleId:
        """Who it is, for stores and splits: its task is its category."""
        return SampleId(
            source=self.source,
            category=self.task or "unknown",
            name=self.name,
            licence=self.licence,
            seed=self.seed,
        )

    def _check_joints(self) -> None:
        if self.joints is None:
            if self.joint_names:
                raise InputError(f"episode '{self.name}' names joints but has no values of them")
            return
        joints = np.array(self.joints, np.float64)
        if not joints.size or joints.shape != (len(self.video), len(self.joint_names)):
            raise InputError(
                f"joints of episode '{self.name}' have the wrong shape",
                value=joints.shape,
                allowed=f"({len(self.video)} frames, {len(self.joint_names)} names)",
            )
        bad = np.argwhere(~np.isfinite(joints))
        if len(bad):
            frame, column = bad[0]
            raise InputError(
                f"joints of episode '{self.name}' hold NaN or infinite values: first in frame "
                f"{frame}, '{self.joint_names[column]}'"
            )
        object.__setattr__(self, "joints", joints)

    def _check_actions(self) -> None:
        actions = self.actions
        if actions is None:
            return
        if len(actions) != len(self.video):
            raise InputError(
                f"episode '{self.name}' needs one action per frame",
                value=len(actions),
                allowed=f"{len(self.video)}",
            )
        if abs(actions.fps - self.fps) > 1e-6 * self.fps:
            raise InputError(
                f"actions of episode '{self.name}' have another rate than its video",
                value=actions.fps,
                allowed=f"{self.fps} per second",
            )
