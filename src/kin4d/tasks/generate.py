"""EpisodeDatasetSpec: the episodes of a store; each depends on the spec and its index alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from kin4d.episodes.curate import QualityFilter, RejectedEpisode, check_episode
from kin4d.episodes.episode import FRAMES
from kin4d.episodes.store import EpisodeStore, episode_record
from kin4d.errors import InputError, Kin4dError
from kin4d.kinematics.arms import load_arm
from kin4d.storage.make_shards import make_shards
from kin4d.storage.sample_id import SampleId
from kin4d.storage.shard import ShardRecord, rejected_lines
from kin4d.storage.store import StoreWriter
from kin4d.tasks.record import VARIANTS, EpisodeSpec, make_episode
from kin4d.tasks.task import TASKS, named_task

BLOCK = ("expert",) * 5 + ("noisy",) * 3 + ("near_miss", "near_hit")
"""Default variants of the episodes of one task with one arm."""
_SEEDS = 1_000_000


@dataclass(frozen=True, kw_only=True)
class EpisodeDatasetSpec:
    """What to make: blocks of episodes, each block one task by one arm.

    By default a block has ten: five expert, three noisy, and a pair of a near miss and a near hit.

    Attributes:
        tasks: Names; see `kin4d.tasks.task.TASKS`.
        arms: Names; see `kin4d.kinematics.arms.ARMS`.
        variants: Of the episodes of a block; see `kin4d.tasks.record.VARIANTS`. A near hit that
            follows a near miss has the same scene.
        count: Episodes.
        seed: Seeds of scenes run from a million times this.
        frames: Of each episode.
        height: Pixels.
        width: Pixels.
        per_shard: Episodes per shard.
    """

    tasks: tuple[str, ...] = tuple(TASKS)
    arms: tuple[str, ...] = ("kin4d_arm",)
    variants: tuple[str, ...] = BLOCK
    count: int = 1000
    seed: int = 0
    frames: int = FRAMES
    height: int = 64
    width: int = 96
    per_shard: int = 50

    def __post_init__(self) -> None:
        for name, least in (("count", 1), ("frames", 2), ("height", 8), ("width", 8)):
            if getattr(self, name) < least:
                raise InputError(name, value=getattr(self, name), allowed=f">= {least}")
        if self.per_shard < 1:
            raise InputError("per_shard", value=self.per_shard, allowed=">= 1")
        if self.seed < 0:
            raise InputError("seed", value=self.seed, allowed=">= 0")
        if not self.tasks or not self.arms or not self.variants:
            raise InputError("no task, arm or variant named", allowed="one or more of each")
        for task in self.tasks:
            named_task(task)
        for variant in self.variants:
            if variant not in VARIANTS:
                raise InputError("variant", value=variant, allowed=", ".join(VARIANTS))

    @property
    def shards(self) -> int:
        """How many."""
        return -(-self.count // self.per_shard)

    @cached_property
    def specs(self) -> Sequence[EpisodeSpec]:
        """All of them, in order."""
        return [self._spec(number) for number in range(self.count)]

    def make(self, number: int) -> list[ShardRecord]:
        """The records of a shard; episodes that cannot be made are recorded as rejected."""
        start = number * self.per_shard
        return [self._record(spec) for spec in self.specs[start : start + self.per_shard]]

    def _spec(self, number: int) -> EpisodeSpec:
        block, position = divmod(number, len(self.variants))
        cycle, task = divmod(block, len(self.tasks))
        # Arms shift by one in every cycle, so that each meets every task.
        arm = self.arms[(task + cycle) % len(self.arms)]
        scenes = self._scenes
        used = scenes[position] + block * (scenes[-1] + 1)
        return EpisodeSpec(
            task=self.tasks[task],
            arm=arm,
            seed=self.seed * _SEEDS + used,
            variant=self.variants[position],
        )

    @cached_property
    def _scenes(self) -> Sequence[int]:
        """Scene of each episode of a block: a pair shares one, every other episode has its own."""
        fresh = [int(pair != ("near_miss", "near_hit")) for pair in pairwise(self.variants)]
        return [0, *accumulate(fresh)]

    def _record(self, spec: EpisodeSpec) -> ShardRecord:
        sample_id = SampleId(
            source="kin4d", category=spec.task, name=spec.name, licence="Apache-2.0", seed=spec.seed
        )
        try:
            episode = make_episode(spec, frames=self.frames, height=self.height, width=self.width)
            check_episode(episode, QualityFilter(frames=self.frames))
        except RejectedEpisode as error:
            return rejected_lines(sample_id, str(error))
        except Kin4dError as error:
            return rejected_lines(sample_id, f"no near miss: {error}")
        return episode_record(episode)


def generate_episodes(
    dataset: EpisodeDatasetSpec, path: str | Path, *, workers: int = 1, cluster: bool = False
) -> EpisodeStore:
    """Make what is missing of a store; call it again after any interruption, or for more of them.

    Args:
        dataset: What to make. With a larger count, a store of full shards grows.
        path: The store's folder.
        workers: Processes; with `cluster`, the size of a cluster started here if none is running.
        cluster: Spread the work over Ray; see `make_shards`.
    """
    for arm in dataset.arms:  # An arm that is not installed is an error now, not in every worker.
        load_arm(arm)
    plan: dict[str, Any] = {
        key: [*value] if isinstance(value, tuple) else value
        for key, value in asdict(dataset).items()
    }
    with StoreWriter.begin(path, plan, EpisodeStore, grows=True) as writer:
        make_shards(dataset, writer, workers=workers, cluster=cluster)
    return EpisodeStore.open(path)
