"""The training loop: Accelerate, weight averaging, a schedule, and checkpoints that resume exactly.

A step's batch and random numbers depend on the seed and the step index alone, so a run that is
killed resumes from its last checkpoint with the same result. Weights are written after the
checkpoint they belong to, and name it; a run that finds others resumes by writing them.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from kin4d.errors import InputError, Kin4dError
from kin4d.extras import require
from kin4d.files import remove_abandoned
from kin4d.training.checkpoint import save_tensors
from kin4d.training.training_log import TrainingLog
from kin4d.training.training_run import TrainingRun
from kin4d.training.weights import FILE


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """How a model is trained.

    Attributes:
        steps: In all. A run may be resumed with another number.
        lr: Learning rate after warm-up.
        warmup_steps: Steps of linear warm-up.
        decay: Share of the steps, at the end, over which the rate falls to zero along a cosine.
        weight_decay: Of AdamW.
        grad_clip: Largest norm of the gradient.
        ema_decay: Per step, of the moving average of the weights; 0 keeps none.
        precision: "fp32" or "bf16".
        seed: Of everything random.
        save_every: Seconds between checkpoints.
        log_every: Steps between lines of the log.
    """

    steps: int
    lr: float = 1e-3
    warmup_steps: int = 100
    decay: float = 0.5
    weight_decay: float = 0.01
    grad_clip: float = 1.0
    ema_decay: float = 0.999
    precision: Literal["fp32", "bf16"] = "fp32"
    seed: int = 0
    save_every: float = 180.0
    log_every: int = 50

    def __post_init__(self) -> None:
        checks = {
            "steps": self.steps >= 1,
            "lr": self.lr > 0,
            "warmup_steps": self.warmup_steps >= 0,
            "decay": 0 <= self.decay <= 1,
            "grad_clip": self.grad_clip > 0,
            "ema_decay": 0 <= self.ema_decay < 1,
            "precision": self.precision in ("fp32", "bf16"),
            "save_every": self.save_every >= 0,
            "log_every": self.log_every >= 1,
        }
        for name, right in checks.items():
            if not right:
                raise InputError(f"train config '{name}'", value=getattr(self, name))

    def lr_at(self, step: int) -> float:
        """Learning rate of a step."""
        warmup = min(1.0, (step + 1) / max(self.warmup_steps, 1))
        start = self.steps * (1 - self.decay)
        if step <= start:
            return self.lr * warmup
        through = (step - start) / max(self.steps - start, 1)
        return self.lr * warmup * 0.5 * (1 + math.cos(math.pi * min(through, 1.0)))


BatchFactory = Callable[[int, int], Iterator[Any]]
"""(process index, step) -> an endless iterator of that process's batches from that step on."""

Loss = Callable[[nn.Module, Any, float], tuple[Tensor, dict[str, Tensor]]]
"""(model, batch, share of the steps done) -> the loss, and values to log by name."""


def unwrapped(model: nn.Module) -> nn.Module:
    """The model itself, which a run of several processes wraps for its loss."""
    return model.module if isinstance(model, nn.parallel.DistributedDataParallel) else model


def train(
    model: nn.Module,
    make_batches: BatchFactory,
    loss: Loss,
    train_config: TrainConfig,
    output: str | Path,
    *,
    metadata: dict[str, Any],
    validate: Callable[[Any], dict[str, float]] | None = None,
    say: Callable[[str], None] = lambda line: print(line, file=sys.stderr, flush=True),
) -> dict[str, Tensor]:
    """Train `model`, resuming from the checkpoint in `output` if there is one; returns its weights.

    Args:
        model: Trained in place.
        make_batches: Makes the batches.
        loss: What is minimised.
        train_config: Steps, rates and precision.
        output: Folder of the run: ``checkpoint.safetensors``, ``weights.safetensors`` (the average,
            or the model itself if none is kept; without frozen parameters) and TensorBoard logs.
        metadata: Kept in both files; a checkpoint with other metadata is refused.
        validate: Measured on the averaged model at every checkpoint.
        say: Takes lines of the log.
    """
    accelerate = require("accelerate", extra="train", purpose="training")
    precision = "bf16" if train_config.precision == "bf16" else "no"
    # Without `cpu`, Accelerate treats processes on machines without a GPU as unrelated.
    on_cpu = not torch.accelerator.is_available()
    accelerator = accelerate.Accelerator(mixed_precision=precision, cpu=on_cpu)
    output, rank = Path(output), accelerator.process_index
    torch.manual_seed(train_config.seed)
    optimizer = torch.optim.AdamW(
        model.parameters(),
        lr=train_config.lr,
        betas=(0.9, 0.98),
        weight_decay=train_config.weight_decay,
    )
    run = TrainingRun(model, optimizer, metadata, train_config)
    file = output / "checkpoint.safetensors"
    if file.exists():
        run.load(file)
        say(f"resuming from step {run.step} of {train_config.steps}")
    wrapped, optimizer = accelerator.prepare(model, optimizer)
    # One process writes; the others wait for it in the next step.
    log = None
    if accelerator.is_main_process:
        remove_abandoned(output)
        log = TrainingLog(output / "logs", run.step, say)
        if file.exists() and not run.has_weights(output):
            _write_weights(run, validate, output, log)
    begun = saved = time.monotonic()
    first = run.step
    batches = make_batches(rank, run.step)
    while run.step < train_config.steps:
        step = run.step
        batch = next(batches)
        run.seed_step(step, rank)
        for group in optimizer.param_groups:
            group["lr"] = train_config.lr_at(step)
        value, logs = loss(wrapped, batch, step / train_config.steps)
        accelerator.backward(value)
        norm = accelerator.clip_grad_norm_(wrapped.parameters(), train_config.grad_clip)
        if not torch.isfinite(value) or (norm is not None and not math.isfinite(float(norm))):
            raise Kin4dError(
                f"training diverged at step {step}: the loss is {float(value.detach())}",
                hint="lower the learning rate and run again: it resumes from the last checkpoint",
            )
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        run.advance({"loss": value, **logs})
        if run.step % train_config.log_every == 0:
            means = run.means()
            if log is not None:
                pace = (time.monotonic() - begun) / (run.step - first)
                left = pace * (train_config.steps - run.step) / 60
                words = f"{pace:.2f} s/step  {left:.0f} min left"
                log.add(run.step, {**means, "lr": train_config.lr_at(step)})
                log.line(f"step {run.step}/{train_config.steps} ", means, words)
        last = run.step == train_config.steps
        if log is not None and (last or time.monotonic() - saved >= train_config.save_every):
            run.save(file)
            _write_weights(run, validate, output, log)
            saved = time.monotonic()
    accelerator.wait_for_everyone()
    if log is not None:
        log.close()
    return run.weights()


def _write_weights(
    run: TrainingRun,
    validate: Callable[[Any], dict[str, float]] | None,
    output: Path,
    log: TrainingLog,
) -> None:
    """Write the weights of the last checkpoint and, if there is validation, its figures."""
    facts = {
        "step": run.step,
        "seconds": run.seconds,
        "hours": round(run.seconds / 3600, 3),
        "config": asdict(run.train_config),
    }
    if validate is not None:
        kept = {name: value.clone() for name, value in run.learned().items()}
        run.put(run.weights())
        run.model.eval()
        run.seed_step(run.step)
        with torch.no_grad():
            facts["dev"] = validate(run.model)
        run.model.train()
        run.put(kept)
        log.add(run.step, facts["dev"], group="dev/")
        log.line(f"step {run.step}  dev:", facts["dev"], f"({facts['hours']:.2f} h)")
    save_tensors(output / FILE, run.weights(), {**run.metadata, "training": facts})
