"""Metadata: all of an episode except its frames and arrays, as JSON values.

Every format that stores episodes keeps it, so that episodes are read back as they were written.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from kin4d.episodes.episode import Episode
from kin4d.episodes.part_tracks import PartTracks
from kin4d.geometry.camera import Camera
from kin4d.geometry.pointmap import PointmapVideo
from kin4d.kinematics.actions import Actions

_PLAIN = (
    "name", "robot", "language", "task", "success", "seed", "source", "licence",
)  # fmt: skip
_RENAMED_ROBOTS = {"sketch": "kin4d_arm"}
_RENAMED_VARIANTS = {"noise": "noisy", "miss": "near_miss", "hit": "near_hit"}
_CONVENTIONS = [f.name for f in fields(Actions) if f.name not in ("values", "gripper", "fps")]


def episode_metadata(episode: Episode) -> dict[str, Any]:
    """All of `episode` but its frames, joints and actions' numbers."""
    video, actions = episode.video, episode.actions
    metadata: dict[str, Any] = {name: getattr(episode, name) for name in _PLAIN}
    metadata |= {
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
        metadata["actions"] = {name: getattr(actions, name) for name in _CONVENTIONS}
    return metadata


def current_robot(name: str) -> str:
    """The present name of a robot that a file may know by an older one."""
    return _RENAMED_ROBOTS.get(name, name)


def current_names(metadata: dict[str, Any]) -> dict[str, Any]:
    """Metadata with the robot and the variant (`meta["kind"]`) under their present names."""
    meta = metadata["meta"]
    if "kind" in meta:
        meta = {**meta, "kind": _RENAMED_VARIANTS.get(meta["kind"], meta["kind"])}
    return {**metadata, "robot": current_robot(metadata["robot"]), "meta": meta}


def camera_from_metadata(metadata: dict[str, Any]) -> Camera:
    """The camera of an episode."""
    return Camera.from_dict(metadata["camera"])


def episode_from_metadata(
    metadata: dict[str, Any],
    video: PointmapVideo,
    *,
    joints: np.ndarray | None,
    actions: np.ndarray | None,
    gripper: np.ndarray | None,
    parts: PartTracks | None = None,
) -> Episode:
    """The episode with this metadata, from its frames [T], joints [T, n], action values [T, m],
    gripper [T] and parts."""
    metadata = current_names(metadata)
    commanded = None
    if actions is not None:
        commanded = Actions(
            **_conventions(metadata["actions"]), values=actions, gripper=gripper, fps=video.fps
        )
    return Episode(
        **{name: metadata[name] for name in _PLAIN},
        joint_names=tuple(metadata["joint_names"]),
        flags=tuple(metadata["flags"]),
        video=video,
        joints=joints,
        actions=commanded,
        parts=parts,
        base=np.array(metadata["base"]),
        factors=metadata["factors"],
        meta=metadata["meta"],
    )


def _conventions(metadata: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(v) if isinstance(v, list) else v for name, v in metadata.items()}
