"""EpisodeStore: episodes on disk, in shards that are each whole or not there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from kin4d.episodes.compression import decode_frames, decode_points, encode_frames, encode_points
from kin4d.episodes.episode import Episode
from kin4d.episodes.metadata import (
    camera_from_metadata,
    current_names,
    episode_from_metadata,
    episode_metadata,
)
from kin4d.episodes.part_tracks import PartTracks
from kin4d.episodes.splits import check_episode_split, episode_split
from kin4d.geometry.pointmap import PointmapVideo
from kin4d.reading import reading
from kin4d.storage.shard import ShardRecord
from kin4d.storage.store import ShardStore


def episode_record(episode: Episode) -> ShardRecord:
    """An episode, ready to be written to a shard."""
    video, actions = episode.video, episode.actions
    levels, scale = encode_points(video.xyz, video.camera)
    arrays = {
        "rgb": encode_frames(video.rgb),
        "points": encode_frames(levels),
        "mask": encode_frames(video.mask),
    }
    if episode.joints is not None:
        arrays["joints"] = episode.joints.reshape(-1)
    if actions is not None:
        arrays["actions"] = actions.values.reshape(-1)
        if actions.gripper is not None:
            arrays["gripper"] = actions.gripper
    if episode.parts is not None:
        arrays["parts"] = encode_frames(episode.parts.mask)
        arrays["motions"] = episode.parts.motions[:, :, :3].astype(np.float32).reshape(-1)
    rows = {name: len(array) for name, array in arrays.items()}
    line = {**episode_metadata(episode), **asdict(episode.identity), "scale": scale, "rows": rows}
    if episode.parts is not None:
        line["things"] = [*episode.parts.object_ids]
    return ShardRecord(line, arrays)


def restore_episode(line: dict[str, Any], arrays: dict[str, np.ndarray]) -> Episode:
    """The episode that `episode_record` made a line and arrays of."""
    camera, frames, scale = camera_from_metadata(line), line["frames"], line["scale"]
    size = (frames, camera.height, camera.width)
    levels = size if scale["form"] == "depth" else (*size, 3)
    video = PointmapVideo(
        rgb=decode_frames(arrays["rgb"], (*size, 3), "uint8"),
        xyz=decode_points(decode_frames(arrays["points"], levels, "uint16"), scale, camera),
        mask=decode_frames(arrays["mask"], size, "uint8"),
        camera=camera,
        fps=line["fps"],
        names=tuple(line["bodies"]),
    )
    parts = None
    if "parts" in arrays:
        object_ids = tuple(line["things"])
        motions = np.tile(np.eye(4), (frames, len(object_ids), 1, 1))
        motions[:, :, :3] = arrays["motions"].reshape(frames, len(object_ids), 3, 4)
        seen = decode_frames(arrays["parts"], size, "uint8")
        parts = PartTracks(mask=seen, motions=motions, object_ids=object_ids)
    tables = {
        name: arrays[name].reshape(frames, -1) if name in arrays else None
        for name in ("joints", "actions")
    }
    return episode_from_metadata(line, video, **tables, gripper=arrays.get("gripper"), parts=parts)


class EpisodeStore(ShardStore):
    """Episodes of robots. Reading one takes a few milliseconds; nothing is held in memory."""

    FORMAT = "kin4d episodes"
    COMMAND = "kin4d data episodes -o DIR, or: kin4d data import SOURCE -o DIR"

    def __init__(self, path: str | Path) -> None:
        super().__init__(path)
        with reading(self.path, "store of episodes"):
            self.lines = [current_names(line) for line in self.lines]

    @staticmethod
    def rows_of(line: dict[str, Any]) -> dict[str, int]:
        """Names of an episode's arrays and how many rows each has."""
        return line["rows"]

    def episode(self, index: int) -> Episode:
        """Episode number `index`."""
        arrays = self.arrays(index)
        with reading(self.path, "episode", place=self.identities[index].key):
            return restore_episode(self.lines[index], arrays)

    def numbers(self, split: str | None = None) -> list[int]:
        """Of the episodes of a split, or of all; see `episode_split`."""
        check_episode_split(split)
        return [i for i, line in enumerate(self.lines) if split in (None, episode_split(line))]

    @property
    def reasons(self) -> Counter[str]:
        """How many episodes could not be made or were rejected, by reason."""
        return Counter(str(line["dropped"]).partition(":")[0] for line in self.dropped)

    @classmethod
    def write(
        cls, path: str | Path, episodes: Sequence[Episode], *, per_shard: int = 64
    ) -> EpisodeStore:
        """Write episodes that are at hand; goes on where an earlier call was interrupted.

        Args:
            path: The store's folder.
            episodes: What to write; the same ones when going on.
            per_shard: Episodes per shard.
        """
        plan = {"keys": [one.identity.key for one in episodes], "per_shard": per_shard}
        return cls._write(path, plan, episodes, episode_record, per_shard)


def shipped_episodes() -> EpisodeStore:
    """Four small episodes that come with the package, of tasks that the shipped arm solves."""
    return EpisodeStore(Path(__file__).parents[1] / "assets" / "episodes")
