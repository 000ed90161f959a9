"""Training of NeuROK: presets, batches as tensors, and the saved weights."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Protocol

import numpy as np
import torch

from kin4d.errors import InputError
from kin4d.neurok.config import PRESETS, NeurokConfig
from kin4d.neurok.encoders import PointFeatures
from kin4d.neurok.loss import LossWeights, NeurokBatch, evaluate_neurok, neurok_loss
from kin4d.neurok.model import Neurok
from kin4d.neurok.ood import OodDetector
from kin4d.neurok.pretrained import (
    FILE,
    VERSION,
    neurok_weights_file,
    rename_tensors,
    save_pretrained,
)
from kin4d.training import TrainConfig, load_tensors, train

_OOD_BATCHES = 32  # batches that tell what training shapes look like

PLANS = {
    "tiny": TrainConfig(steps=2_000),
    "small": TrainConfig(steps=20_000),
    "base": TrainConfig(steps=300_000, lr=3e-4, warmup_steps=1000, precision="bf16"),
}


class TrainingPairs(Protocol):
    """What a training sample must have; see `kin4d.objects.pairs.Pairs`."""

    @property
    def points0(self) -> np.ndarray: ...
    @property
    def normals0(self) -> np.ndarray: ...
    @property
    def points1(self) -> np.ndarray: ...
    @property
    def component(self) -> np.ndarray: ...
    @property
    def part(self) -> np.ndarray: ...


def training_batch(pairs: TrainingPairs) -> NeurokBatch:
    """Pairs as tensors."""
    surface = PointFeatures(
        torch.from_numpy(pairs.points0),
        torch.from_numpy(pairs.normals0),
        torch.from_numpy(pairs.component).long(),
    )
    return NeurokBatch(
        surface, torch.from_numpy(pairs.points1), torch.from_numpy(pairs.part).long()
    )


def train_neurok(
    make_batches: Callable[[int, int], Iterator[TrainingPairs]],
    out: str | Path,
    *,
    preset: str = "small",
    config: NeurokConfig | None = None,
    plan: TrainConfig | None = None,
    weights: LossWeights | None = None,
    dev: Iterable[TrainingPairs] = (),
    start: str | Path | None = None,
    data: dict | None = None,
) -> Neurok:
    """Train a model, going on from the checkpoint in `out` if there is one.

    Args:
        make_batches: Function of (process, step) that yields pairs from that step on.
        out: Folder of the run.
        preset: "tiny", "small" or "base".
        config: Instead of the preset's.
        plan: Instead of the preset's.
        weights: Of the loss.
        dev: Held-out pairs that checkpoints are judged by.
        start: Weights to begin from, with a new schedule, instead of chance. They may be of an
            earlier version: what has no place there, or another shape, begins from chance.
        data: What `make_batches` was made of, kept with the weights.
    """
    if preset not in PRESETS:
        raise InputError("there is no such preset", value=preset, allowed=", ".join(PRESETS))
    config, plan = config or PRESETS[preset], plan or PLANS[preset]
    weights = weights or LossWeights()
    torch.manual_seed(plan.seed)
    model = Neurok(config) if start is None else _begin_from(start, config)
    held_out = [training_batch(pairs) for pairs in dev]
    averaged = train(
        model,
        lambda rank, step: map(training_batch, make_batches(rank, step)),
        partial(neurok_loss, weights=weights),
        plan,
        out,
        metadata={
            "model": "neurok",
            "version": VERSION,
            "config": config.to_dict(),
            "loss": asdict(weights),
            "data": data or {},
            **({} if start is None else {"start": Path(start).stem}),
        },
        validate=partial(evaluate_neurok, batches=held_out) if held_out else None,
    )
    model.load_state_dict(averaged)
    model.eval()
    file = Path(out) / FILE
    seen = [training_batch(pairs).surface for pairs in islice(make_batches(0, 0), _OOD_BATCHES)]
    save_pretrained(file, model, OodDetector.of(model, seen), load_tensors(file)[1])
    return model


def _begin_from(start: str | Path, config: NeurokConfig) -> Neurok:
    """A model that takes from earlier weights whatever it has a place for."""
    tensors, metadata = load_tensors(neurok_weights_file(start))
    given = rename_tensors(tensors)
    if metadata.get("config") != config.to_dict():
        raise InputError(
            f"{start} has another config", value=metadata.get("config"), allowed=str(config)
        )
    model = Neurok(config)
    wanted = model.state_dict()
    fits = {k: v for k, v in given.items() if k in wanted and v.shape == wanted[k].shape}
    model.load_state_dict(fits, strict=False)
    fresh = sorted({".".join(k.split(".")[:2]) for k in wanted if k not in fits})
    if fresh:
        print(f"{start} has nothing for {', '.join(fresh)}: from chance", file=sys.stderr)
    return model


def train_config(preset: str, **changes: float | int | str | None) -> TrainConfig:
    """The plan of a preset, with what is not None changed."""
    if preset not in PLANS:
        raise InputError("there is no such preset", value=preset, allowed=", ".join(PLANS))
    given = {name: value for name, value in changes.items() if value is not None}
    return replace(PLANS[preset], **given)
