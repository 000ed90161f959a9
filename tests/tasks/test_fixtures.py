"""Fixtures: articulated objects brought to the table, with a handle that can be reached."""

from __future__ import annotations

import numpy as np
import pytest

from kin4d.tasks.fixtures import doors, drawers, lids
from kin4d.tasks.props import COLORS, any_prop


@pytest.mark.parametrize("make", [drawers, doors, lids])
@pytest.mark.parametrize("seed", range(4))
def test_fixture_is_on_the_table_and_its_handle_in_front(make, seed: int) -> None:
    made = make(np.random.default_rng(seed))
    assert abs(made.base_mesh.bounds[0, 2]) < 2e-3
    assert made.base_mesh.bounds[1, 2] < 0.35
    front = min(made.base_mesh.bounds[0, 0], made.origin[0] + made.panel[0, 0])
    assert made.origin[0] + made.handle[0] < front
    assert made.limits[0] == 0.0
    assert np.linalg.norm(made.axis) == pytest.approx(1.0)
    # Opening brings the handle towards the robot, or up.
    step = np.cross(made.axis, made.handle) if made.revolute else made.axis
    assert step[0] < 0 or step[2] > 0


@pytest.mark.parametrize("seed", range(12))
def test_props_fit_the_gripper_and_stand_on_their_middle(seed: int) -> None:
    prop = any_prop(np.random.default_rng(seed))
    low, high = prop.mesh.bounds
    assert 0.03 < prop.grip < 0.075
    assert low[2] == pytest.approx(-prop.half, abs=1.5e-3)
    assert high[2] == pytest.approx(prop.half, abs=1.5e-3)
    assert prop.color in COLORS
    assert prop.color in prop.phrase
