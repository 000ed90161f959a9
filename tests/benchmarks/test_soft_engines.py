"""The comparison of soft engines runs, and its truth is beam theory."""

from __future__ import annotations

import pytest

from kin4d.benchmarks.soft_engines import beam_sag, run


def test_the_quick_comparison_has_a_row_for_each_engine_and_kind() -> None:
    pytest.importorskip("mujoco", minversion="4.0")
    report = run(quick=True, seed=1)
    made = {(row["engine"], row["kind"]) for row in report.rows}
    assert {("xpbd", "rope_fall"), ("xpbd", "solid_twist"), ("mujoco", "cloth_corner")} <= made
    assert all(row["stable %"] == 100 for row in report.rows if row["engine"] == "mujoco")
    assert all(check.passed for check in report.checks)


def test_a_stiffer_bar_sags_less() -> None:
    assert beam_sag(2e6) == pytest.approx(beam_sag(1e6) / 2)
