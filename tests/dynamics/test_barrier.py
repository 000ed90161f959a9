"""Soft limits: a potential whose derivatives are the forces, and that sets in smoothly."""

from __future__ import annotations

import numpy as np
import pytest

from kin4d.dynamics.barrier import barrier_energy, barrier_slope

LIMIT = np.array([[-0.5, 1.0, 40.0, 0.06]])


@pytest.mark.parametrize("q", [-0.9, -0.52, 0.3, 1.001, 1.03, 1.7])
def test_forces_are_slopes_of_the_energy(q: float) -> None:
    step = 1e-5
    below, above = (barrier_energy(np.array([q + s]), LIMIT) for s in (-step, step))
    first, second = barrier_slope(q, *LIMIT[0])
    assert first == pytest.approx((above - below) / (2 * step), abs=1e-7)
    slopes = [barrier_slope(q + s, *LIMIT[0])[0] for s in (-step, step)]
    assert second == pytest.approx((slopes[1] - slopes[0]) / (2 * step), rel=1e-4, abs=1e-6)


def test_inside_nothing_is_felt_and_far_beyond_a_plain_spring() -> None:
    assert barrier_slope(0.99, *LIMIT[0]) == (0.0, 0.0)
    first, second = barrier_slope(2.0, *LIMIT[0])
    assert second == pytest.approx(40.0)
    assert first == pytest.approx(40.0 * (1.0 - 0.06))


def test_a_limit_sets_in_with_the_fourth_power_of_the_way_beyond() -> None:
    ways = np.array([1e-3, 2e-3])
    forces = [barrier_slope(1.0 + way, *LIMIT[0])[0] for way in ways]
    assert forces[1] / forces[0] == pytest.approx(2**4, rel=0.1)
