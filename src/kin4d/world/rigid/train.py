"""Training the networks of a rigid world, each on its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from kin4d.training import Plan, load_tensors, train
from kin4d.training.loop import Loss
from kin4d.training.weights import check_fit, read_weights, weights_file
from kin4d.world.rigid.gauge import Depths, Gauge, GaugeConfig, gauge_loss, judge_gauge
from kin4d.world.rigid.lesson import Lesson
from kin4d.world.rigid.mover import Mover, MoverConfig
from kin4d.world.rigid.mover_loss import judge_mover, mover_loss
from kin4d.world.rigid.painter import Canvases, Painter, PainterConfig, judge_painter, painter_loss
from kin4d.world.rigid.seer import Seer, SeerConfig, Views, judge_seer, seer_loss
from kin4d.world.rigid.windows import windows

_Model = TypeVar("_Model", bound=nn.Module)

WORLD, VERSION = "rigid world", 1
"""Kind and layout of joined weights; those of one network are called after it."""
PLANS = {
    "gauge": Plan(steps=4_000, rate=2e-3),
    "mover": Plan(steps=8_000, warm=50),
    "seer": Plan(steps=4_000, rate=2e-3),
    "painter": Plan(steps=20_000, rate=2e-3),
}
_PROCESS = 7919  # apart enough that no two processes share a stream


def train_mover(
    lessons: Sequence[Lesson],
    out: str | Path,
    *,
    plan: Plan,
    config: MoverConfig | None = None,
    dev: Sequence[Lesson] = (),
    batch: int = 24,
    length: int = 20,
    start: str | Path | None = None,
    data: dict | None = None,
) -> Mover:
    """Train a mover, going on from the checkpoint in `out` if there is one.

    Args:
        lessons: What to learn from.
        out: Folder of the run.
        plan: How.
        config: Sizes.
        dev: Held-out lessons that checkpoints are judged by.
        batch: Windows per step and process.
        length: Frames of a window: longer ones teach to live with one's own errors.
        start: Weights to begin from, with a new schedule: a mover's, or a whole world's. It may be
            one that was told less.
        data: What the lessons were made of, kept with the weights.
    """
    torch.manual_seed(plan.seed)
    model = Mover(config or MoverConfig())
    if start is not None:
        tensors = _tensors_of(start, "mover")
        # What a mover was not told before, it does not listen to at first.
        for name, wanted in model.state_dict().items():
            if wanted.ndim == 2 and name in tensors:
                missing = max(wanted.shape[1] - tensors[name].shape[1], 0)
                tensors[name] = nn.functional.pad(tensors[name], (0, missing))
        _fill(model, tensors)
    return _train(
        model,
        lambda rank, step: windows(
            lessons, batch=batch, length=length, seed=plan.seed + _PROCESS * rank, step=step
        ),
        mover_loss,
        plan,
        out,
        data={**(data or {}), "batch": batch, "length": length},
        validate=partial(judge_mover, lessons=dev) if dev else None,
    )


def train_seer(
    feed: Callable[[int, int], Iterator[Views]],
    out: str | Path,
    *,
    plan: Plan,
    config: SeerConfig | None = None,
    dev: Sequence[Views] = (),
    start: str | Path | None = None,
    data: dict | None = None,
) -> Seer:
    """Train a seer; `feed` takes the numbers of a process and of a step. See `train_mover`."""
    torch.manual_seed(plan.seed)
    model = Seer(config or SeerConfig())
    if start is not None:
        _fill(model, _tensors_of(start, "seer"))
    return _train(
        model,
        feed,
        seer_loss,
        plan,
        out,
        data=data or {},
        validate=partial(judge_seer, views=list(dev)) if dev else None,
    )


def train_painter(
    feed: Callable[[int, int], Iterator[Canvases]],
    out: str | Path,
    *,
    plan: Plan,
    config: PainterConfig | None = None,
    dev: Sequence[Canvases] = (),
    data: dict | None = None,
) -> Painter:
    """Train a painter; `feed` takes the numbers of a process and of a step. See `train_mover`."""
    torch.manual_seed(plan.seed)
    return _train(
        Painter(config or PainterConfig()),
        feed,
        painter_loss,
        plan,
        out,
        data=data or {},
        validate=partial(judge_painter, canvases=list(dev)) if dev else None,
    )


def train_gauge(
    feed: Callable[[int, int], Iterator[Depths]],
    out: str | Path,
    *,
    plan: Plan,
    config: GaugeConfig | None = None,
    dev: Sequence[Depths] = (),
    start: str | Path | None = None,
    data: dict | None = None,
) -> Gauge:
    """Train a gauge; `feed` takes the numbers of a process and of a step. See `train_mover`."""
    torch.manual_seed(plan.seed)
    model = Gauge(config or GaugeConfig())
    if start is not None:
        _fill(model, _tensors_of(start, "gauge"))
    return _train(
        model,
        feed,
        gauge_loss,
        plan,
        out,
        data=data or {},
        validate=partial(judge_gauge, depths=list(dev)) if dev else None,
    )


def _tensors_of(start: str | Path, kind: str) -> dict[str, Tensor]:
    """A network's weights, from its own file or a whole world's."""
    file = weights_file(start, "world")
    whole = load_tensors(file)[1].get("model") == WORLD
    tensors, _ = read_weights(
        file, model=WORLD if whole else kind, version=VERSION, train="kin4d train world"
    )
    mine = f"{kind}." if whole else ""
    return {name.removeprefix(mine): one for name, one in tensors.items() if name.startswith(mine)}


def _fill(model: nn.Module, tensors: dict[str, Tensor]) -> None:
    check_fit(model.state_dict(), tensors)
    model.load_state_dict(tensors)


def _train(
    model: _Model,
    feed: Callable[[int, int], Iterator[Any]],
    loss: Loss,
    plan: Plan,
    out: str | Path,
    *,
    data: dict,
    validate: Callable[[Any], dict[str, float]] | None,
) -> _Model:
    config: Any = model.config
    about = {
        "model": type(model).__name__.lower(),
        "version": VERSION,
        "config": config.to_dict(),
        "data": data,
    }
    model.load_state_dict(train(model, feed, loss, plan, out, about=about, validate=validate))
    return model.eval()
