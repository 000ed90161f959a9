"""The benchmark of soft objects runs, and its reference is beam theory."""

from __future__ import annotations

import pytest

from kin4d.benchmarks.soft import beam_sag, run


def test_the_quick_run_has_a_row_for_each_kind() -> None:
    pytest.importorskip("mujoco", minversion="4.0")
    report = run(quick=True, seed=1)
    assert {row["kind"] for row in report.rows} == {"cloth_corner", "solid_twist", "rope_fall"}
    assert all(row["stable %"] == 100 for row in report.rows)
    assert [check.passed for check in report.checks] == [True]


def test_a_stiffer_bar_sags_less() -> None:
    assert beam_sag(2e6) == pytest.approx(beam_sag(1e6) / 2)
