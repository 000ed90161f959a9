"""Weights on disk: whole or refused."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
import torch

from kin4d.errors import InputError
from kin4d.training import load_tensors, save_tensors


def test_round_trip(tmp_path: Path) -> None:
    file = tmp_path / "w.safetensors"
    tensors = {"a": torch.arange(6.0).view(2, 3), "b": torch.tensor(3.0)}
    save_tensors(file, tensors, {"version": 1})
    found, metadata = load_tensors(file)
    assert metadata == {"version": 1}
    assert all(torch.equal(found[name], tensors[name]) for name in tensors)


def test_a_truncated_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "w.safetensors"
    save_tensors(file, {"a": torch.zeros(1000)}, {})
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(InputError, match="not a sound safetensors file"):
        load_tensors(file)


def test_a_pickle_under_this_name_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "w.safetensors"
    file.write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(InputError, match="not a sound safetensors file"):
        load_tensors(file)


def test_a_file_of_others_is_refused(tmp_path: Path) -> None:
    from safetensors.torch import save_file

    save_file({"a": torch.zeros(1)}, tmp_path / "w.safetensors")
    with pytest.raises(InputError, match="not written by kin4d"):
        load_tensors(tmp_path / "w.safetensors")


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    file = tmp_path / "w.safetensors"
    save_tensors(file, {"a": torch.ones(3)}, {"good": True})
    with pytest.raises(TypeError):
        save_tensors(file, {"a": torch.zeros(3)}, {"bad": object()})
    assert load_tensors(file)[1] == {"good": True}
