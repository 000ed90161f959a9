"""Training the networks of a rigid world, each on its own."""

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
from kin4d.world.object_world.windows import sample_windows

_Model = TypeVar("_Model", bound=nn.Module)

WORLD, VERSION = "object world", 1
"""Kind and layout of joined weights; those of one network are called after it."""
PLANS = {
    "depth": TrainConfig(steps=4_000, rate=2e-3),
    "dynamics": TrainConfig(steps=8_000, warm=50),
    "segmentation": TrainConfig(steps=4_000, rate=2e-3),
    "refinement": TrainConfig(steps=20_000, rate=2e-3),
}
_NETWORK_NAMES: dict[type[nn.Module], str] = {
    DepthNet: "depth",
    PartSegmenter: "segmentation",
    PartDynamics: "dynamics",
    RefineNet: "refinement",
}
_PROCESS = 7919  # apart enough that no two processes share a stream


def train_dynamics(
    lessons: Sequence[DynamicsSample],
    out: str | Path,
    *,
    plan: TrainConfig,
    config: DynamicsConfig | None = None,
    dev: Sequence[DynamicsSample] = (),
    batch: int = 24,
    length: int = 20,
    start: str | Path | None = None,
    data: dict | None = None,
) -> PartDynamics:
    """Train a dynamics, going on from the checkpoint in `out` if there is one.

    Args:
        lessons: What to learn from.
        out: Folder of the run.
        plan: How.
        config: Sizes.
        dev: Held-out lessons that checkpoints are judged by.
        batch: Windows per step and process.
        length: Frames of a window: longer ones teach to live with one's own errors.
        start: Initial weights, with a new schedule: of a dynamics or of a whole world, possibly
            trained with fewer inputs.
        data: What the lessons were made of, kept with the weights.
    """
    torch.manual_seed(plan.seed)
    model = PartDynamics(config or DynamicsConfig())
    if start is not None:
        tensors = _tensors_of(start, "dynamics")
        # What a dynamics was not told before, it does not listen to at first.
        for name, wanted in model.state_dict().items():
            if wanted.ndim == 2 and name in tensors:
                missing = max(wanted.shape[1] - tensors[name].shape[1], 0)
                tensors[name] = nn.functional.pad(tensors[name], (0, missing))
        _fill(model, tensors)
    return _train(
        model,
        lambda rank, step: sample_windows(
            lessons, batch=batch, length=length, seed=plan.seed + _PROCESS * rank, step=step
        ),
        dynamics_loss,
        plan,
        out,
        data={**(data or {}), "batch": batch, "length": length},
        validate=partial(evaluate_dynamics, samples=dev) if dev else None,
    )


def train_segmentation(
    feed: Callable[[int, int], Iterator[SegBatch]],
    out: str | Path,
    *,
    plan: TrainConfig,
    config: SegmenterConfig | None = None,
    dev: Sequence[SegBatch] = (),
    start: str | Path | None = None,
    data: dict | None = None,
) -> PartSegmenter:
    """Train a segmenter; `feed` takes a process and a step index. See `train_dynamics`."""
    torch.manual_seed(plan.seed)
    model = PartSegmenter(config or SegmenterConfig())
    if start is not None:
        _fill(model, _tensors_of(start, "segmentation"))
    return _train(
        model,
        feed,
        segmentation_loss,
        plan,
        out,
        data=data or {},
        validate=partial(evaluate_segmentation, views=list(dev)) if dev else None,
    )


def train_refinement(
    feed: Callable[[int, int], Iterator[RefineBatch]],
    out: str | Path,
    *,
    plan: TrainConfig,
    config: RefineConfig | None = None,
    dev: Sequence[RefineBatch] = (),
    data: dict | None = None,
) -> RefineNet:
    """Train a `RefineNet`; `feed` takes a process and a step number. See `train_dynamics`."""
    torch.manual_seed(plan.seed)
    return _train(
        RefineNet(config or RefineConfig()),
        feed,
        refine_loss,
        plan,
        out,
        data=data or {},
        validate=partial(evaluate_refinement, canvases=list(dev)) if dev else None,
    )


def train_depth(
    feed: Callable[[int, int], Iterator[DepthBatch]],
    out: str | Path,
    *,
    plan: TrainConfig,
    config: DepthConfig | None = None,
    dev: Sequence[DepthBatch] = (),
    start: str | Path | None = None,
    data: dict | None = None,
) -> DepthNet:
    """Train a depth; `feed` takes the numbers of a process and of a step. See `train_dynamics`."""
    torch.manual_seed(plan.seed)
    model = DepthNet(config or DepthConfig())
    if start is not None:
        _fill(model, _tensors_of(start, "depth"))
    return _train(
        model,
        feed,
        depth_loss,
        plan,
        out,
        data=data or {},
        validate=partial(evaluate_depth, depths=list(dev)) if dev else None,
    )


def _tensors_of(start: str | Path, kind: str) -> dict[str, Tensor]:
    """A network's weights, from its own file or a whole world's."""
    file = weights_file(start, "world")
    whole = load_tensors(file)[1].get("model") == WORLD
    tensors, _ = read_weights(
        file, model=WORLD if whole else kind, version=VERSION, train="kin4d train object-world"
    )
    mine = f"{kind}." if whole else ""
    return {name.removeprefix(mine): one for name, one in tensors.items() if name.startswith(mine)}


def _fill(model: nn.Module, tensors: dict[str, Tensor]) -> None:
    check_state_dict(model.state_dict(), tensors)
    model.load_state_dict(tensors)


def _train(
    model: _Model,
    feed: Callable[[int, int], Iterator[Any]],
    loss: Loss,
    plan: TrainConfig,
    out: str | Path,
    *,
    data: dict,
    validate: Callable[[Any], dict[str, float]] | None,
) -> _Model:
    config: Any = model.config
    about = {
        "model": _NETWORK_NAMES[type(model)],
        "version": VERSION,
        "config": config.to_dict(),
        "data": data,
    }
    model.load_state_dict(train(model, feed, loss, plan, out, about=about, validate=validate))
    return model.eval()
