"""Lumps have the mass, the centre and the inertia of what they stand for."""

from __future__ import annotations

import numpy as np
import pytest

from kin4d.kinematics.compiled.lumped_mass import lump_masses


@pytest.mark.parametrize("flat", [False, True])
def test_moments_are_those_of_the_points(flat: bool) -> None:
    rng = np.random.default_rng(0)
    points, mass = rng.normal(size=(60, 3)), rng.uniform(0.1, 1, 60)
    if flat:
        points[:, 2] = 0.7
    weights = np.eye(3)[rng.integers(0, 3, 60)][:, :2]  # one frame, the other, or none
    weights[:5] = 0.3
    found = lump_masses(points, weights, mass)
    assert found.rest.shape == (5 + 3 * 4, 3)
    for kind in np.unique(weights, axis=0):
        there, here = (found.weights == kind).all(1), (weights == kind).all(1)
        ours = np.concatenate([np.ones((len(found.rest), 1)), found.rest], 1)[there]
        theirs = np.concatenate([np.ones((60, 1)), points], 1)[here]
        np.testing.assert_allclose(
            (found.mass[there, None] * ours).T @ ours, (mass[here, None] * theirs).T @ theirs
        )
    np.testing.assert_allclose(found.spread @ found.rest, points, atol=1e-12)
    np.testing.assert_allclose(found.spread.sum(1), 1.0)


def test_few_points_stand_for_themselves() -> None:
    points, weights = np.eye(3), np.zeros((3, 1))
    found = lump_masses(points, weights, np.ones(3))
    np.testing.assert_array_equal(found.rest, points)
