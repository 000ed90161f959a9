"""Train the keypoint cage deformer, a baseline, on the same pairs as NeuROK."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Protocol, cast

import numpy as np
import torch
from torch import Tensor, nn

from kin4d.neurok.cage import VERSION, CageConfig, CageDeformer, cage_sphere, fit_cage
from kin4d.neurok.mean_value_coordinates import mean_value_coordinates
from kin4d.training import TrainConfig, train
from kin4d.training.loop import unwrapped

_SPREAD_WEIGHT = 2.0  # of the keypoints' distance from farthest-point samples
_INFLUENCE_WEIGHT = 1.0  # of the squared influence that differs from the one of all shapes
_SPREAD_ONLY = 0.05  # share of training with the spread loss alone
_MATCHED_POINTS = 256  # points of the source in the Chamfer distance


class CagePairs(Protocol):
    """Points of B shapes in two states, as arrays; see `kin4d.objects.pairs.Pairs`."""

    @property
    def points0(self) -> np.ndarray: ...

    @property
    def points1(self) -> np.ndarray: ...


Batch = tuple[Tensor, Tensor]
"""Source and target [B, N, 3]: different surface points, without correspondence."""


def cage_batch(pairs: CagePairs) -> Batch:
    """The first half of the points in the first state, and the second half in the second."""
    half = pairs.points0.shape[1] // 2
    return torch.from_numpy(pairs.points0[:, :half]), torch.from_numpy(pairs.points1[:, half:])


def train_cage(
    make_batches: Callable[[int, int], Iterator[CagePairs]],
    output: str | Path,
    *,
    train_config: TrainConfig,
    config: CageConfig | None = None,
    dev: Iterable[CagePairs] = (),
    data: dict | None = None,
) -> CageDeformer:
    """Train a deformer, resuming from the checkpoint in `output` if there is one.

    Args:
        make_batches: Function of (process, step) that yields pairs from that step on.
        output: Folder of the run.
        train_config: Schedule and optimiser.
        config: Sizes of the networks.
        dev: Held-out pairs that checkpoints are validated on.
        data: Description of the training data, kept with the weights.
    """
    config = config or CageConfig()
    torch.manual_seed(train_config.seed)
    net = CageDeformer(config)
    held_out = [cage_batch(pairs) for pairs in dev]
    averaged = train(
        net,
        lambda rank, step: map(cage_batch, make_batches(rank, step)),
        cage_loss,
        train_config,
        output,
        metadata={
            "model": "cage",
            "version": VERSION,
            "config": config.to_dict(),
            "data": data or {},
        },
        validate=partial(evaluate_cage, batches=held_out) if held_out else None,
    )
    net.load_state_dict(averaged)
    return net.eval()


def cage_loss(model: nn.Module, batch: Batch, done: float) -> tuple[Tensor, dict[str, Tensor]]:
    """Chamfer distance to the target, spread of keypoints, and size of the shape's influence."""
    net = cast("CageDeformer", unwrapped(model))
    source, target = batch
    own, target_keypoints = net.keypoints(source), net.keypoints(target)
    spread = chamfer(own, _farthest(source, own.shape[1])) + chamfer(
        target_keypoints, _farthest(target, own.shape[1])
    )
    influence = net.own_influence(source)
    regularisation = influence.square().mean()
    match = chamfer(_deformed(net, source, own, target_keypoints, influence), target)
    use = float(done >= _SPREAD_ONLY)
    total = use * match + _SPREAD_WEIGHT * spread + _INFLUENCE_WEIGHT * regularisation
    return total, {"match": match, "spread": spread, "influence": regularisation}


def _deformed(
    net: CageDeformer, source: Tensor, own: Tensor, target_keypoints: Tensor, influence: Tensor
) -> Tensor:
    """The first source points, deformed by keypoints that move from `own` to `target_keypoints`."""
    cage, points = fit_cage(source), source[:, :_MATCHED_POINTS]
    with torch.no_grad():
        weights = mean_value_coordinates(points, cage, cage_sphere()[1])
    return points + weights @ (net.pull(influence, own, cage) @ (target_keypoints - own))


def chamfer(a: Tensor, b: Tensor) -> Tensor:
    """Chamfer distance: mean squared distance to the nearest point of the other set, both sets."""
    with torch.no_grad():
        distance = torch.cdist(a, b)
        nearest_b, nearest_a = distance.argmin(2), distance.argmin(1)
    # Gradients through the nearest pairs alone: through all pairs a step takes twice as long.
    rows = torch.arange(len(a))[:, None]
    forward = (a - b[rows, nearest_b]).square().sum(-1).mean()
    return forward + (b - a[rows, nearest_a]).square().sum(-1).mean()


def evaluate_cage(net: CageDeformer, batches: list[Batch]) -> dict[str, float]:
    """`ratio`: Chamfer distance to held-out targets, over that of the undeformed source."""
    after, before = 0.0, 0.0
    for source, target in batches:
        own, target_keypoints = net.keypoints(source), net.keypoints(target)
        moved = _deformed(net, source, own, target_keypoints, net.own_influence(source))
        after += float(chamfer(moved, target))
        before += float(chamfer(source[:, :_MATCHED_POINTS], target))
    return {"ratio": after / before}


@torch.no_grad()
def _farthest(points: Tensor, count: int) -> Tensor:
    """[B, count, 3] farthest-point samples of points [B, N, 3]."""
    rows = torch.arange(len(points))
    chosen = [torch.zeros(len(points), dtype=torch.long)]
    nearest = torch.full(points.shape[:2], torch.inf)
    for _ in range(count - 1):
        gap = (points - points[rows, chosen[-1]][:, None]).square().sum(-1)
        nearest = torch.minimum(nearest, gap)
        chosen.append(nearest.argmax(1))
    return points[rows[:, None], torch.stack(chosen, 1)]
