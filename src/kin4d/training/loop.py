"""The training loop: Accelerate, weight averaging, a schedule, and checkpoints that resume exactly.

A step's batch and random numbers depend on the seed and the step index alone, so a run that is
killed resumes from its last checkpoint with the same result.
"""

from __future__ import annotations

import json
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
from kin4d.training.checkpoint import load_tensors, save_tensors


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
    run = _Run(model, optimizer, metadata, train_config)
    file = output / "checkpoint.safetensors"
    if file.exists():
        run.load(file)
        say(f"resuming from step {run.step} of {train_config.steps}")
    wrapped, optimizer = accelerator.prepare(model, optimizer)
    writer = _writer(output) if accelerator.is_main_process else None
    begun = saved = time.monotonic()
    first, sums = run.step, {}
    batches = make_batches(rank, run.step)
    while run.step < train_config.steps:
        step = run.step
        batch = next(batches)
        torch.manual_seed(((train_config.seed * 1_000_003 + step) * 64 + rank) % 2**63)
        for group in optimizer.param_groups:
            group["lr"] = train_config.lr_at(step)
        value, logs = loss(wrapped, batch, step / train_config.steps)
        accelerator.backward(value)
        norm = accelerator.clip_grad_norm_(wrapped.parameters(), train_config.grad_clip)
        if not torch.isfinite(value) or (norm is not None and not math.isfinite(float(norm))):
            raise Kin4dError(
                f"training diverged at step {step}: the loss is {float(value)}",
                hint="lower the learning rate and run again: it resumes from the last checkpoint",
            )
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        run.advance()
        for name, number in {"loss": value, **logs}.items():
            sums[name] = sums.get(name, 0.0) + float(number.detach())
        if run.step % train_config.log_every == 0 and writer is not None:
            counted = min(train_config.log_every, run.step - first)  # fewer, just after resuming
            means = {name: total / counted for name, total in sums.items()}
            sums = {}
            pace = (time.monotonic() - begun) / (run.step - first)
            left = pace * (train_config.steps - run.step) / 60
            words = "  ".join(f"{name} {number:.4g}" for name, number in means.items())
            words += f"  {pace:.2f} s/step  {left:.0f} min left"
            say(f"step {run.step}/{train_config.steps}  {words}")
            for name, number in {**means, "lr": train_config.lr_at(step)}.items():
                writer.add_scalar(name, number, run.step)
        last = run.step == train_config.steps
        if last or time.monotonic() - saved >= train_config.save_every:
            saved = time.monotonic()
            if writer is not None:
                run.save(file)
                _report(run, validate, output, writer, say)
            accelerator.wait_for_everyone()
    if writer is not None:
        writer.close()
    return run.weights()


class _Run:
    """Everything a checkpoint holds."""

    def __init__(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        metadata: dict,
        train_config: TrainConfig,
    ) -> None:
        self.model, self.optimizer, self.metadata, self.train_config = (
            model,
            optimizer,
            metadata,
            train_config,
        )
        self.step = 0
        self.seconds, self._since = 0.0, time.monotonic()
        # Frozen parameters are neither averaged nor saved.
        self._frozen = {name for name, p in model.named_parameters() if not p.requires_grad}
        self.ema = {name: tensor.detach().clone() for name, tensor in self.learned().items()}

    def learned(self) -> dict[str, Tensor]:
        """The model's state but for frozen parameters."""
        state = self.model.state_dict()
        return {name: value for name, value in state.items() if name not in self._frozen}

    def advance(self) -> None:
        """Count a step and update the moving average."""
        self.step += 1
        # Early averages follow fast, so that they forget the initial weights.
        keep = min(self.train_config.ema_decay, self.step / (self.step + 10))
        for name, value in self.learned().items():
            self.ema[name].lerp_(value, 1 - keep)

    def weights(self) -> dict[str, Tensor]:
        """The averaged weights, or the model's if none are kept."""
        return self.ema if self.train_config.ema_decay else self.learned()

    def put(self, learned: dict[str, Tensor]) -> None:
        """Give the model what `learned` returned."""
        missing, unknown = self.model.load_state_dict(learned, strict=False)
        if unknown or set(missing) - self._frozen:
            raise InputError("a checkpoint does not fit the model", value=[*unknown, *missing][0])

    def spent(self) -> float:
        """Seconds of training so far, over all resumed runs."""
        return self.seconds + time.monotonic() - self._since

    def save(self, file: Path) -> None:
        tensors = {f"model.{name}": value for name, value in self.learned().items()}
        tensors |= {f"average.{name}": value for name, value in self.ema.items()}
        for number, state in self.optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{number}.{name}": value for name, value in state.items()}
        metadata = {"run": self.metadata, "step": self.step, "seconds": self.spent()}
        save_tensors(file, tensors, metadata)

    def load(self, file: Path) -> None:
        tensors, metadata = load_tensors(file)
        # As the file holds it: JSON knows no tuples.
        if metadata.get("run") != json.loads(json.dumps(self.metadata)):
            raise InputError(
                f"{file} belongs to another run",
                value=metadata.get("run"),
                allowed=str(self.metadata),
                hint="use another folder, or resume with the options it was started with",
            )
        groups: dict[str, dict[str, Tensor]] = {"model": {}, "average": {}, "optimizer": {}}
        for name, tensor in tensors.items():
            kind, _, rest = name.partition(".")
            groups[kind][rest] = tensor
        self.put(groups["model"])
        self.ema = groups["average"]
        state: dict[int, dict[str, Tensor]] = {}
        for name, tensor in groups["optimizer"].items():
            number, _, rest = name.partition(".")
            state.setdefault(int(number), {})[rest] = tensor
        whole = self.optimizer.state_dict()
        self.optimizer.load_state_dict({"state": state, "param_groups": whole["param_groups"]})
        self.step, self.seconds = metadata["step"], metadata["seconds"]


def _report(
    run: _Run, validate: Any, output: Path, writer: Any, say: Callable[[str], None]
) -> None:
    """Write the weights and, if there is validation, its figures."""
    facts = {
        "step": run.step,
        "hours": round(run.spent() / 3600, 3),
        "config": asdict(run.train_config),
    }
    if validate is not None:
        kept = {name: value.clone() for name, value in run.learned().items()}
        run.put(run.weights())
        run.model.eval()
        with torch.no_grad():
            facts["dev"] = validate(run.model)
        run.model.train()
        run.put(kept)
        for name, number in facts["dev"].items():
            writer.add_scalar(f"dev/{name}", number, run.step)
        words = "  ".join(f"{name} {number:.4g}" for name, number in facts["dev"].items())
        say(f"step {run.step}  dev: {words}  ({facts['hours']:.2f} h)")
    save_tensors(output / "weights.safetensors", run.weights(), {**run.metadata, "training": facts})


def _writer(output: Path) -> Any:
    tensorboard = require("torch.utils.tensorboard", extra="train", purpose="logging training")
    return tensorboard.SummaryWriter(str(output / "logs"))
