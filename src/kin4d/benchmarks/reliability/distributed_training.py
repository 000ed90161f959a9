"""A small training for `torchrun`, whose second process may kill itself once on the way."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

STEPS = 8


def main() -> None:
    """Arguments: the folder of the run, and the step at which a process is killed, or -1."""
    import torch
    from torch import nn

    from kin4d.training import TrainConfig, train

    folder, kill_at = Path(sys.argv[1]), int(sys.argv[2])
    rank = int(os.environ.get("RANK", 0))

    def make_batches(process: int, step: int) -> Iterator[Any]:
        while True:
            generator = torch.Generator().manual_seed(1000 * process + step)
            x = torch.randn(16, 4, generator=generator)
            yield step, x, x.sum(1, keepdim=True)
            step += 1

    def loss(model: nn.Module, batch: Any, done: float) -> Any:
        step, x, y = batch
        if rank == 1 and step == kill_at and not (folder / "killed").exists():
            (folder / "killed").write_text(f"step {step}")
            os.kill(os.getpid(), signal.SIGKILL)
        error = (model(x + 0.01 * torch.randn_like(x)) - y).square().mean()
        return error, {"error": error}

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.1), nn.Linear(8, 1))
    config = TrainConfig(steps=STEPS, warmup_steps=2, save_every=0.0, log_every=1)
    train(model, make_batches, loss, config, folder, metadata={"model": "toy"})


if __name__ == "__main__":
    main()
