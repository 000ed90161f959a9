"""Work on Ray and torchrun with a worker that is killed."""

from __future__ import annotations

import pytest

from kin4d.benchmarks.reliability import workers


@pytest.mark.slow
def test_a_killed_worker_changes_nothing() -> None:
    pytest.importorskip("ray")
    report = workers.run(quick=True, seed=0)
    assert [check for check in report.checks if not check.passed] == [], report.rows
    assert [row.get("killed") for row in report.rows] == [0, 1, 0, 1]
