"""Training the networks of a rigid world, each on its own, from lessons of one kind."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import torch

from kin4d.training import Plan, train
from kin4d.world.rigid.lesson import Lesson, windows
from kin4d.world.rigid.mover import Mover, MoverConfig, judge_mover, mover_loss

VERSION = 1


def train_mover(
    lessons: Sequence[Lesson],
    out: str | Path,
    *,
    plan: Plan,
    config: MoverConfig | None = None,
    dev: Sequence[Lesson] = (),
    batch: int = 48,
    length: int = 8,
    data: dict | None = None,
) -> Mover:
    """Train a mover, going on from the checkpoint in `out` if there is one.

    Args:
        lessons: What to learn from.
        out: Folder of the run.
        plan: How.
        config: Sizes.
        dev: Held-out lessons that checkpoints are judged by.
        batch: Windows per step and process.
        length: Frames of a window.
        data: What the lessons were made of, kept with the weights.
    """
    torch.manual_seed(plan.seed)
    config = config or MoverConfig()
    model = Mover(config)
    averaged = train(
        model,
        lambda rank, step: windows(
            lessons, batch=batch, length=length, seed=plan.seed + 7919 * rank, step=step
        ),
        mover_loss,
        plan,
        out,
        about={
            "model": "mover",
            "version": VERSION,
            "config": config.to_dict(),
            "data": {**(data or {}), "batch": batch, "length": length},
        },
        validate=partial(judge_mover, lessons=dev) if dev else None,
    )
    model.load_state_dict(averaged)
    return model.eval()
