"""Import: any layout into a store of episodes, checked one by one; rejects are counted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kin4d.episodes.converter import RecordingConverter
from kin4d.episodes.curate import QualityFilter, RejectedEpisode, check_episode
from kin4d.episodes.episode import Episode
from kin4d.episodes.formats.reader import DatasetReader
from kin4d.episodes.recording import Recording
from kin4d.episodes.store import EpisodeStore, episode_record
from kin4d.episodes.timing import resample_episode
from kin4d.errors import InputError
from kin4d.storage.make_shards import make_shards
from kin4d.storage.sample_id import SampleId
from kin4d.storage.shard import ShardRecord, rejected_lines
from kin4d.storage.store import StoreWriter

if TYPE_CHECKING:
    from kin4d.bodies.robot.robot_body import RobotBody


def import_episodes(
    layout: DatasetReader,
    path: str | Path,
    *,
    source: str,
    assembly: RecordingConverter | None = None,
    rules: QualityFilter | None = None,
    limit: int | None = None,
    per_shard: int = 64,
    workers: int = 1,
) -> EpisodeStore:
    """Make what is missing of a store from a layout; call it again after any interruption.

    Args:
        layout: What to read.
        path: The store's folder.
        source: What the layout is, to know it again when going on.
        assembly: What recordings need to become episodes.
        rules: What episodes must be like.
        limit: At most so many, from the first.
        per_shard: Episodes per shard.
        workers: Processes; with more than one, layout and assembly are sent to each.
    """
    assembly = assembly or RecordingConverter()
    count = len(layout) if limit is None else min(limit, len(layout))
    _check_camera(layout, assembly)
    plan = _Plan(layout, assembly, rules or QualityFilter(frames=assembly.frames), count, per_shard)
    with StoreWriter.begin(path, plan.said | {"source": source}, EpisodeStore) as writer:
        make_shards(plan, writer, workers=workers)
    return EpisodeStore.open(path)


class _Plan:
    def __init__(
        self,
        layout: DatasetReader,
        assembly: RecordingConverter,
        rules: QualityFilter,
        count: int,
        per_shard: int,
    ) -> None:
        self._layout, self._assembly, self._rules = layout, assembly, rules
        self._count, self._per_shard = count, per_shard
        self._bodies: dict[str, RobotBody] = {}

    @property
    def said(self) -> dict[str, Any]:
        camera, chosen = self._assembly.camera, self._assembly
        return {
            "count": self._count,
            "per_shard": self._per_shard,
            "frames": chosen.frames,
            "robot": chosen.robot,
            "without": chosen.remove_link,
            "view": chosen.view,
            "size": None if chosen.size is None else [*chosen.size],
            "camera": None if camera is None else camera.to_dict(),
        }

    @property
    def shards(self) -> int:
        return -(-self._count // self._per_shard)

    def make(self, number: int) -> list[ShardRecord]:
        start = number * self._per_shard
        numbers = range(start, min(start + self._per_shard, self._count))
        return [record for i in numbers for record in self._records(i)]

    def _records(self, index: int) -> Iterator[ShardRecord]:
        who = SampleId(source="unread", category="unknown", name=f"{index:06d}", licence="unknown")
        try:
            found = self._layout.read(index)
            who = found.identity
            episode = self._episode(found)
            check_episode(episode, self._rules)
            yield episode_record(episode)
        except RejectedEpisode as error:
            yield rejected_lines(who, str(error))
        except InputError as error:
            reason = "NaN joints" if "NaN" in str(error) else "unreadable"
            yield rejected_lines(who, f"{reason}: {error}")

    def _episode(self, found: Recording | Episode) -> Episode:
        if isinstance(found, Episode):
            return resample_episode(found, self._assembly.frames)
        if found.robot not in self._bodies:
            self._bodies[found.robot] = self._assembly.load(found)
        return self._assembly.episode(found, self._bodies[found.robot])


def _check_camera(layout: DatasetReader, assembly: RecordingConverter) -> None:
    """Say that a camera is missing before a thousand recordings are rejected for it."""
    try:
        first = layout.read(0)
    except InputError:
        return  # that one is rejected in its turn
    if isinstance(first, Recording):
        assembly.camera_of(first)
