"""Stores of object motions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from kin4d.objects.object_sample import ObjectSample
from kin4d.objects.sequence_io import restore_sequence, sequence_record, sequence_rows
from kin4d.objects.sequence_sample import SequenceSample
from kin4d.objects.sources import FileSource
from kin4d.reading import reading
from kin4d.storage.store import ShardStore


class SequenceStore(ShardStore):
    """Motions of many objects."""

    FORMAT = "kin4d sequences"
    COMMAND = "kin4d data objects -o DIR"

    rows_of = staticmethod(sequence_rows)

    def sample(self, index: int) -> SequenceSample:
        """Sequence number `index`."""
        arrays = self.arrays(index)
        with reading(self.path, "sequence", place=self.identities[index].key):
            return restore_sequence(self.lines[index], arrays)

    def source(self) -> FileSource:
        """All of it, to draw training pairs from."""
        return FileSource(self.path.name, self.identities, self.sample)

    @classmethod
    def write(
        cls,
        path: str | Path,
        samples: Sequence[ObjectSample],
        *,
        frames: int = 16,
        per_shard: int = 32,
    ) -> SequenceStore:
        """Write samples that exist already; goes on where an earlier call was interrupted.

        Args:
            path: The store's folder.
            samples: What to write; the same ones when going on.
            frames: Length of the demonstration of samples without one of their own.
            per_shard: Sequences per shard.
        """
        keys = [one.identity.key for one in samples]
        plan = {"keys": keys, "per_shard": per_shard, "frames": frames}
        return cls._write(path, plan, samples, partial(sequence_record, frames=frames), per_shard)
