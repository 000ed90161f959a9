"""The training loop: Accelerate, a moving average, a schedule, and checkpoints that resume exactly.

A step's batch and chance depend on the seed and the step's number alone, so a run killed at any
moment goes on from its last checkpoint as if nothing had happened.
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
        rate: Learning rate after warming up.
        warm: Steps of warming up.
        decay: Share of the steps over which the rate falls to zero at the end, along a cosine.
        weight_decay: Of AdamW.
        clip: Largest norm of the gradient.
        average: Decay per step of the moving average of the weights; 0 keeps none.
        precision: "fp32" or "bf16".
        seed: Of everything random.
        save_every: Seconds between checkpoints.
        log_every: Steps between lines of the log.
    """

    steps: int
    rate: float = 1e-3
    warm: int = 100
    decay: float = 0.5
    weight_decay: float = 0.01
    clip: float = 1.0
    average: float = 0.999
    precision: Literal["fp32", "bf16"] = "fp32"
    seed: int = 0
    save_every: float = 180.0
    log_every: int = 50

    def __post_init__(self) -> None:
        checks = {
            "steps": self.steps >= 1,
            "rate": self.rate > 0,
            "warm": self.warm >= 0,
            "decay": 0 <= self.decay <= 1,
            "clip": self.clip > 0,
            "average": 0 <= self.average < 1,
            "precision": self.precision in ("fp32", "bf16"),
            "save_every": self.save_every >= 0,
            "log_every": self.log_every >= 1,
        }
        for name, right in checks.items():
            if not right:
                raise InputError(f"training plan '{name}'", value=getattr(self, name))

    def rate_at(self, step: int) -> float:
        """Learning rate of a step."""
        rising = min(1.0, (step + 1) / max(self.warm, 1))
        start = self.steps * (1 - self.decay)
        if step <= start:
            return self.rate * rising
        through = (step - start) / max(self.steps - start, 1)
        return self.rate * rising * 0.5 * (1 + math.cos(math.pi * min(through, 1.0)))


Feed = Callable[[int, int], Iterator[Any]]
"""Number of a process and of a step, to that process's batches from that step on, without end."""

Loss = Callable[[nn.Module, Any, float], tuple[Tensor, dict[str, Tensor]]]
"""Model, batch and share of the steps done, to the loss and what to log."""


def train(
    model: nn.Module,
    feed: Feed,
    loss: Loss,
    plan: TrainConfig,
    out: str | Path,
    *,
    about: dict[str, Any],
    validate: Callable[[Any], dict[str, float]] | None = None,
    say: Callable[[str], None] = lambda line: print(line, file=sys.stderr, flush=True),
) -> dict[str, Tensor]:
    """Train `model`, going on from the checkpoint in `out` if there is one; returns its weights.

    Args:
        model: Trained in place.
        feed: What to learn from.
        loss: What to make small.
        plan: How.
        out: Folder of the run: ``checkpoint.safetensors``, ``weights.safetensors`` (the average,
            or the model itself if none is kept; without frozen parameters) and TensorBoard logs.
        about: Kept in both files; a checkpoint about something else is refused.
        validate: Measured on the averaged model at every checkpoint.
        say: Takes lines of the log.
    """
    accelerate = require("accelerate", extra="train", purpose="training")
    plan_precision = "bf16" if plan.precision == "bf16" else "no"
    # Unless told, Accelerate takes processes on machines without a GPU for unrelated ones.
    on_cpu = not torch.accelerator.is_available()
    accelerator = accelerate.Accelerator(mixed_precision=plan_precision, cpu=on_cpu)
    out, rank = Path(out), accelerator.process_index
    torch.manual_seed(plan.seed)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=plan.rate, betas=(0.9, 0.98), weight_decay=plan.weight_decay
    )
    run = _Run(model, optimizer, about, plan)
    file = out / "checkpoint.safetensors"
    if file.exists():
        run.load(file)
        say(f"going on from step {run.step} of {plan.steps}")
    wrapped, optimizer = accelerator.prepare(model, optimizer)
    writer = _writer(out) if accelerator.is_main_process else None
    begun = saved = time.monotonic()
    first, sums = run.step, {}
    batches = feed(rank, run.step)
    while run.step < plan.steps:
        step = run.step
        batch = next(batches)
        torch.manual_seed(((plan.seed * 1_000_003 + step) * 64 + rank) % 2**63)
        for group in optimizer.param_groups:
            group["lr"] = plan.rate_at(step)
        value, logs = loss(wrapped, batch, step / plan.steps)
        accelerator.backward(value)
        norm = accelerator.clip_grad_norm_(wrapped.parameters(), plan.clip)
        if not torch.isfinite(value) or (norm is not None and not math.isfinite(float(norm))):
            raise Kin4dError(
                f"training diverged at step {step}: the loss is {float(value)}",
                hint="lower the rate, then run again: it goes on from the last checkpoint",
            )
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        run.advance()
        for name, number in {"loss": value, **logs}.items():
            sums[name] = sums.get(name, 0.0) + float(number.detach())
        if run.step % plan.log_every == 0 and writer is not None:
            counted = min(plan.log_every, run.step - first)  # fewer, just after going on
            means = {name: total / counted for name, total in sums.items()}
            sums = {}
            pace = (time.monotonic() - begun) / (run.step - first)
            left = pace * (plan.steps - run.step) / 60
            words = "  ".join(f"{name} {number:.4g}" for name, number in means.items())
            say(f"step {run.step}/{plan.steps}  {words}  {pace:.2f} s/step  {left:.0f} min left")
            for name, number in {**means, "rate": plan.rate_at(step)}.items():
                writer.add_scalar(name, number, run.step)
        last = run.step == plan.steps
        if last or time.monotonic() - saved >= plan.save_every:
            saved = time.monotonic()
            if writer is not None:
                run.save(file)
                _report(run, validate, out, writer, say)
            accelerator.wait_for_everyone()
    if writer is not None:
        writer.close()
    return run.weights()


class _Run:
    """Everything a checkpoint holds."""

    def __init__(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, about: dict, plan: TrainConfig
    ) -> None:
        self.model, self.optimizer, self.about, self.plan = model, optimizer, about, plan
        self.step = 0
        self.seconds, self._since = 0.0, time.monotonic()
        # Frozen parameters are somebody else's: they are neither averaged nor saved.
        self._frozen = {name for name, p in model.named_parameters() if not p.requires_grad}
        self.average = {name: tensor.detach().clone() for name, tensor in self.learned().items()}

    def learned(self) -> dict[str, Tensor]:
        """The model's state but for frozen parameters."""
        state = self.model.state_dict()
        return {name: value for name, value in state.items() if name not in self._frozen}

    def advance(self) -> None:
        """Count a step, and let the average follow."""
        self.step += 1
        # Young averages follow fast, so that they forget where the weights began.
        keep = min(self.plan.average, self.step / (self.step + 10))
        for name, value in self.learned().items():
            self.average[name].lerp_(value, 1 - keep)

    def weights(self) -> dict[str, Tensor]:
        """What a run is for."""
        return self.average if self.plan.average else self.learned()

    def put(self, learned: dict[str, Tensor]) -> None:
        """Give the model what `learned` returned."""
        missing, unknown = self.model.load_state_dict(learned, strict=False)
        if unknown or set(missing) - self._frozen:
            raise InputError("a checkpoint does not fit the model", value=[*unknown, *missing][0])

    def spent(self) -> float:
        """Seconds of training so far, over all stretches."""
        return self.seconds + time.monotonic() - self._since

    def save(self, file: Path) -> None:
        tensors = {f"model.{name}": value for name, value in self.learned().items()}
        tensors |= {f"average.{name}": value for name, value in self.average.items()}
        for number, state in self.optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{number}.{name}": value for name, value in state.items()}
        about = {"run": self.about, "step": self.step, "seconds": self.spent()}
        save_tensors(file, tensors, about)

    def load(self, file: Path) -> None:
        tensors, about = load_tensors(file)
        # As the file holds it: JSON knows no tuples.
        if about.get("run") != json.loads(json.dumps(self.about)):
            raise InputError(
                f"{file} belongs to another run",
                value=about.get("run"),
                allowed=str(self.about),
                hint="name another folder, or go on with the options it was started with",
            )
        groups: dict[str, dict[str, Tensor]] = {"model": {}, "average": {}, "optimizer": {}}
        for name, tensor in tensors.items():
            kind, _, rest = name.partition(".")
            groups[kind][rest] = tensor
        self.put(groups["model"])
        self.average = groups["average"]
        state: dict[int, dict[str, Tensor]] = {}
        for name, tensor in groups["optimizer"].items():
            number, _, rest = name.partition(".")
            state.setdefault(int(number), {})[rest] = tensor
        whole = self.optimizer.state_dict()
        self.optimizer.load_state_dict({"state": state, "param_groups": whole["param_groups"]})
        self.step, self.seconds = about["step"], about["seconds"]


def _report(run: _Run, validate: Any, out: Path, writer: Any, say: Callable[[str], None]) -> None:
    """Write the weights and, if there is something to measure, how good they are."""
    facts = {"step": run.step, "hours": round(run.spent() / 3600, 3), "plan": asdict(run.plan)}
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
    save_tensors(out / "weights.safetensors", run.weights(), {**run.about, "training": facts})


def _writer(out: Path) -> Any:
    tensorboard = require("torch.utils.tensorboard", extra="train", purpose="logging training")
    return tensorboard.SummaryWriter(str(out / "logs"))
