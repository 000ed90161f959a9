"""`kin4d data episodes`: a store of robots at tasks from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tyro

pytest.importorskip("mujoco")

from kin4d.cli.data import data_command
from kin4d.episodes.store import EpisodeStore
from kin4d.errors import InputError


def run(*arguments: object) -> None:
    tyro.cli(data_command, args=["episodes", *(str(argument) for argument in arguments), "--json"])


def test_store_is_made_and_gone_on_with(tmp_path: Path, capsys) -> None:
    arguments = ("-o", tmp_path / "store", "--count", 2, "--task", "reach", "--workers", 1)
    small = ("--size", 48, 32, "--frames", 9)
    run(*arguments, *small)
    result = json.loads(capsys.readouterr().out)
    assert result["episodes"] == result["successes"] == 2
    first = EpisodeStore.open(tmp_path / "store").episode(1)
    assert first.video.rgb.shape == (9, 32, 48, 3)
    run(*arguments, *small)
    assert json.loads(capsys.readouterr().out)["episodes"] == 2
    with pytest.raises(InputError, match="begun with another"):
        run(*arguments, "--size", 24, 16, "--frames", 9)


def test_a_store_of_full_shards_grows(tmp_path: Path, capsys) -> None:
    kind = ("--task", "reach", "--workers", 1, "--size", 48, 32, "--frames", 9, "--per-shard", 2)
    run("-o", tmp_path / "grown", "--count", 2, *kind)
    run("-o", tmp_path / "grown", "--count", 3, *kind)
    run("-o", tmp_path / "whole", "--count", 3, *kind)
    capsys.readouterr()
    grown, whole = (EpisodeStore.open(tmp_path / name) for name in ("grown", "whole"))
    assert [who.key for who in grown.identities] == [who.key for who in whole.identities]
    assert len(grown) == 3
    for count in (2, 5):  # Neither shrinks, nor goes on after a shard that is not full.
        with pytest.raises(InputError, match="begun with another count"):
            run("-o", tmp_path / "grown", "--count", count, *kind)


def test_unknown_names_are_answered(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="open_drawer"):
        run("-o", tmp_path / "a", "--task", "juggle")
    with pytest.raises(InputError, match="kin4d_arm"):
        run("-o", tmp_path / "b", "--robot", "crane")
    assert not (tmp_path / "b").exists()
