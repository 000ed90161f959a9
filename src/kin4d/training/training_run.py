"""TrainingRun: the state of a training run, saved to a checkpoint and loaded from it."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from kin4d.errors import InputError
from kin4d.training.checkpoint import load_tensors, save_tensors
from kin4d.training.weights import FILE

if TYPE_CHECKING:
    from kin4d.training.loop import TrainConfig


class TrainingRun:
    """A model in training, and everything else that its checkpoint holds.

    Args:
        model: In training.
        optimizer: Of the model.
        metadata: Of the run; a checkpoint with other metadata is refused.
        train_config: Of the run.

    Attributes:
        step: Steps done.
        seconds: Of training until the last checkpoint, over all resumed runs.
        ema: Moving average of the weights.
    """

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
        self.seconds = 0.0
        self._since = time.monotonic()
        self._sums: dict[str, float] = {}  # of what is logged, since the last line of the log
        self._summed = 0
        # Frozen parameters are neither averaged nor saved.
        self._frozen = {name for name, p in model.named_parameters() if not p.requires_grad}
        self.ema = {name: tensor.detach().clone() for name, tensor in self.learned().items()}

    def learned(self) -> dict[str, Tensor]:
        """The model's state but for frozen parameters."""
        state = self.model.state_dict()
        return {name: value for name, value in state.items() if name not in self._frozen}

    def seed_step(self, step: int, rank: int = 0) -> None:
        """Seed the random numbers of a step, or of the validation after it."""
        torch.manual_seed(((self.train_config.seed * 1_000_003 + step) * 64 + rank) % 2**63)

    def advance(self, logs: dict[str, Tensor]) -> None:
        """Count a step, sum what it logs and update the moving average."""
        self.step += 1
        self._summed += 1
        for name, number in logs.items():
            self._sums[name] = self._sums.get(name, 0.0) + float(number.detach())
        # Early averages follow fast, so that they forget the initial weights.
        keep = min(self.train_config.ema_decay, self.step / (self.step + 10))
        for name, value in self.learned().items():
            self.ema[name].lerp_(value, 1 - keep)

    def means(self) -> dict[str, float]:
        """Means of what the steps logged since this was last called."""
        means = {name: total / self._summed for name, total in self._sums.items()}
        self._sums, self._summed = {}, 0
        return means

    def weights(self) -> dict[str, Tensor]:
        """The averaged weights, or the model's if none are kept."""
        return self.ema if self.train_config.ema_decay else self.learned()

    def put(self, learned: dict[str, Tensor]) -> None:
        """Give the model what `learned` returned."""
        missing, unknown = self.model.load_state_dict(learned, strict=False)
        if unknown or set(missing) - self._frozen:
            raise InputError("a checkpoint does not fit the model", value=[*unknown, *missing][0])

    def has_weights(self, output: Path) -> bool:
        """Whether the weights in `output` are those of the last checkpoint."""
        try:
            _, metadata = load_tensors(output / FILE)
        except InputError:  # none, or not whole
            return False
        facts = metadata.get("training")
        if not isinstance(facts, dict):
            return False
        return (facts.get("step"), facts.get("seconds")) == (self.step, self.seconds)

    def save(self, file: Path) -> None:
        tensors = {f"model.{name}": value for name, value in self.learned().items()}
        tensors |= {f"average.{name}": value for name, value in self.ema.items()}
        for number, state in self.optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{number}.{name}": value for name, value in state.items()}
        now = time.monotonic()
        self.seconds, self._since = self.seconds + now - self._since, now
        metadata = {
            "run": self.metadata,
            "step": self.step,
            "seconds": self.seconds,
            "sums": self._sums,
            "summed": self._summed,
        }
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
        # Checkpoints of earlier versions have no sums.
        self._sums, self._summed = metadata.get("sums", {}), metadata.get("summed", 0)
