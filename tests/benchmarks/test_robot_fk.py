"""The forward kinematics benchmark: its comparisons hold, on one small robot."""

from __future__ import annotations

import pytest

from kin4d.benchmarks.robot.fk import accuracy


def test_shipped_arm_agrees_with_pinocchio_and_mujoco() -> None:
    pytest.importorskip("pinocchio")
    pytest.importorskip("mujoco")
    row = accuracy("kin4d_arm", 20, seed=1)
    for other in ("pinocchio", "mujoco"):
        assert row[f"links also in {other}"] >= 9
        assert row[f"position against {other} (m)"] < 1e-12
        assert row[f"rotation against {other} (rad)"] < 1e-12
