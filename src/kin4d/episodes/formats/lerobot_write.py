"""Episodes written as a LeRobotDataset, v3.0 or v2.1.

    observation.state          joints, float32        action   commands, float32
    observation.images.main    colour, as video       next.success
    observation.depth.main     16-bit PNG, mm         observation.mask.main   8-bit PNG, body ids

Row t of "action" is the command given in frame t, as LeRobot means it; `Episode.actions` has it one
row later, where it leads to. meta/kin4d.jsonl holds camera, conventions and all else that the
format has no place for; other readers pass it by. What is lost: video is compressed (H.264, 18),
depth is rounded to a millimetre and numbers to float32.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from kin4d.episodes.episode import Episode
from kin4d.episodes.formats.lerobot_features import (
    DEPTH,
    IMAGES,
    MASK,
    commands,
    concat_features,
    episode_features,
    feature_statistics,
)
from kin4d.episodes.formats.lerobot_table import encode_images, write_rows, write_table
from kin4d.episodes.metadata import episode_metadata
from kin4d.episodes.timing import pick_frames, shift_actions
from kin4d.errors import InputError
from kin4d.export.video import write_video
from kin4d.files import atomic_path, remove_abandoned, write_json
from kin4d.progress import track

VERSIONS = ("v3.0", "v2.1")
_CHUNK = 1000
_V3 = {
    "data_path": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
    "video_path": "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4",
}
_V2 = {
    "data_path": "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet",
    "video_path": "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4",
}


def write_lerobot(
    episodes: Sequence[Episode],
    folder: str | Path,
    *,
    version: str = "v3.0",
    fps: float | None = None,
    geometry: bool = True,
    per_file: int = 100,
) -> Path:
    """Write episodes of one robot as a LeRobotDataset; the folder appears whole or not at all.

    Args:
        episodes: Of the same joints, kind of actions and image size; read one by one.
        folder: Target; must not exist.
        version: "v3.0" or "v2.1".
        fps: LeRobot has one rate for all episodes: they are resampled to it. Default: their own,
            if it is one.
        geometry: Also write depth and masks.
        per_file: Episodes per file of v3.0; v2.1 has one.
    """
    folder = Path(folder)
    if version not in VERSIONS:
        allowed = ", ".join(VERSIONS)
        raise InputError("unknown version of LeRobotDataset", value=version, allowed=allowed)
    remove_abandoned(folder.parent, name=folder.name)
    if folder.exists():
        raise InputError(f"{folder} exists already", hint="choose a new folder")
    if not len(episodes):
        raise InputError("there are no episodes to write")
    per_file = per_file if version == "v3.0" else 1
    writer = _Writer(episodes[0], version, fps or episodes[0].fps, geometry)
    with atomic_path(folder) as path:
        starts = [*range(0, len(episodes), per_file), len(episodes)]
        for start, stop in track(list(pairwise(starts)), "writing episodes"):
            block = [episodes[i] for i in range(start, stop)]
            writer.add(path, [_at_rate(one, fps, writer.fps) for one in block])
        writer.finish(path)
    return folder


def _at_rate(episode: Episode, wanted: float | None, fps: float) -> Episode:
    if abs(episode.fps - fps) <= 1e-6 * fps:
        return episode
    if wanted is None:
        raise InputError(
            f"episodes have different rates: '{episode.name}' has {episode.fps:.4g} frames per "
            f"second, the first {fps:.4g}",
            hint="give fps, and all are resampled to it",
        )
    count = max(round((len(episode) - 1) * fps / episode.fps) + 1, 2)
    index = np.rint(np.arange(count) * episode.fps / fps).astype(int).clip(max=len(episode) - 1)
    return pick_frames(episode, index, fps=fps)


class _Writer:
    """What has been written so far, and how to write more."""

    def __init__(self, first: Episode, version: str, fps: float, geometry: bool) -> None:
        self.version, self.fps, self.geometry = version, fps, geometry
        self.features = episode_features(first, fps, geometry)
        self.robot = first.robot
        self.tasks: dict[str, int] = {}
        self.rows: list[dict[str, Any]] = []
        self.descriptions: list[dict[str, Any]] = []
        self.frames = self.files = 0

    def add(self, folder: Path, block: Sequence[Episode]) -> None:
        """Write one data file and one video file of a few episodes."""
        chunk, file = divmod(self.files, _CHUNK)
        tables, shown = [], 0
        for episode in block:
            number = len(self.rows)
            table = self._columns(episode, number)
            tables.append(table)
            end = shown + len(episode)
            row: dict[str, Any] = {
                "episode_index": number,
                "tasks": [episode.language or episode.task],
                "length": len(episode),
            }
            if self.version == "v3.0":
                row |= {
                    "data/chunk_index": chunk,
                    "data/file_index": file,
                    "dataset_from_index": self.frames,
                    "dataset_to_index": self.frames + len(episode),
                    f"videos/{IMAGES}/chunk_index": chunk,
                    f"videos/{IMAGES}/file_index": file,
                    f"videos/{IMAGES}/from_timestamp": shown / self.fps,
                    f"videos/{IMAGES}/to_timestamp": end / self.fps,
                    "meta/episodes/chunk_index": 0,
                    "meta/episodes/file_index": 0,
                }
            self.rows.append(row | {"stats": feature_statistics(table, episode, self.features)})
            self.descriptions.append(episode_metadata(episode) | {"episode_index": number})
            self.frames, shown = self.frames + len(episode), end
        whole = {
            name: [cell for one in tables for cell in one[name]]
            if isinstance(tables[0][name], list)
            else np.concatenate([one[name] for one in tables])
            for name in tables[0]
        }
        indices = {"chunk_index": chunk, "file_index": file}
        indices |= {"episode_chunk": chunk, "episode_index": self.files}
        names = _V3 if self.version == "v3.0" else _V2
        write_table(whole, self.features, folder / names["data_path"].format(**indices))
        write_video(
            np.concatenate([one.video.rgb for one in block]),
            folder / names["video_path"].format(video_key=IMAGES, **indices),
            fps=self.fps,
            key_every=2,
        )
        self.files += 1

    def finish(self, folder: Path) -> None:
        """Write the metadata."""
        v3, meta, count = self.version == "v3.0", folder / "meta", len(self.rows)
        info = {
            "codebase_version": self.version,
            "robot_type": self.robot,
            "total_episodes": count,
            "total_frames": self.frames,
            "total_tasks": len(self.tasks),
            "chunks_size": _CHUNK,
            "fps": int(self.fps) if float(self.fps).is_integer() else self.fps,
            "splits": {"train": f"0:{count}"},
            **(_V3 if v3 else _V2),
            "features": self.features,
        }
        if v3:
            info |= {"data_files_size_in_mb": 100, "video_files_size_in_mb": 200}
        else:
            info |= {"total_videos": count, "total_chunks": -(-count // _CHUNK)}
        write_json(meta / "info.json", info)
        tasks = [{"task_index": index, "task": task} for task, index in self.tasks.items()]
        plain = [{k: v for k, v in row.items() if k != "stats"} for row in self.rows]
        stats = [row["stats"] for row in self.rows]
        write_json(meta / "stats.json", concat_features(stats))
        if v3:
            write_rows(tasks, meta / "tasks.parquet", index="task")
            rows = [row | _flat(one) for row, one in zip(plain, stats, strict=True)]
            write_rows(rows, meta / "episodes" / "chunk-000" / "file-000.parquet")
        else:
            _write_lines(tasks, meta / "tasks.jsonl")
            _write_lines(plain, meta / "episodes.jsonl")
            numbered = [{"episode_index": i, "stats": one} for i, one in enumerate(stats)]
            _write_lines(numbered, meta / "episodes_stats.jsonl")
        _write_lines(self.descriptions, meta / "kin4d.jsonl")

    def _columns(self, episode: Episode, number: int) -> dict[str, Any]:
        """Columns of the episode's rows; one that does not fit the first is an `InputError`."""
        found = episode_features(episode, self.fps, self.geometry)
        if found != self.features:
            wrong = [k for k in {*found, *self.features} if found.get(k) != self.features.get(k)]
            raise InputError(
                f"episode '{episode.name}' differs from the first in {', '.join(sorted(wrong))}",
                hint="write each robot and image size to a folder of its own",
            )
        count = len(episode)
        task = self.tasks.setdefault(episode.language or episode.task, len(self.tasks))
        columns: dict[str, Any] = {
            "timestamp": np.arange(count) / self.fps,
            "frame_index": np.arange(count),
            "episode_index": np.full(count, number),
            "index": np.arange(self.frames, self.frames + count),
            "task_index": np.full(count, task),
            "next.success": np.arange(count) == (count - 1 if episode.success else -1),
        }
        if episode.joints is not None:
            columns["observation.state"] = episode.joints.astype(np.float32)
        if episode.actions is not None:
            columns["action"] = commands(shift_actions(episode.actions, -1)).astype(np.float32)
        if self.geometry:
            depth = np.nan_to_num(episode.video.xyz[..., 2] * 1000, posinf=0, neginf=0)
            columns[DEPTH] = encode_images(np.rint(depth.clip(0, 65535)).astype(np.uint16))
            columns[MASK] = encode_images(episode.video.mask)
        return columns


def _flat(stats: dict[str, dict[str, list]]) -> dict[str, list]:
    return {f"stats/{key}/{name}": v for key, one in stats.items() for name, v in one.items()}


def _write_lines(rows: Sequence[dict[str, Any]], path: Path) -> None:
    with atomic_path(path) as temporary:
        temporary.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
