"""Generation: a plan of objects, made into a store by this process, many, or a cluster.

A plan says what every shard holds, and a shard is made from the plan and its number alone. So it
does not matter who makes it, or in which order, or how often the work was interrupted.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from kin4d.errors import InputError, Kin4dError
from kin4d.objects.sequence_io import sequence_record
from kin4d.objects.sequence_store import SequenceStore
from kin4d.objects.source_registry import named_source
from kin4d.objects.sources import SEEDS, ProceduralSource
from kin4d.storage.make_shards import make_shards
from kin4d.storage.sample_id import SampleId
from kin4d.storage.shard import ShardRecord, rejected_lines
from kin4d.storage.store import StoreWriter


@dataclass(frozen=True, kw_only=True)
class DatasetSpec:
    """What to make.

    Attributes:
        sources: Names; see `kin4d.objects.source_registry`.
        categories: Only these; all if empty.
        count: Sequences, shared evenly between the sources; a list of objects may have fewer.
        seed: Seeds of objects run from a million times this.
        frames: Length of the motions of articulated objects.
        per_shard: Sequences per shard.
    """

    sources: tuple[str, ...] = ("articulated",)
    categories: tuple[str, ...] = ()
    count: int = 1000
    seed: int = 0
    frames: int = 16
    per_shard: int = 32

    def __post_init__(self) -> None:
        for name in ("count", "frames", "per_shard"):
            if getattr(self, name) < 1:
                raise InputError(name, value=getattr(self, name), allowed=">= 1")
        if not 0 <= self.seed < SEEDS // 1_000_000:
            allowed = f"0 to {SEEDS // 1_000_000 - 1}"
            raise InputError("seed", value=self.seed, allowed=allowed)
        if not self.sources:
            raise InputError("no source named", allowed="one or more")

    @property
    def shards(self) -> int:
        """How many."""
        return -(-len(self._items) // self.per_shard)

    def make(self, number: int) -> list[ShardRecord]:
        """The records of a shard; objects that cannot be made are recorded as dropped."""
        start = number * self.per_shard
        return [self._record(*item) for item in self._items[start : start + self.per_shard]]

    def identities(self) -> list[SampleId]:
        """Who will be made, in order."""
        return [self._identity(*item) for item in self._items]

    @cached_property
    def _sources(self) -> list[Any]:
        return [named_source(name) for name in self.sources]

    @cached_property
    def _items(self) -> list[tuple[int, str, int]]:
        """(source, category, seed) for what is made, (source, "", position) for what is listed."""
        items, known = [], set()
        for source_index, source in enumerate(self._sources):
            share = self.count // len(self._sources)
            share += source_index < self.count % len(self._sources)
            if isinstance(source, ProceduralSource):
                wanted = [
                    c for c in source.categories if not self.categories or c in self.categories
                ]
                known |= set(source.categories)
                for i in range(share if wanted else 0):
                    seed = self.seed * 1_000_000 + i // len(wanted)
                    items.append((source_index, wanted[i % len(wanted)], seed))
            else:
                listed = [who.category for who in source.identities]
                known |= set(listed)
                chosen = [
                    i for i, c in enumerate(listed) if not self.categories or c in self.categories
                ]
                share = min(share, len(chosen))
                # Spread over the list, which goes file by file and kind by kind.
                items += [
                    (source_index, "", chosen[i * len(chosen) // share]) for i in range(share)
                ]
        unknown = sorted(set(self.categories) - known)
        if unknown:
            raise InputError(
                "no source has such a category", value=unknown[0], allowed=", ".join(sorted(known))
            )
        return items

    def _record(self, source_index: int, category: str, number: int) -> ShardRecord:
        source = self._sources[source_index]
        seeded = isinstance(source, ProceduralSource)
        try:
            sample = source.make(category, number) if seeded else source.load(number)
        except Kin4dError as error:
            return rejected_lines(self._identity(source_index, category, number), str(error))
        return sequence_record(sample, frames=self.frames)

    def _identity(self, source_index: int, category: str, number: int) -> SampleId:
        source = self._sources[source_index]
        if isinstance(source, ProceduralSource):
            return source.identity(category, number)
        return source.identities[number]


def generate_objects(
    plan: DatasetSpec, path: str | Path, *, workers: int = 1, cluster: bool = False
) -> SequenceStore:
    """Make what is missing of a store; call it again after any interruption.

    Args:
        plan: What to make.
        path: The store's folder.
        workers: Processes; with `cluster`, the size of a cluster started here if none is running.
        cluster: Spread the work over Ray (extra ``[cluster]``): the cluster that the environment
            variable RAY_ADDRESS names, or one on this machine.
    """
    plan.identities()  # an unknown source or category is an error before there is a store
    with StoreWriter.begin(path, _json(plan), SequenceStore) as writer:
        make_shards(plan, writer, workers=workers, cluster=cluster)
    return SequenceStore.open(path)


def _json(plan: DatasetSpec) -> dict[str, Any]:
    return {k: [*v] if isinstance(v, tuple) else v for k, v in asdict(plan).items()}
