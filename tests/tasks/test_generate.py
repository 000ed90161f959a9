"""Stores of tasks: the same whoever does the work, and gone on with after kill -9."""

from __future__ import annotations

from pathlib import Path

import pytest
from store_files import checksums, kill_after_a_shard

pytest.importorskip("mujoco")

from kin4d.episodes.store import EpisodeStore
from kin4d.tasks.generate import EpisodeDatasetSpec, generate_episodes

PLAN = EpisodeDatasetSpec(tasks=("reach",), count=10, frames=5, height=32, width=48, per_shard=4)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("alone") / "s"
    generate_episodes(PLAN, path)
    return path


def test_a_block_has_experts_noise_and_a_pair_of_one_scene(alone: Path) -> None:
    variants = [spec.variant for spec in PLAN.specs]
    assert variants == ["expert"] * 5 + ["noisy"] * 3 + ["near_miss", "near_hit"]
    assert PLAN.specs[-1].seed == PLAN.specs[-2].seed
    assert len({spec.seed for spec in PLAN.specs}) == 9
    store = EpisodeStore.open(alone)
    assert len(store) + len(store.dropped) == 10
    assert store.verify() == []


@pytest.mark.parametrize("cluster", [False, True])
def test_processes_and_ray_give_the_same_store(
    alone: Path, tmp_path: Path, *, cluster: bool
) -> None:
    if cluster:
        pytest.importorskip("ray")
    generate_episodes(PLAN, tmp_path / "s", workers=2, cluster=cluster)
    assert checksums(tmp_path / "s") == checksums(alone)


def _run(path: Path) -> None:
    generate_episodes(PLAN, path)


def test_a_killed_store_goes_on(alone: Path, tmp_path: Path) -> None:
    path = tmp_path / "s"
    kill_after_a_shard(_run, path, how="spawn")
    assert 1 <= len(checksums(path)) < PLAN.shards
    generate_episodes(PLAN, path)
    assert checksums(path) == checksums(alone)
