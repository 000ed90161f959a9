"""Import: datasets of any format into a store of episodes; each is checked, rejects counted."""

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
    reader: DatasetReader,
    path: str | Path,
    *,
    source: str,
    converter: RecordingConverter | None = None,
    quality: QualityFilter | None = None,
    limit: int | None = None,
    per_shard: int = 64,
    workers: int = 1,
) -> EpisodeStore:
    """Write a store of episodes; a second call goes on after any interruption.

    Args:
        reader: The dataset to read.
        path: The store's folder.
        source: Name of the dataset; a store is continued only from the same source.
        converter: From recordings to episodes.
        quality: Which episodes are kept.
        limit: At most so many, from the first.
        per_shard: Episodes per shard.
        workers: Processes; with more than one, reader and converter are sent to each.
    """
    converter = converter or RecordingConverter()
    count = len(reader) if limit is None else min(limit, len(reader))
    _check_camera(reader, converter)
    quality = quality or QualityFilter(frames=converter.frames)
    shards = _EpisodeShards(reader, converter, quality, count, per_shard)
    with StoreWriter.begin(path, shards.metadata | {"source": source}, EpisodeStore) as writer:
        make_shards(shards, writer, workers=workers)
    return EpisodeStore.open(path)


class _EpisodeShards:
    """Makes the shards of a store from a dataset."""

    def __init__(
        self,
        reader: DatasetReader,
        converter: RecordingConverter,
        quality: QualityFilter,
        count: int,
        per_shard: int,
    ) -> None:
        self._reader, self._converter, self._quality = reader, converter, quality
        self._count, self._per_shard = count, per_shard
        self._bodies: dict[str, RobotBody] = {}

    @property
    def metadata(self) -> dict[str, Any]:
        converter = self._converter
        camera, size = converter.camera, converter.size
        return {
            "count": self._count,
            "per_shard": self._per_shard,
            "frames": converter.frames,
            "robot": converter.robot,
            "without": converter.remove_link,
            "view": converter.view,
            "size": None if size is None else [*size],
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
        sample_id = SampleId(
            source="unread", category="unknown", name=f"{index:06d}", licence="unknown"
        )
        try:
            recording = self._reader.read(index)
            sample_id = recording.identity
            episode = self._episode(recording)
            check_episode(episode, self._quality)
            yield episode_record(episode)
        except RejectedEpisode as error:
            yield rejected_lines(sample_id, str(error))
        except InputError as error:
            reason = "NaN joints" if "NaN" in str(error) else "unreadable"
            yield rejected_lines(sample_id, f"{reason}: {error}")

    def _episode(self, recording: Recording | Episode) -> Episode:
        if isinstance(recording, Episode):
            return resample_episode(recording, self._converter.frames)
        if recording.robot not in self._bodies:
            self._bodies[recording.robot] = self._converter.load(recording)
        return self._converter.episode(recording, self._bodies[recording.robot])


def _check_camera(reader: DatasetReader, converter: RecordingConverter) -> None:
    """Raise if a camera is missing, before a thousand recordings are rejected for it."""
    try:
        first = reader.read(0)
    except InputError:
        return  # it is rejected later, with its reason
    if isinstance(first, Recording):
        converter.camera_of(first)
