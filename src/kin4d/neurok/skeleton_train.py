"""Training of the network that finds joints along centre lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.spatial import KDTree
from torch import Tensor
from torch.nn import functional as F

from kin4d.geometry.curve_skeleton import CurveSkeleton
from kin4d.neurok.skeleton_joints import (
    MODEL,
    VERSION,
    SkeletonJoints,
    SkeletonJointsConfig,
    TokenBatch,
)
from kin4d.neurok.skeleton_tokens import SkeletonTokens, skeleton_tokens
from kin4d.training import TrainConfig, train

NEAR = (0.03, 0.06)
"""Of the size: a token nearer to a joint than the first is at it, one farther than the second not;
between, its target falls from one to zero."""

TRAIN_CONFIG = TrainConfig(
    steps=600, lr=2e-3, warmup_steps=30, weight_decay=0.05, decay=0.8, ema_decay=0.99
)

_NOISE = 0.05  # of a feature's spread, added in training


@dataclass(frozen=True, eq=False, kw_only=True)
class TokenTargets:
    """A shape's tokens and what they should say.

    Attributes:
        tokens: N of them.
        near: [N] 0 to 1, whether a joint is near.
    """

    tokens: SkeletonTokens
    near: np.ndarray

    @classmethod
    def of(cls, skeleton: CurveSkeleton, size: float, joints: np.ndarray) -> TokenTargets:
        """Of a shape with true joints [J, 3] (m)."""
        tokens = skeleton_tokens(skeleton, size)
        near = np.zeros(len(tokens))
        if len(joints):
            gap = np.asarray(KDTree(joints).query(skeleton.points[tokens.node])[0]) / size
            near = np.clip((NEAR[1] - gap) / (NEAR[1] - NEAR[0]), 0.0, 1.0)
        return cls(tokens=tokens, near=near.astype(np.float32))


Batch = tuple[TokenBatch, Tensor]


def batches(
    sets: Sequence[Sequence[TokenTargets]],
    shares: Sequence[float],
    *,
    batch: int,
    seed: int,
    step: int = 0,
) -> Iterator[Batch]:
    """Endless batches; each shape is of a set as often as its share says, half of them turned."""
    while True:
        rng = np.random.default_rng([seed, step])
        chosen = rng.choice(len(sets), batch, p=np.array(shares) / np.sum(shares))
        rows = [sets[i][int(rng.integers(len(sets[i])))] for i in chosen]
        found, near = padded(rows)
        turned = rng.random(batch) < 0.5
        for row in np.flatnonzero(turned):
            found.features[row] *= torch.from_numpy(rows[row].tokens.flips)
        yield found, near
        step += 1


def padded(rows: Sequence[TokenTargets]) -> Batch:
    """The batch [B, N] of some shapes, and its targets."""
    found = TokenBatch.of([row.tokens for row in rows])
    near = torch.zeros(found.mask.shape)
    for i, row in enumerate(rows):
        near[i, : len(row.near)] = torch.from_numpy(row.near)
    return found, near


def train_skeleton_joints(
    sets: Sequence[Sequence[TokenTargets]],
    shares: Sequence[float],
    output: str | Path,
    *,
    batch: int = 64,
    train_config: TrainConfig = TRAIN_CONFIG,
    dev: Sequence[TokenTargets] = (),
    threshold: float = 0.5,
    apart: float = 0.06,
    data: dict[str, Any] | None = None,
) -> SkeletonJoints:
    """Train a network, resuming from the checkpoint in `output` if there is one.

    Args:
        sets: Sets of shapes.
        shares: Of the sets, in a batch.
        output: Folder of the run.
        batch: Shapes in a step.
        train_config: Steps and rates.
        dev: Held-out shapes.
        threshold: Kept with the weights; see `JointFinder`.
        apart: Likewise.
        data: Said of the data, kept with the weights.
    """
    some = [one.tokens for rows in sets for one in rows]
    features = np.concatenate([one.features for one in some])
    config = SkeletonJointsConfig(features=features.shape[1])
    torch.manual_seed(train_config.seed)
    model = SkeletonJoints(config)
    model.mean.copy_(torch.from_numpy(features.mean(0)))
    model.scale.copy_(torch.from_numpy(np.maximum(features.std(0), 1e-3)))

    def loss(wrapped: Any, given: Batch, _: float) -> tuple[Tensor, dict[str, Tensor]]:
        found, near = given
        noise = _NOISE * model.scale * torch.randn_like(found.features)
        value = token_loss(wrapped(TokenBatch(found.features + noise, found.mask)),
                           near, found.mask)  # fmt: skip
        return value, {}

    averaged = train(
        model,
        lambda process, step: batches(
            sets, shares, batch=batch, seed=train_config.seed + 7919 * process, step=step
        ),
        loss,
        train_config,
        output,
        metadata={
            "model": MODEL,
            "version": VERSION,
            "config": asdict(config),
            "threshold": threshold,
            "apart": apart,
            "data": data or {},
        },
        validate=lambda found: {"loss": dev_loss(found, dev)} if dev else {},
    )
    model.load_state_dict(averaged)
    return model.eval()


def token_loss(logits: Tensor, near: Tensor, mask: Tensor) -> Tensor:
    """Mean cross entropy of tokens [B, N] that are there."""
    each = F.binary_cross_entropy_with_logits(logits, near, reduction="none")
    return (each * mask).sum() / mask.sum()


@torch.no_grad()
def dev_loss(model: SkeletonJoints, rows: Sequence[TokenTargets]) -> float:
    """The mean loss of some shapes."""
    model.eval()
    losses = []
    for row in rows:
        found, near = padded([row])
        losses.append(float(token_loss(model(found), near, found.mask)))
    return float(np.mean(losses))
