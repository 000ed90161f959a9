"""Training end to end, on pairs of a toy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from untrained_neurok import TINY

from kin4d.errors import InputError
from kin4d.geometry.primitives import box
from kin4d.neurok import PRESETS, LearnedBody
from kin4d.neurok.train import TRAIN_CONFIGS, train_neurok
from kin4d.training import TrainConfig, load_tensors, save_tensors
from kin4d.training.config import config_of_preset

pytest.importorskip("accelerate")


def pairs(seed: int) -> SimpleNamespace:
    """A box whose upper half slides."""
    rng = np.random.default_rng(seed)
    points = rng.uniform(-0.5, 0.5, (4, 40, 3)).astype(np.float32)
    part = (points[..., 2] > 0).astype(np.int32)
    shift = rng.uniform(-0.3, 0.3, (4, 1, 1)).astype(np.float32)
    return SimpleNamespace(
        points0=points,
        normals0=np.broadcast_to(np.float32([0, 0, 1]), points.shape).copy(),
        points1=points + shift * part[..., None].astype(np.float32) * np.float32([1, 0, 0]),
        component=part,
        part=part,
    )


def make_batches(process: int, step: int) -> Iterator[SimpleNamespace]:
    while True:
        yield pairs(1000 * process + step)
        step += 1


def test_a_run_writes_weights_that_make_bodies(tmp_path: Path) -> None:
    plan = TrainConfig(steps=6, log_every=2)
    train_neurok(
        make_batches, tmp_path, config=TINY, train_config=plan, dev=[pairs(99)], data={"of": "toys"}
    )
    tensors, metadata = load_tensors(tmp_path / "weights.safetensors")
    assert metadata["data"] == {"of": "toys"}
    assert metadata["training"]["step"] == 6
    assert set(metadata["training"]["dev"]) == {"ratio", "guess", "still"}
    assert any(name.startswith("ood.") for name in tensors)
    body = LearnedBody.from_mesh(box((1, 1, 1)), tmp_path, points=128)
    assert body.confidence is not None


def test_a_run_can_begin_from_weights(tmp_path: Path, weights: Path) -> None:
    plan = TrainConfig(steps=1, lr=1e-9, ema_decay=0.0, log_every=1)
    model = train_neurok(
        make_batches, tmp_path, config=TINY, train_config=plan, init_weights=weights
    )
    before, _ = load_tensors(weights)
    after = model.state_dict()
    assert max(float((after[name] - before[name]).abs().max()) for name in after) < 1e-6
    with pytest.raises(InputError, match="differs from that to train"):
        train_neurok(
            make_batches,
            tmp_path / "b",
            config=PRESETS["tiny"],
            train_config=plan,
            init_weights=weights,
        )


def test_what_earlier_weights_lack_begins_from_chance(
    tmp_path: Path, weights: Path, capsys
) -> None:
    tensors, metadata = load_tensors(weights)
    known = {name: value for name, value in tensors.items() if ".joint_axes." not in name}
    save_tensors(tmp_path / "old.safetensors", known, {**metadata, "version": 1})
    plan = TrainConfig(steps=1, lr=1e-9, ema_decay=0.0, log_every=1)
    start = tmp_path / "old.safetensors"
    after = train_neurok(
        make_batches, tmp_path / "run", config=TINY, train_config=plan, init_weights=start
    ).state_dict()
    assert max(float((after[name] - known[name]).abs().max()) for name in known) < 1e-6
    screws = [name for name in tensors if ".joint_axes." in name and name.endswith("weight")]
    assert all(float((after[name] - tensors[name]).abs().max()) > 1e-3 for name in screws)
    assert "lacks prior.joint_axes" in capsys.readouterr().err


def test_presets_are_named() -> None:
    assert config_of_preset(TRAIN_CONFIGS, "tiny", steps=7, lr=None).steps == 7
    with pytest.raises(InputError, match="no such preset"):
        config_of_preset(TRAIN_CONFIGS, "enormous")
