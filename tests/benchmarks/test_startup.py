"""The benchmark of how soon one can begin."""

from __future__ import annotations

from kin4d.benchmarks.startup import run


def test_import_brings_no_torch_along() -> None:
    report = run(quick=True, seed=0)
    assert report.rows[0]["what"] == "import kin4d"
    assert all(row["median s"] > 0 for row in report.rows)
    assert report.checks[1].value == 0
