"""Descriptions: all of an episode but its frames and numbers, as JSON values.

Every layout that holds episodes keeps one, so that what comes back is what was written.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from kin4d.episodes.episode import Episode
from kin4d.episodes.part_tracks import PartTracks
from kin4d.errors import InputError
from kin4d.geometry.camera import Camera
from kin4d.geometry.pointmap import PointmapVideo
from kin4d.kinematics.actions import Actions

_PLAIN = (
    "name", "robot", "language", "task", "success", "seed", "source", "licence",
)  # fmt: skip
_CONVENTIONS = [f.name for f in fields(Actions) if f.name not in ("values", "gripper", "fps")]


def episode_metadata(episode: Episode) -> dict[str, Any]:
    """All of `episode` but its frames, joints and actions' numbers."""
    video, actions = episode.video, episode.actions
    said: dict[str, Any] = {name: getattr(episode, name) for name in _PLAIN}
    said |= {
        "joint_names": [*episode.joint_names],
        "flags": [*episode.flags],
        "frames": len(episode),
        "fps": episode.fps,
        "camera": video.camera.to_dict(),
        "bodies": [*video.names],
        "base": episode.base.tolist(),
        "factors": dict(episode.factors),
        "meta": dict(episode.meta),
    }
    if actions is not None:
        said["actions"] = {name: getattr(actions, name) for name in _CONVENTIONS}
    return said


def camera_from_metadata(said: dict[str, Any]) -> Camera:
    """The camera of a description."""
    return Camera.from_dict(said["camera"])


def episode_from_metadata(
    said: dict[str, Any],
    video: PointmapVideo,
    *,
    joints: np.ndarray | None,
    actions: np.ndarray | None,
    gripper: np.ndarray | None,
    parts: PartTracks | None = None,
) -> Episode:
    """The episode of a description, from its frames [T], joints [T, n], action values [T, m],
    gripper [T] and parts."""
    try:
        commanded = None
        if actions is not None:
            commanded = Actions(
                **_conventions(said["actions"]), values=actions, gripper=gripper, fps=video.fps
            )
        return Episode(
            **{name: said[name] for name in _PLAIN},
            joint_names=tuple(said["joint_names"]),
            flags=tuple(said["flags"]),
            video=video,
            joints=joints,
            actions=commanded,
            parts=parts,
            base=np.array(said["base"]),
            factors=said["factors"],
            meta=said["meta"],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"the description of an episode is damaged: {error!r}") from error


def _conventions(said: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(v) if isinstance(v, list) else v for name, v in said.items()}
