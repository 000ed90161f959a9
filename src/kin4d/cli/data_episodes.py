"""`kin4d data episodes`: robots at tasks in simulation, as a store of episodes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from kin4d.cli.output import print_result


@dataclass(frozen=True)
class DataEpisodes:
    """Make episodes of robots at tasks; run the same command again to go on after a stop."""

    output: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """Folder of the store."""
    count: int = 1000
    """Episodes: half done well, the others with noise of some grade, or missed by a hair."""
    task: tuple[str, ...] = ()
    """Only these; run with an unknown name to see them all."""
    robot: tuple[str, ...] = ("sketch",)
    """Arms; run with an unknown name to see them all."""
    kind: tuple[str, ...] = ()
    """Kinds of takes, in this order: expert, noise, miss, hit; a hit that follows a miss is of the
    same scene. By default five experts, three with noise, and a pair."""
    seed: int = 0
    """Other seeds give other scenes."""
    size: tuple[int, int] = (96, 64)
    """Width and height in pixels."""
    frames: int = 49
    """Of each episode, spread evenly over its time."""
    per_shard: int = 50
    """Episodes that are finished together."""
    workers: int = 2
    """Processes."""
    cluster: bool = False
    """Work on Ray: the cluster RAY_ADDRESS names, or one started on this machine."""
    json: bool = False
    """Print JSON for machines."""

    def run(self) -> None:
        from kin4d.tasks.generate import BLOCK, EpisodeDatasetSpec, generate_episodes
        from kin4d.tasks.task import TASKS

        plan = EpisodeDatasetSpec(
            tasks=self.task or tuple(TASKS),
            arms=self.robot,
            kinds=self.kind or BLOCK,
            count=self.count,
            seed=self.seed,
            frames=self.frames,
            height=self.size[1],
            width=self.size[0],
            per_shard=self.per_shard,
        )
        store = generate_episodes(plan, self.output, workers=self.workers, cluster=self.cluster)
        done = sum(bool(line["success"]) for line in store.lines)
        data = {
            "written": str(self.output),
            "episodes": len(store),
            "successes": done,
            "dropped": dict(store.reasons),
        }
        text = f"{len(store)} episodes in {self.output}, {done} of them successes"
        if store.reasons:
            left = ", ".join(f"{count} {reason}" for reason, count in store.reasons.items())
            text += f"; left out: {left}"
        print_result(text, data, as_json=self.json)
