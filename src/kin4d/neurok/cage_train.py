"""Training of the keypoint cage deformer on the same pairs as NeuROK."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Protocol, cast

import numpy as np
import torch
from torch import Tensor, nn

from kin4d.neurok.cage import VERSION, CageConfig, CageDeformer, cage_sphere, wrap
from kin4d.neurok.mean_value import mean_value_coordinates
from kin4d.training import TrainConfig, train

_SPREAD = 2.0  # weight of keypoints being spread over the shape
_COMMON = 1.0  # weight of influences being what all shapes share
_SPREAD_ONLY = 0.05  # share of training in which keypoints are spread, and nothing else is learned
_COMPARED = 256  # points of the source that are carried and compared


class CagePairs(Protocol):
    """What a training sample must have; see `kin4d.objects.pairs.Pairs`."""

    @property
    def points0(self) -> np.ndarray: ...

    @property
    def points1(self) -> np.ndarray: ...


Batch = tuple[Tensor, Tensor]
"""Source and target [B, N, 3]: different points, each in its own order."""


def cage_batch(pairs: CagePairs) -> Batch:
    """The first half of the points before, and the second half after."""
    half = pairs.points0.shape[1] // 2
    return torch.from_numpy(pairs.points0[:, :half]), torch.from_numpy(pairs.points1[:, half:])


def train_cage(
    make_batches: Callable[[int, int], Iterator[CagePairs]],
    out: str | Path,
    *,
    plan: TrainConfig,
    config: CageConfig | None = None,
    dev: Iterable[CagePairs] = (),
    data: dict | None = None,
) -> CageDeformer:
    """Train a deformer, going on from the checkpoint in `out` if there is one.

    Args:
        make_batches: Function of (process, step) that yields pairs from that step on.
        out: Folder of the run.
        plan: How.
        config: Sizes.
        dev: Held-out pairs that checkpoints are judged by.
        data: What `make_batches` was made of, kept with the weights.
    """
    config = config or CageConfig()
    torch.manual_seed(plan.seed)
    net = CageDeformer(config)
    held_out = [cage_batch(pairs) for pairs in dev]
    averaged = train(
        net,
        lambda rank, step: map(cage_batch, make_batches(rank, step)),
        cage_loss,
        plan,
        out,
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
    """Chamfer distance to the target, with keypoints spread and influences alike."""
    net = cast("CageDeformer", getattr(model, "module", model))
    source, target = batch
    own, target_keypoints = net.keypoints(source), net.keypoints(target)
    spread = chamfer(own, _farthest(source, own.shape[1])) + chamfer(
        target_keypoints, _farthest(target, own.shape[1])
    )
    influence = net.own_influence(source)
    common = influence.square().mean()
    match = chamfer(_carried(net, source, own, target_keypoints, influence), target)
    use = float(done >= _SPREAD_ONLY)
    total = use * match + _SPREAD * spread + _COMMON * common
    return total, {"match": match, "spread": spread, "common": common}


def _carried(
    net: CageDeformer, source: Tensor, own: Tensor, target_keypoints: Tensor, influence: Tensor
) -> Tensor:
    """Some of the source's points, moved by keypoints from `own` to `target_keypoints`."""
    cage, some = wrap(source), source[:, :_COMPARED]
    with torch.no_grad():
        weights = mean_value_coordinates(some, cage, cage_sphere()[1])
    return some + weights @ (net.pull(influence, own, cage) @ (target_keypoints - own))


def chamfer(a: Tensor, b: Tensor) -> Tensor:
    """Mean squared distance to the nearest of the other set, both ways, over a batch."""
    with torch.no_grad():
        gap = torch.cdist(a, b)
        there, back = gap.argmin(2), gap.argmin(1)
    # Only the nearest are differentiated: through all pairs a step takes twice as long.
    rows = torch.arange(len(a))[:, None]
    forth = (a - b[rows, there]).square().sum(-1).mean()
    return forth + (b - a[rows, back]).square().sum(-1).mean()


def evaluate_cage(net: CageDeformer, batches: list[Batch]) -> dict[str, float]:
    """`ratio`: distance to held-out targets, relative to that of doing nothing."""
    after, before = 0.0, 0.0
    for source, target in batches:
        own, target_keypoints = net.keypoints(source), net.keypoints(target)
        moved = _carried(net, source, own, target_keypoints, net.own_influence(source))
        after += float(chamfer(moved, target))
        before += float(chamfer(source[:, :_COMPARED], target))
    return {"ratio": after / before}


@torch.no_grad()
def _farthest(points: Tensor, count: int) -> Tensor:
    """[B, count, 3] of points [B, N, 3], each as far as can be from those before it."""
    rows = torch.arange(len(points))
    chosen = [torch.zeros(len(points), dtype=torch.long)]
    nearest = torch.full(points.shape[:2], torch.inf)
    for _ in range(count - 1):
        gap = (points - points[rows, chosen[-1]][:, None]).square().sum(-1)
        nearest = torch.minimum(nearest, gap)
        chosen.append(nearest.argmax(1))
    return points[rows[:, None], torch.stack(chosen, 1)]
