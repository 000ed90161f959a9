"""Train NeuROK: presets, tensors of training pairs, and the saved weights."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
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

_OOD_BATCHES = 32  # batches of training shapes that the out-of-distribution detector is fitted to

TRAIN_CONFIGS = {
    "tiny": TrainConfig(steps=2_000),
    "small": TrainConfig(steps=20_000),
    "base": TrainConfig(steps=300_000, lr=3e-4, warmup_steps=1000, precision="bf16"),
}


class TrainingPairs(Protocol):
    """B shapes in two states, as arrays; see `kin4d.objects.pairs.Pairs`."""

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
    output: str | Path,
    *,
    preset: str = "small",
    config: NeurokConfig | None = None,
    train_config: TrainConfig | None = None,
    loss_weights: LossWeights | None = None,
    dev: Iterable[TrainingPairs] = (),
    init_weights: str | Path | None = None,
    data: dict | None = None,
) -> Neurok:
    """Train a model, resuming from the checkpoint in `output` if there is one.

    Args:
        make_batches: Function of (process, step) that yields pairs from that step on.
        output: Folder of the run.
        preset: "tiny", "small" or "base".
        config: Sizes and architecture, instead of the preset's.
        train_config: Schedule and optimiser, instead of the preset's.
        loss_weights: Weights of the loss terms.
        dev: Held-out pairs that checkpoints are validated on.
        init_weights: Initial weights, with a new schedule; random if None. They may be of an
            earlier version: tensors that are missing there, or of another shape, are random.
        data: Description of the training data, kept with the weights.
    """
    if preset not in PRESETS:
        raise InputError("there is no such preset", value=preset, allowed=", ".join(PRESETS))
    config, train_config = config or PRESETS[preset], train_config or TRAIN_CONFIGS[preset]
    loss_weights = loss_weights or LossWeights()
    torch.manual_seed(train_config.seed)
    model = Neurok(config) if init_weights is None else _initial_model(init_weights, config)
    held_out = [training_batch(pairs) for pairs in dev]
    averaged = train(
        model,
        lambda rank, step: map(training_batch, make_batches(rank, step)),
        partial(neurok_loss, weights=loss_weights),
        train_config,
        output,
        metadata={
            "model": "neurok",
            "version": VERSION,
            "config": config.to_dict(),
            "loss": asdict(loss_weights),
            "data": data or {},
            **({} if init_weights is None else {"init_weights": Path(init_weights).stem}),
        },
        validate=partial(evaluate_neurok, batches=held_out) if held_out else None,
    )
    model.load_state_dict(averaged)
    model.eval()
    file = Path(output) / FILE
    shapes = [training_batch(pairs).surface for pairs in islice(make_batches(0, 0), _OOD_BATCHES)]
    save_pretrained(file, model, OodDetector.of(model, shapes), load_tensors(file)[1])
    return model


def _initial_model(init_weights: str | Path, config: NeurokConfig) -> Neurok:
    """A model initialised with all tensors of earlier weights that fit."""
    tensors, metadata = load_tensors(neurok_weights_file(init_weights))
    given = rename_tensors(tensors)
    if metadata.get("config") != config.to_dict():
        raise InputError(
            f"the model config of {init_weights} differs from that to train",
            value=metadata.get("config"),
            allowed=str(config.to_dict()),
            hint="choose its preset",
        )
    model = Neurok(config)
    wanted = model.state_dict()
    fits = {k: v for k, v in given.items() if k in wanted and v.shape == wanted[k].shape}
    model.load_state_dict(fits, strict=False)
    fresh = sorted({".".join(k.split(".")[:2]) for k in wanted if k not in fits})
    if fresh:
        print(f"{init_weights} lacks {', '.join(fresh)}: initialised at random", file=sys.stderr)
    return model
