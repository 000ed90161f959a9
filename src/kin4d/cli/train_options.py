"""Options that all `kin4d train` commands share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from kin4d.cli.ranges import Count, LearningRate, Seconds, Seed, Threads

PROCESS_SEED = 7919
"""Added to the seed per process, so that no two share a stream."""


@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """Options of a training run; a command adds its own."""

    output: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """Folder of the run: checkpoint, weights, logs."""
    steps: Count | None = None
    """Instead of the preset's; may be changed when resuming."""
    lr: LearningRate | None = None
    """Learning rate, instead of the preset's."""
    seed: Seed = 0
    """Of weights, data and noise."""
    threads: Threads = 1
    """CPU threads of the networks; two beside another busy program are slower than one."""
    save_every: Seconds = 180.0
    """Seconds between checkpoints."""
    json: bool = False
    """Print JSON for machines."""

    @property
    def changes(self) -> dict[str, Any]:
        """To the train config of a preset."""
        given = {"steps": self.steps, "lr": self.lr}
        given = {name: value for name, value in given.items() if value is not None}
        return {**given, "seed": self.seed, "save_every": self.save_every}


@dataclass(frozen=True, kw_only=True)
class EpisodeTrainingOptions(TrainingOptions):
    """Options of a run on episodes."""

    episodes: tuple[Path, ...]
    """One store or several; see `kin4d data episodes`."""

    @property
    def stores(self) -> str:
        """Their names, for messages."""
        return ", ".join(str(path) for path in self.episodes)
