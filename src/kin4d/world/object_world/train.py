"""Train the networks of the object world model, each separately."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from kin4d.training import TrainConfig, load_tensors, train
from kin4d.training.loop import Loss
from kin4d.training.weights import check_state_dict, read_weights, weights_file
from kin4d.world.object_world.depth import (
    DepthBatch,
    DepthConfig,
    DepthNet,
    depth_loss,
    evaluate_depth,
)
from kin4d.world.object_world.dynamics import DynamicsConfig, PartDynamics
from kin4d.world.object_world.dynamics_loss import dynamics_loss, evaluate_dynamics
from kin4d.world.object_world.dynamics_sample import DynamicsSample
from kin4d.world.object_world.dynamics_windows import sample_windows
from kin4d.world.object_world.refinement import (
    RefineBatch,
    RefineConfig,
    RefineNet,
    evaluate_refinement,
    refine_loss,
)
from kin4d.world.object_world.segmentation import (
    PartSegmenter,
    SegBatch,
    SegmenterConfig,
    evaluate_segmentation,
    segmentation_loss,
)

_Model = TypeVar("_Model", bound=nn.Module)

WORLD, VERSION = "object world", 1
"""Model name and format version in the metadata of joined weights."""
TRAIN_CONFIGS = {
    "depth": TrainConfig(steps=4_000, lr=2e-3),
    "dynamics": TrainConfig(steps=8_000, warmup_steps=50),
    "segmentation": TrainConfig(steps=4_000, lr=2e-3),
    "refinement": TrainConfig(steps=20_000, lr=2e-3),
}
_NETWORK_NAMES: dict[type[nn.Module], str] = {
    DepthNet: "depth",
    PartSegmenter: "segmentation",
    PartDynamics: "dynamics",
    RefineNet: "refinement",
}
_PROCESS_SEED = 7919  # so that no two processes share a random stream


def train_dynamics(
    samples: Sequence[DynamicsSample],
    output: str | Path,
    *,
    train_config: TrainConfig,
    config: DynamicsConfig | None = None,
    dev: Sequence[DynamicsSample] = (),
    batch: int = 24,
    length: int = 20,
    init_weights: str | Path | None = None,
    data: dict | None = None,
) -> PartDynamics:
    """Train the part dynamics, resuming from the checkpoint in `output` if there is one.

    Args:
        samples: Training samples.
        output: Folder of the run.
        train_config: Schedule and optimiser.
        config: Sizes and inputs of the network.
        dev: Held-out samples that validate checkpoints.
        batch: Windows per step and process.
        length: Frames of a window: longer ones train the network on its own errors.
        init_weights: Initial weights, with a new schedule: of a dynamics network or of a whole
            world model, possibly trained with fewer inputs.
        data: Description of the samples, kept with the weights.
    """
    torch.manual_seed(train_config.seed)
    model = PartDynamics(config or DynamicsConfig())
    if init_weights is not None:
        tensors = _initial_tensors(init_weights, "dynamics")
        # Weights of new inputs start at zero.
        for name, expected in model.state_dict().items():
            if expected.ndim == 2 and name in tensors:
                missing = max(expected.shape[1] - tensors[name].shape[1], 0)
                tensors[name] = nn.functional.pad(tensors[name], (0, missing))
        _load_state(model, tensors)
    return _train(
        model,
        lambda rank, step: sample_windows(
            samples,
            batch=batch,
            length=length,
            seed=train_config.seed + _PROCESS_SEED * rank,
            step=step,
        ),
        dynamics_loss,
        train_config,
        output,
        data={**(data or {}), "batch": batch, "length": length},
        validate=partial(evaluate_dynamics, samples=dev) if dev else None,
    )


def train_segmentation(
    make_batches: Callable[[int, int], Iterator[SegBatch]],
    output: str | Path,
    *,
    train_config: TrainConfig,
    config: SegmenterConfig | None = None,
    dev: Sequence[SegBatch] = (),
    init_weights: str | Path | None = None,
    data: dict | None = None,
) -> PartSegmenter:
    """Train the segmenter; `make_batches` takes process and step. See `train_dynamics`."""
    torch.manual_seed(train_config.seed)
    model = PartSegmenter(config or SegmenterConfig())
    if init_weights is not None:
        _load_state(model, _initial_tensors(init_weights, "segmentation"))
    return _train(
        model,
        make_batches,
        segmentation_loss,
        train_config,
        output,
        data=data or {},
        validate=partial(evaluate_segmentation, batches=list(dev)) if dev else None,
    )


def train_refinement(
    make_batches: Callable[[int, int], Iterator[RefineBatch]],
    output: str | Path,
    *,
    train_config: TrainConfig,
    config: RefineConfig | None = None,
    dev: Sequence[RefineBatch] = (),
    data: dict | None = None,
) -> RefineNet:
    """Train the refinement; `make_batches` takes process and step. See `train_dynamics`."""
    torch.manual_seed(train_config.seed)
    return _train(
        RefineNet(config or RefineConfig()),
        make_batches,
        refine_loss,
        train_config,
        output,
        data=data or {},
        validate=partial(evaluate_refinement, batches=list(dev)) if dev else None,
    )


def train_depth(
    make_batches: Callable[[int, int], Iterator[DepthBatch]],
    output: str | Path,
    *,
    train_config: TrainConfig,
    config: DepthConfig | None = None,
    dev: Sequence[DepthBatch] = (),
    init_weights: str | Path | None = None,
    data: dict | None = None,
) -> DepthNet:
    """Train the depth; `make_batches` takes process and step. See `train_dynamics`."""
    torch.manual_seed(train_config.seed)
    model = DepthNet(config or DepthConfig())
    if init_weights is not None:
        _load_state(model, _initial_tensors(init_weights, "depth"))
    return _train(
        model,
        make_batches,
        depth_loss,
        train_config,
        output,
        data=data or {},
        validate=partial(evaluate_depth, batches=list(dev)) if dev else None,
    )


def _initial_tensors(init_weights: str | Path, kind: str) -> dict[str, Tensor]:
    """A network's weights, from its own file or a whole world model's."""
    file = weights_file(init_weights, "world")
    is_world = load_tensors(file)[1].get("model") == WORLD
    tensors, _ = read_weights(
        file, model=WORLD if is_world else kind, version=VERSION, train="kin4d train object-world"
    )
    prefix = f"{kind}." if is_world else ""
    return {
        name.removeprefix(prefix): tensor
        for name, tensor in tensors.items()
        if name.startswith(prefix)
    }


def _load_state(model: nn.Module, tensors: dict[str, Tensor]) -> None:
    check_state_dict(model.state_dict(), tensors)
    model.load_state_dict(tensors)


def _train(
    model: _Model,
    make_batches: Callable[[int, int], Iterator[Any]],
    loss: Loss,
    train_config: TrainConfig,
    output: str | Path,
    *,
    data: dict,
    validate: Callable[[Any], dict[str, float]] | None,
) -> _Model:
    config: Any = model.config
    metadata = {
        "model": _NETWORK_NAMES[type(model)],
        "version": VERSION,
        "config": config.to_dict(),
        "data": data,
    }
    model.load_state_dict(
        train(model, make_batches, loss, train_config, output, metadata=metadata, validate=validate)
    )
    return model.eval()
