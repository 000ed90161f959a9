"""Training killed at chosen points resumes to the losses and weights of a run left alone."""

from __future__ import annotations

import multiprocessing
import re
import signal
from pathlib import Path

import pytest
import torch
from killable_training import SAVES, Kill, run, run_in_little_space

from kin4d.training import load_tensors

pytest.importorskip("accelerate")
pytest.importorskip("tensorboard")


@pytest.fixture(scope="module")
def forked():
    """Run a function in a process of its own; returns its exit code."""
    context = multiprocessing.get_context("forkserver")
    # Imported once; the first step of an optimizer imports torch._dynamo.
    context.set_forkserver_preload(
        ["kin4d.training", "accelerate", "torch.utils.tensorboard", "torch._dynamo"]
    )

    def start(*arguments, target=run) -> int | None:
        process = context.Process(target=target, args=arguments)
        process.start()
        process.join(60)
        return process.exitcode

    return start


@pytest.fixture(scope="module")
def whole(forked, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    assert forked(folder, None) == 0
    return folder


def losses(folder: Path) -> dict[str, str]:
    """The last of each line of the log, without times."""
    lines = (folder / "log").read_text().splitlines()
    kept = [re.sub(r"  (\(.*|[0-9.]+ s/step.*)", "", line) for line in lines]
    return {" ".join(line.split()[:2]) + line[:20]: line for line in kept if line[:4] == "step"}


def assert_same_end(folder: Path, whole: Path) -> None:
    for name in ("checkpoint.safetensors", "weights.safetensors"):
        first, found = load_tensors(folder / name)
        second, expected = load_tensors(whole / name)
        assert first.keys() == second.keys()
        assert all(torch.equal(first[key], second[key]) for key in first)
        if name[0] == "w":
            assert found["training"]["step"] == expected["training"]["step"]
            assert found["training"]["dev"] == expected["training"]["dev"]
    assert losses(folder) == losses(whole)
    assert [one.name for one in folder.iterdir() if one.name.startswith(".")] == []


POINTS = ("writing checkpoint", "checkpoint", "validation", "writing weights", "weights")


@pytest.mark.parametrize(
    "kill", [Kill("loss", 3), *(Kill(where, n) for n in (2, SAVES) for where in POINTS)], ids=str
)
def test_a_killed_run_ends_as_one_left_alone(forked, whole, tmp_path: Path, kill: Kill) -> None:
    assert forked(tmp_path, kill) == -signal.SIGKILL
    assert (tmp_path / "killed").read_text() == f"{kill.where} {kill.count}"
    assert forked(tmp_path, None) == 0
    assert_same_end(tmp_path, whole)


def test_a_run_killed_at_every_point_in_turn(forked, whole, tmp_path: Path) -> None:
    for where in ("weights", "validation", "checkpoint", "writing weights", "writing checkpoint"):
        assert forked(tmp_path, Kill(where, 1)) == -signal.SIGKILL
        assert (tmp_path / "killed").read_text() == f"{where} 1"
    assert forked(tmp_path, None) == 0
    assert_same_end(tmp_path, whole)


def test_a_finished_run_is_left_as_it_is(forked, whole) -> None:
    before = {one: one.stat().st_mtime_ns for one in whole.glob("*.safetensors")}
    assert forked(whole, None) == 0
    assert before == {one: one.stat().st_mtime_ns for one in whole.glob("*.safetensors")}


def test_stale_or_broken_weights_are_written_anew(forked, whole, tmp_path: Path) -> None:
    assert forked(tmp_path, None) == 0
    weights = tmp_path / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:200])
    assert forked(tmp_path, None) == 0
    assert_same_end(tmp_path, whole)


def test_checkpoints_of_earlier_versions_resume(forked, whole, tmp_path: Path) -> None:
    from kin4d.training import save_tensors

    assert forked(tmp_path, Kill("weights", 4)) == -signal.SIGKILL
    file = tmp_path / "checkpoint.safetensors"
    tensors, metadata = load_tensors(file)
    save_tensors(file, tensors, {key: metadata[key] for key in ("run", "step", "seconds")})
    assert forked(tmp_path, None) == 0
    found, expected = (load_tensors(one / file.name)[0] for one in (tmp_path, whole))
    assert all(torch.equal(found[key], expected[key]) for key in expected)


def test_a_full_disk_is_named_and_the_run_resumes(forked, whole, tmp_path: Path) -> None:
    assert forked(tmp_path, target=run_in_little_space) == 0
    assert "cannot write" in (tmp_path / "error").read_text()
    assert not (tmp_path / "checkpoint.safetensors").exists()
    assert forked(tmp_path, None) == 0
    assert_same_end(tmp_path, whole)
