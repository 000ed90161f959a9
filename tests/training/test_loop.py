"""The training loop: it learns, reports and refuses; for killed runs see `test_kills`."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from kin4d.errors import InputError, Kin4dError, OutputError
from kin4d.training import TrainConfig, load_tensors, train

pytest.importorskip("accelerate")

RUN = """
import sys, time, torch
from torch import nn
from kin4d.training import TrainConfig, train

def make_batches(rank, step):
    while True:
        generator = torch.Generator().manual_seed(1000 * rank + step)
        x = torch.randn(16, 4, generator=generator)
        yield x, x.sum(1, keepdim=True)
        step += 1

def loss(model, batch, done):
    time.sleep(float(sys.argv[2]))
    x, y = batch
    error = (model(x + 0.01 * torch.randn_like(x)) - y).square().mean()
    return error, {"error": error}

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 1))
config = TrainConfig(steps=60, warmup_steps=5, save_every=0.0, log_every=10)
train(model, make_batches, loss, config, sys.argv[1],
      metadata={"model": "toy"})
"""


def start(out: Path, pause: float) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-c", RUN, str(out), str(pause)], stderr=-3)


def make_batches(rank: int, step: int):
    while True:
        x = torch.randn(16, 2, generator=torch.Generator().manual_seed(step))
        yield x, x[:, :1] - x[:, 1:]
        step += 1


def squared(model: nn.Module, batch, done: float):
    x, y = batch
    return (model(x) - y).square().mean(), {"done": torch.tensor(done)}


def test_it_learns_and_reports(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = nn.Linear(2, 1)
    lines: list[str] = []
    weights = train(
        model,
        make_batches,
        squared,
        TrainConfig(steps=300, lr=0.05, ema_decay=0.9, log_every=100),
        tmp_path,
        metadata={"model": "line"},
        validate=lambda net: {"bias": float(net.bias)},
        say=lines.append,
    )
    assert torch.allclose(weights["weight"], torch.tensor([[1.0, -1.0]]), atol=0.02)
    assert any("min left" in line for line in lines)
    assert any("dev: bias" in line for line in lines)
    stored, metadata = load_tensors(tmp_path / "weights.safetensors")
    assert torch.equal(stored["weight"], weights["weight"])
    assert metadata["training"]["step"] == 300
    assert "bias" in metadata["training"]["dev"]


def test_a_checkpoint_of_another_run_is_refused(tmp_path: Path) -> None:
    train_config = TrainConfig(steps=2, log_every=1)
    train(nn.Linear(2, 1), make_batches, squared, train_config, tmp_path, metadata={"model": "one"})
    with pytest.raises(InputError, match="belongs to another run"):
        train(
            nn.Linear(2, 1),
            make_batches,
            squared,
            train_config,
            tmp_path,
            metadata={"model": "two"},
        )


def test_a_folder_that_cannot_be_written_is_named() -> None:
    config = TrainConfig(steps=2)
    with pytest.raises(OutputError, match="cannot write"):
        train(nn.Linear(2, 1), make_batches, squared, config, "/proc/version", metadata={})


def test_divergence_is_named(tmp_path: Path) -> None:
    def broken(model: nn.Module, batch, done: float):
        return model(batch[0]).mean() * torch.nan, {}

    with pytest.raises(Kin4dError, match="diverged at step 0"):
        train(nn.Linear(2, 1), make_batches, broken, TrainConfig(steps=2), tmp_path, metadata={})


def test_the_rate_rises_stays_and_falls() -> None:
    train_config = TrainConfig(steps=100, lr=1.0, warmup_steps=10, decay=0.5)
    rates = [train_config.lr_at(step) for step in range(100)]
    assert rates[0] == pytest.approx(0.1)
    assert rates[9:51] == [1.0] * 42
    assert all(b < a for a, b in itertools.pairwise(rates[51:]))
    assert rates[-1] < 0.01


@pytest.mark.parametrize("wrong", [{"steps": 0}, {"lr": 0.0}, {"decay": 2.0}, {"ema_decay": 1.0}])
def test_wrong_plans_are_refused(wrong: dict) -> None:
    with pytest.raises(InputError, match="train config"):
        TrainConfig(**{"steps": 10, **wrong})


@pytest.mark.slow
def test_processes_without_a_gpu_train_one_model(tmp_path: Path) -> None:
    script = tmp_path / "run.py"
    script.write_text(RUN)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    ran = subprocess.run(
        [*torchrun, str(script), str(tmp_path / "two"), "0"], capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr.count("step 60/60") == 1
    assert start(tmp_path / "one", 0.0).wait(120) == 0
    one, two = (load_tensors(tmp_path / n / "checkpoint.safetensors")[0] for n in ("one", "two"))
    assert any(not torch.equal(one[name], two[name]) for name in one)
