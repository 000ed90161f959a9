"""Long runs, in short."""

from __future__ import annotations

import pytest

from kin4d.benchmarks.reliability import long_runs
from kin4d.benchmarks.report import Report


def test_a_simulation_keeps_its_memory_and_energy() -> None:
    report = Report()
    long_runs._simulation(report, steps=2000)
    assert report.rows[0]["finite"]
    assert report.rows[0]["energy drift"] < 0.01


def test_hooked_brackets_hold_each_other() -> None:
    report = Report()
    long_runs._brackets(report, seconds=1.0)
    assert [check for check in report.checks if not check.passed] == []
    assert len(report.rows) == 4
    assert all(row["fallen (m)"] > 0.008 for row in report.rows)


@pytest.mark.slow
def test_an_environment_keeps_its_memory() -> None:
    pytest.importorskip("mujoco")
    report = Report()
    long_runs._environment(report, steps=100, seed=0)
    assert report.rows[0]["finite"]
