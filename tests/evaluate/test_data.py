"""The benchmark of object data counts what it says it counts."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kin4d.data.generate import Plan
from kin4d.data.store import SequenceStore
from kin4d.evaluate import BENCHMARKS, data


def test_the_writer_that_gets_killed_makes_the_plan(tmp_path: Path) -> None:
    plan = Plan(categories=("door",), count=3, frames=2)
    subprocess.run(data._command(plan, tmp_path / "it's here"), check=True)
    store = SequenceStore.open(tmp_path / "it's here")
    assert store.identities == plan.identities()
    assert data._finished(store.path) == 1


def test_sound_objects_have_no_problems() -> None:
    assert data._problems(("door", 0)) == []


@pytest.mark.slow
def test_a_quick_run_meets_every_bar_but_speed() -> None:
    report = data._store(quick=True, seed=1)
    assert all(check.passed for check in report.checks)
    assert "data" in BENCHMARKS
