from __future__ import annotations

import numpy as np
import pytest
import torch

from kin4d.bodies.robot.registry import list_robots, load_robot

pytest.importorskip("mink")
pytestmark = pytest.mark.skipif("panda" not in list_robots(), reason="needs example-robot-data")


def test_mink_solves_the_same_arm() -> None:
    from kin4d.benchmarks.robot.ik import MinkSolver

    body = load_robot("ur5", missing="skip")
    q = torch.tensor([0.3, -1.2, 1.5, -0.4, 1.0, 0.2], dtype=torch.float64)
    target = body.link_poses(q)[body.end_effector_index]
    answer = MinkSolver(body).cold(target)
    found = body.link_poses(answer)[body.end_effector_index]
    np.testing.assert_allclose(found, target, atol=1e-4)


@pytest.mark.slow
def test_every_bar_is_met() -> None:
    from kin4d.benchmarks.robot.ik import ROBOTS, run

    report = run(quick=True, seed=0)
    assert {row["robot"] for row in report.rows} == set(ROBOTS)
    assert [check.name for check in report.checks if not check.passed] == []
