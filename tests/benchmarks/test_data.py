"""The benchmark of object data counts what it says it counts."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import pytest

from kin4d.benchmarks import BENCHMARKS, data
from kin4d.objects.generate import DatasetSpec
from kin4d.objects.sequence_store import SequenceStore
from kin4d.objects.sources import SEEDS, articulated_source


def test_the_writer_that_gets_killed_makes_the_plan(tmp_path: Path) -> None:
    plan = DatasetSpec(categories=("door",), count=3, frames=2)
    subprocess.run(data._command(plan, tmp_path / "it's here"), check=True)
    store = SequenceStore.open(tmp_path / "it's here")
    assert store.identities == plan.identities()
    assert data._finished(store.path) == 1


def test_sound_objects_have_no_problems() -> None:
    assert data._problems(("door", 0)) == []


def test_objects_to_check_are_spread_over_all_seeds() -> None:
    items = data._objects_to_check(900, 0)
    assert items == data._objects_to_check(900, 0)
    assert not set(items) & set(data._objects_to_check(900, 1))
    categories, seeds = zip(*items, strict=True)
    assert set(categories) == set(articulated_source().categories)
    # One in ten of all seeds lies in each tenth of their range.
    tenths = Counter(10 * seed // SEEDS for seed in seeds)
    assert all(50 < tenths[i] < 130 for i in range(10))


@pytest.mark.slow
def test_a_quick_run_meets_every_bar_but_speed() -> None:
    report = data._store(quick=True, seed=1)
    assert all(check.passed for check in report.checks)
    assert "data" in BENCHMARKS
