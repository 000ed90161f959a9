"""train_policy: a policy from demonstrations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from kin4d.policies.learned.config import PolicyConfig
from kin4d.policies.learned.demonstrations import Demonstrations
from kin4d.policies.learned.networks import NETWORKS, PolicyInputs, PolicyNetwork
from kin4d.training.loop import TrainConfig, train

MODEL, VERSION = "policy", 1
TRAIN_CONFIGS = {
    "states": TrainConfig(steps=4000, lr=1e-3, ema_decay=0.995, weight_decay=1e-4),
    "images": TrainConfig(steps=3000, lr=1e-3, ema_decay=0.995, weight_decay=1e-4),
}
"""By kind of observations."""
BATCH = {"states": 256, "images": 64}


class PolicyBatch(NamedTuple):
    """B moments and the actions [B, H, 7] that follow."""

    inputs: PolicyInputs
    actions: Tensor


def train_policy(
    demonstrations: Demonstrations,
    output: str | Path,
    *,
    config: PolicyConfig,
    train_config: TrainConfig,
    data: dict[str, Any] | None = None,
) -> PolicyNetwork:
    """Train a policy, resuming from the checkpoint in `output` if there is one.

    Args:
        demonstrations: What it learns.
        output: Folder of the run; `LearnedPolicy` takes it.
        config: Sizes and inputs.
        train_config: Schedule and optimiser.
        data: Description of the demonstrations, kept with the weights.
    """
    torch.manual_seed(train_config.seed)
    network = NETWORKS[config.kind](config)
    _normalise(network, demonstrations)
    images = config.observations == "images"
    rows = demonstrations.seen if images else np.arange(len(demonstrations))

    def make_batches(rank: int, step: int) -> Iterator[PolicyBatch]:
        while True:
            rng = np.random.default_rng([train_config.seed, rank, step])
            yield _batch(demonstrations, rows, rng.integers(len(rows), size=_size), images)
            step += 1

    _size = BATCH[config.observations]
    weights = train(
        _Loss(network),
        make_batches,
        _loss,
        train_config,
        output,
        metadata={
            "model": MODEL,
            "version": VERSION,
            "config": asdict(config),
            "data": {**(data or {}), "moments": len(rows), "batch": _size},
        },
    )
    network.load_state_dict({k.removeprefix("network."): v for k, v in weights.items()})
    return network.eval()


class _Loss(nn.Module):
    """The loss as a module, which runs of several processes wrap."""

    def __init__(self, network: PolicyNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, inputs: PolicyInputs, actions: Tensor) -> Tensor:
        return self.network.loss(inputs, actions)


def _loss(model: nn.Module, batch: PolicyBatch, done: float) -> tuple[Tensor, dict[str, Tensor]]:
    value = model(*batch)
    return value, {}


def _batch(
    demonstrations: Demonstrations, rows: np.ndarray, chosen: np.ndarray, images: bool
) -> PolicyBatch:
    moments, pictures = rows[chosen], {}
    if images:
        pictures = {
            "rgb": torch.from_numpy(demonstrations.rgb[chosen]),
            "points": torch.from_numpy(demonstrations.points[chosen]),
        }
    else:
        pictures = {"bodies": torch.from_numpy(demonstrations.bodies[moments])}
    inputs = PolicyInputs(
        torch.from_numpy(demonstrations.proprioception[moments]),
        torch.from_numpy(demonstrations.prompt[moments]),
        **pictures,
    )
    return PolicyBatch(inputs, torch.from_numpy(demonstrations.actions[moments]))


def _normalise(network: PolicyNetwork, demonstrations: Demonstrations) -> None:
    """Scales of inputs and actions, kept with the weights."""
    inputs = np.concatenate([demonstrations.proprioception, demonstrations.bodies], axis=1)
    network.encoder.get_buffer("mean").copy_(torch.from_numpy(inputs.mean(0)))
    network.encoder.get_buffer("scale").copy_(torch.from_numpy(inputs.std(0).clip(1e-2)))
    actions = np.abs(demonstrations.actions[..., :6]).max((0, 1))
    reach = np.array([actions[:3].max()] * 3 + [actions[3:].max()] * 3).clip(1e-3)
    low, high = np.array([*-reach, 0.0]), np.array([*reach, 1.0])
    network.get_buffer("low").copy_(torch.from_numpy(low))
    network.get_buffer("high").copy_(torch.from_numpy(high))
