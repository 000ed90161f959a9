"""The export benchmark: its clips are what they say, and its report is complete."""

from __future__ import annotations

import numpy as np
import pytest

from kin4d.benchmarks import export


def test_clips() -> None:
    sheet = export.waving_sheet(rows=10, columns=20, frames=5, seed=3)
    assert sheet.vertices.shape == (5, 200, 3)
    assert sheet.mesh.face_areas.sum() == pytest.approx(1)
    assert np.ptp(sheet.vertices, axis=0).max() > 0.001
    again = export.waving_sheet(rows=10, columns=20, frames=5, seed=3)
    np.testing.assert_array_equal(again.vertices, sheet.vertices)
    strips = export.rigid_strips(sheet, count=4)
    assert strips.skin is not None
    np.testing.assert_allclose(strips.vertices[0], sheet.mesh.vertices, atol=1e-6)
    corners = strips.vertices[:, np.flatnonzero(strips.skin.joints[:, 0] == 2)[[0, -1]]]
    lengths = np.linalg.norm(corners[:, 0] - corners[:, 1], axis=-1)
    np.testing.assert_allclose(lengths, lengths[0], rtol=1e-5)


def test_report(monkeypatch) -> None:
    pytest.importorskip("pxr")
    monkeypatch.setattr(export, "SHEET", (10, 20, 5))
    report = export.run(quick=True, seed=0)
    assert report.rows[0]["format"] == "numpy tofile"
    assert len(report.rows) == 6
    for row in report.rows:
        assert set(row) == {"format", "seconds", "MB", "ratio"}
        assert row["seconds"] > 0
        assert row["MB"] > 0
    assert [(check.threshold, check.at_least) for check in report.checks] == [(3.0, False)] * 2
    assert report.checks[0].value == report.rows[1]["ratio"]
    report.to_dict(name="export", seed=0, quick=True)
