"""Loss and validation metrics of NeuROK."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from kin4d.neurok.encoders import PointFeatures
from kin4d.neurok.model import ForwardOutput, Neurok
from kin4d.training.assignment_loss import assignment_loss


@dataclass(frozen=True, eq=False)
class NeurokBatch:
    """B shapes in two states.

    Attributes:
        surface: The first state.
        moved: [B, N, 3] the same points in the second.
        part: [B, N] int64 rigid part of each point, 0 for the one that never moves, -1 where
            there are none.
    """

    surface: PointFeatures
    moved: Tensor
    part: Tensor


@dataclass(frozen=True, kw_only=True)
class LossWeights:
    """Weights of the terms; lengths are in unit boxes.

    Attributes:
        divergence: Of KL(posterior || prior) per shape, against the mean squared error per point
            (lambda of the paper).
        robust: Of the mean distance, which keeps small parts and still ones from being neglected.
        parting: Of telling the parts assignment, where they are known.
        guess: Of the squared error of states guessed from targets.
        screws: Of how unlikely the motions of parts are, given what is expected of them.
        rise: Share of training over which divergence and robust rise to full weight.
        seen: Points of the target.
    """

    divergence: float = 1e-4
    robust: float = 0.05
    parting: float = 0.1
    guess: float = 0.5
    screws: float = 0.01
    rise: float = 0.1
    seen: int = 128


def neurok_loss(
    model: torch.nn.Module, batch: NeurokBatch, done: float, *, weights: LossWeights
) -> tuple[Tensor, dict[str, Tensor]]:
    """The loss and its terms, when a share `done` of training is behind."""
    some = torch.randperm(batch.moved.shape[1], device=batch.moved.device)[: weights.seen]
    output: ForwardOutput = model(batch.surface, batch.moved, batch.moved[:, some], batch.part)
    rise = min(1.0, done / weights.rise)
    squared = (output.moved - batch.moved).square().sum(-1)
    distance = ((squared + 1e-4).sqrt() - 1e-2).mean()
    variance, prior = output.log_variance.exp(), output.shape.encoding.mean
    divergence = variance + (output.mean - prior).square() - 1 - output.log_variance
    divergence = 0.5 * divergence.sum((1, 2)).mean()
    assignment = assignment_loss(output.shape.assignment.weights, batch.part)
    guessed = (output.guessed - batch.moved).square().sum(-1).mean()
    nll = output.mixture.nll(output.twists).mean()
    total = (
        squared.mean()
        + rise * weights.robust * distance
        + rise * weights.divergence * divergence
        + weights.parting * assignment
        + weights.guess * guessed
        + weights.screws * nll
    )
    terms = {
        "squared": squared.mean(),
        "distance": distance,
        "divergence": divergence,
        "parting": assignment,
        "guessed": guessed,
        "screws": nll,
    }
    return total, terms


@torch.no_grad()
def evaluate_neurok(model: Neurok, batches: list[NeurokBatch]) -> dict[str, float]:
    """How well held-out motions are reconstructed back, against not moving at all (which scores 1).

    `ratio` is by the posterior, `guess` from unordered targets; `still` is how far still points are
    moved, as a share of the shape's size.
    """
    reconstructed, guessed, true, still = [], [], [], []
    for batch in batches:
        shape = model.encode(batch.surface)
        order = torch.arange(batch.moved.shape[1] - 1, -1, -1)
        error = (shape.rig.move(model.encode_pose(shape, batch.moved)[0]) - batch.moved).norm(
            dim=-1
        )
        guess = shape.rig.move(model.guess(shape, batch.moved[:, order])) - batch.moved
        far = (batch.moved - batch.surface.points).norm(dim=-1)
        reconstructed.append(error.mean())
        guessed.append(guess.norm(dim=-1).mean())
        true.append(far.mean())
        still.append(error[far < 1e-5])
    motion = torch.stack(true).mean()
    return {
        "ratio": float(torch.stack(reconstructed).mean() / motion),
        "guess": float(torch.stack(guessed).mean() / motion),
        "still": float(torch.cat(still).mean()) if any(len(s) for s in still) else 0.0,
    }
