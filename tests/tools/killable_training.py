"""A small training run that kills itself at a chosen point, for processes that are forked."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import torch
from torch import nn

from kin4d.errors import OutputError
from kin4d.training import TrainConfig, train

STEPS, SAVES = 6, 6  # a checkpoint after every step


class Kill(NamedTuple):
    """Where a run is killed.

    Attributes:
        where: "loss", "writing checkpoint", "checkpoint", "validation", "writing weights" or
            "weights": inside what the first and the "writing" ones name, just after the files.
        count: The how many-th time it comes there.
    """

    where: str
    count: int


def make_batches(rank: int, step: int):
    while True:
        generator = torch.Generator().manual_seed(step)
        x = torch.randn(16, 4, generator=generator)
        yield x, x.sum(1, keepdim=True)
        step += 1


def run(folder: Path, kill: Kill | None) -> None:
    """Train in `folder`; killed, the run leaves the place in the file "killed"."""
    (folder / "killed").unlink(missing_ok=True)
    passed: dict[str, int] = {}

    def pass_by(where: str, before: Callable[[], object] = lambda: None) -> None:
        passed[where] = passed.get(where, 0) + 1
        if kill == (where, passed[where]):
            before()
            (folder / "killed").write_text(f"{where} {passed[where]}")
            os.kill(os.getpid(), signal.SIGKILL)

    def loss(model: nn.Module, batch, done: float):
        pass_by("loss")
        x, y = batch
        error = (model(x + 0.01 * torch.randn_like(x)) - y).square().mean()
        return error, {"error": error}

    def validate(model: nn.Module) -> dict[str, float]:
        torch.rand(7)  # validation may draw numbers
        pass_by("validation")
        return {"bias": float(torch.rand(1)) + float(model[0].bias.sum())}

    _watch_files(pass_by)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.1), nn.Linear(8, 1))
    config = TrainConfig(steps=STEPS, warmup_steps=2, save_every=0.0, log_every=4)
    with (folder / "log").open("a") as log:
        train(
            model, make_batches, loss, config, folder,
            metadata={"model": "toy", "sizes": (4, 8)}, validate=validate,
            say=lambda line: print(line, file=log, flush=True),
        )  # fmt: skip


def run_in_little_space(folder: Path) -> None:
    """Train where no file can grow beyond 2 kB, as on a full disk; leaves the error in "error"."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, resource.RLIM_INFINITY))
    try:
        run(folder, None)
    except OutputError as error:
        (folder / "error").write_text(str(error))


def _watch_files(pass_by: Callable[..., None]) -> None:
    """Pass by inside every writing of a tensor file, half of it written, and after it."""
    import safetensors.torch

    save_file, replace = safetensors.torch.save_file, Path.replace

    def halved(tensors, part, metadata=None):
        save_file(tensors, part, metadata=metadata)
        whole = Path(part).read_bytes()
        pass_by(
            f"writing {Path(part).stem}", lambda: Path(part).write_bytes(whole[: len(whole) // 2])
        )

    def watched(self: Path, target: Path) -> Path:
        result = replace(self, target)
        if target.suffix == ".safetensors":
            pass_by(target.stem)
        return result

    safetensors.torch.save_file, Path.replace = halved, watched
