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
        part: [B, N] int64 rigid part of each point, 0 for the static one, -1 for shapes without
            known parts.
    """

    surface: PointFeatures
    moved: Tensor
    part: Tensor


@dataclass(frozen=True, kw_only=True)
class LossWeights:
    """Weights of the terms; lengths are in unit boxes.

    Attributes:
        kl: KL(posterior || prior) per shape, against the mean squared error per point (lambda of
            the paper).
        distance: Mean distance, so that small and static parts are not neglected.
        assignment: Assignment of points to parts, where these are known.
        target: Squared error of states predicted from target point clouds.
        joint_axes: Negative log likelihood of the parts' motions.
        ramp: Share of training over which `kl` and `distance` rise to full weight.
        target_points: Points of a target.
    """

    kl: float = 1e-4
    distance: float = 0.05
    assignment: float = 0.1
    target: float = 0.5
    joint_axes: float = 0.01
    ramp: float = 0.1
    target_points: int = 128


def neurok_loss(
    model: torch.nn.Module, batch: NeurokBatch, done: float, *, weights: LossWeights
) -> tuple[Tensor, dict[str, Tensor]]:
    """The loss and its terms, when a share `done` of the steps is done."""
    chosen = torch.randperm(batch.moved.shape[1], device=batch.moved.device)[
        : weights.target_points
    ]
    output: ForwardOutput = model(batch.surface, batch.moved, batch.moved[:, chosen], batch.part)
    ramp = min(1.0, done / weights.ramp)
    squared = (output.moved - batch.moved).square().sum(-1)
    distance = ((squared + 1e-4).sqrt() - 1e-2).mean()
    variance, prior = output.log_variance.exp(), output.shape.encoding.mean
    kl = variance + (output.mean - prior).square() - 1 - output.log_variance
    kl = 0.5 * kl.sum((1, 2)).mean()
    assignment = assignment_loss(output.shape.assignment.weights, batch.part)
    target = (output.from_target - batch.moved).square().sum(-1).mean()
    nll = output.mixture.nll(output.twists).mean()
    total = (
        squared.mean()
        + ramp * weights.distance * distance
        + ramp * weights.kl * kl
        + weights.assignment * assignment
        + weights.target * target
        + weights.joint_axes * nll
    )
    terms = {
        "squared": squared.mean(),
        "distance": distance,
        "kl": kl,
        "assignment": assignment,
        "target": target,
        "joint_axes": nll,
    }
    return total, terms


@torch.no_grad()
def evaluate_neurok(model: Neurok, batches: list[NeurokBatch]) -> dict[str, float]:
    """Errors of held-out motions over the true motion, so that no motion at all scores 1.

    `ratio` is of states from the posterior, `guess` of states from target point clouds; `still` is
    the mean motion of static points, in unit boxes.
    """
    reconstructed, guessed, true, still = [], [], [], []
    for batch in batches:
        shape = model.encode(batch.surface)
        order = torch.arange(batch.moved.shape[1] - 1, -1, -1)
        error = (shape.rig.move(model.encode_pose(shape, batch.moved)[0]) - batch.moved).norm(
            dim=-1
        )
        guess = shape.rig.move(model.guess(shape, batch.moved[:, order])) - batch.moved
        motion = (batch.moved - batch.surface.points).norm(dim=-1)
        reconstructed.append(error.mean())
        guessed.append(guess.norm(dim=-1).mean())
        true.append(motion.mean())
        still.append(error[motion < 1e-5])
    mean_motion = torch.stack(true).mean()
    return {
        "ratio": float(torch.stack(reconstructed).mean() / mean_motion),
        "guess": float(torch.stack(guessed).mean() / mean_motion),
        "still": float(torch.cat(still).mean()) if any(len(s) for s in still) else 0.0,
    }
