"""Training of the joint prior."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from kin4d.neurok.joint_loss import JointLossConfig, correct_candidates, joint_loss
from kin4d.neurok.joint_pretrained import MODEL, VERSION
from kin4d.neurok.joint_prior import JointPrior, JointPriorConfig
from kin4d.neurok.piece_batch import JointTargets, PieceBatch
from kin4d.training import TrainConfig, load_tensors, train
from kin4d.training.config import config_of_preset
from kin4d.training.weights import weights_file

Batch = tuple[PieceBatch, JointTargets]

TRAIN_CONFIGS = {
    "tiny": TrainConfig(steps=500),
    "small": TrainConfig(steps=60_000, warmup_steps=300, weight_decay=0.05),
}


def preset_train_config(preset: str, **changes: float | int | None) -> TrainConfig:
    """The train config of a preset, with the changes that are not None."""
    return config_of_preset(TRAIN_CONFIGS, preset, **changes)


def train_joint_prior(
    make_batches: Callable[[int, int], Iterator[Batch]],
    output: str | Path,
    *,
    config: JointPriorConfig,
    train_config: TrainConfig,
    dev: Mapping[str, Sequence[Batch]],
    init_weights: str | Path | None = None,
    data: dict | None = None,
) -> JointPrior:
    """Train a model, resuming from the checkpoint in `output` if there is one.

    Args:
        make_batches: Process and step, to its batches from that step on.
        output: Folder of the run.
        config: Sizes of the model.
        train_config: Steps and rates.
        dev: Held-out batches of several sets, by name.
        init_weights: Weights to start from; tensors that do not fit are drawn at random.
        data: What `make_batches` draws from, kept with the weights.
    """
    loss_config = JointLossConfig()
    torch.manual_seed(train_config.seed)
    model = JointPrior(config)
    if init_weights is not None:
        wanted, (given, _) = model.state_dict(), load_tensors(weights_file(init_weights, MODEL))
        fits = {k: v for k, v in given.items() if k in wanted and v.shape == wanted[k].shape}
        model.load_state_dict(fits, strict=False)

    def loss(wrapped: Any, batch: Batch, _: float) -> tuple[Tensor, dict[str, Tensor]]:
        return joint_loss(wrapped, *batch, loss_config)

    averaged = train(
        model,
        make_batches,
        loss,
        train_config,
        output,
        metadata={
            "model": MODEL,
            "version": VERSION,
            "config": asdict(config),
            "loss": asdict(loss_config),
            "data": data or {},
        },
        validate=lambda found: evaluate_joint_prior(found, dev),
    )
    model.load_state_dict(averaged)
    return model.eval()


@torch.no_grad()
def evaluate_joint_prior(
    model: JointPrior, sets: Mapping[str, Sequence[Batch]]
) -> dict[str, float]:
    """Per set: loss, and shares of pieces, pairs, types and axes that are right."""
    out = {}
    for name, batches in sets.items():
        sums: dict[str, list[float]] = {}
        for batch, targets in batches:
            value, terms = joint_loss(model, batch, targets)
            encoded = model.encode(batch)
            moves = ((encoded.moves > 0) == targets.moves)[batch.mask]
            pairs = targets.moves[:, None] & batch.mask[:, :, None]
            found, truth = (encoded.relation > 0) & pairs, targets.relation & pairs
            overlap = (found & truth).sum() / (found | truth).sum().clamp(min=1)
            joints = model.predict(encoded, targets.parts)
            hinge, slide = correct_candidates(joints, targets, JointLossConfig())
            right = torch.where(targets.slides[:, None], slide, hinge)
            scores = torch.where(targets.slides[:, None], joints.slide, joints.hinge)
            axis = right.gather(1, scores.argmax(1, keepdim=True))
            kind = (joints.types.argmax(1) == 2) == targets.slides
            figures = {
                "loss": value,
                "range": terms["range"],
                "moves": moves.float().mean(),
                "iou": overlap,
                "type": kind.float().mean(),
                "axis": axis.float().mean(),
            }
            for key, number in figures.items():
                sums.setdefault(key, []).append(float(number))
        out |= {f"{name}/{key}": sum(row) / len(row) for key, row in sums.items()}
    return out
