"""`kin4d data episodes`: robots at tasks in simulation, as a store of episodes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from kin4d.cli.output import print_result
from kin4d.cli.ranges import Count, Seed, Workers


@dataclass(frozen=True)
class DataEpisodes:
    """Simulate robots doing tasks; run the same command again to resume."""

    output: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """Folder of the store."""
    count: Count = 1000
    """Number of episodes."""
    task: tuple[str, ...] = ()
    """Only these; run with an unknown name to see them all."""
    robot: tuple[str, ...] = ("kin4d_arm",)
    """Arms; run with an unknown name to see them all."""
    variants: tuple[str, ...] = ()
    """In this order: expert, noisy, near_miss, near_hit; a near hit that follows a near miss has
    the same scene. Default: five expert, three noisy, and a pair."""
    seed: Seed = 0
    """Other seeds give other scenes."""
    size: tuple[Count, Count] = (96, 64)
    """Width and height in pixels."""
    frames: Count = 49
    """Of each episode, spread evenly over its time."""
    per_shard: Count = 50
    """Episodes that are finished together."""
    workers: Workers = 2
    """Processes."""
    cluster: bool = False
    """Work on Ray: the cluster RAY_ADDRESS names, or one started on this machine."""
    json: bool = False
    """Print JSON for machines."""

    def run(self) -> None:
        from kin4d.tasks.generate import BLOCK, EpisodeDatasetSpec, generate_episodes
        from kin4d.tasks.task import TASKS

        dataset = EpisodeDatasetSpec(
            tasks=self.task or tuple(TASKS),
            arms=self.robot,
            variants=self.variants or BLOCK,
            count=self.count,
            seed=self.seed,
            frames=self.frames,
            height=self.size[1],
            width=self.size[0],
            per_shard=self.per_shard,
        )
        store = generate_episodes(dataset, self.output, workers=self.workers, cluster=self.cluster)
        done = sum(bool(line["success"]) for line in store.lines)
        data = {
            "written": str(self.output),
            "episodes": len(store),
            "successes": done,
            "dropped": dict(store.reasons),
        }
        text = f"{len(store)} episodes in {self.output}, {done} of them successes"
        if store.reasons:
            reasons = ", ".join(f"{count} {reason}" for reason, count in store.reasons.items())
            text += f"; rejected: {reasons}"
        print_result(text, data, as_json=self.json)
