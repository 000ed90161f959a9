"""Distilled maps against the bodies they were made of."""

from __future__ import annotations

import numpy as np
import pytest
from bending_bar import BendingBar

from kin4d.geometry.sampling import sample_surface
from kin4d.kinematics.compiled.autograd import AutogradKinematics
from kin4d.kinematics.compiled.compiled_kinematics import compile_kinematics
from kin4d.kinematics.compiled.low_rank import LowRankKinematics


@pytest.fixture(scope="module")
def bar() -> BendingBar:
    return BendingBar(subdivisions=2)


@pytest.mark.parametrize("floating", [False, True])
def test_energy_forces_and_surface_points_agree(bar, floating) -> None:
    surface = sample_surface(bar.rest, 20, seed=0)
    fitted = LowRankKinematics(bar, surface, floating=floating, mass_scale=2.0)
    exact = AutogradKinematics(bar, surface, floating=floating, mass_scale=2.0)
    assert fitted.error < 1e-3 * bar.rest.bbox_diagonal
    root = [0.3, 0.2, 0.1, 1.0, 0.5, -0.4] if floating else []
    q = np.array([*root, 0.5, -0.3, 0.2, 0.1])
    (_, ours), (_, theirs) = fitted.embed(q), exact.embed(q)
    mass_matrix = theirs.T @ theirs
    assert np.abs(ours.T @ ours - mass_matrix).max() < 5e-3 * np.abs(mass_matrix).max()
    np.testing.assert_allclose(fitted.at(q).surface_points, exact.at(q).surface_points, atol=2e-3)
    force = np.random.default_rng(0).normal(size=(200, 3))
    expected = theirs.T @ exact.pull_back(force)
    assert np.abs(ours.T @ fitted.pull_back(force) - expected).max() < 0.02 * np.abs(expected).max()


def test_jacobian_is_the_derivative(bar) -> None:
    fitted = LowRankKinematics(
        bar, sample_surface(bar.rest, 5, seed=0), floating=True, mass_scale=1.0
    )
    q = np.array([0.3, 0.2, 0.1, 1.0, 0.5, -0.4, 0.5, -0.3, 0.2, 0.1])
    _, jacobian = fitted.embed(q)
    step = 1e-6
    numeric = [
        (fitted.embed(q + step * axis)[0] - fitted.embed(q - step * axis)[0]) / (2 * step)
        for axis in np.eye(10)
    ]
    np.testing.assert_allclose(jacobian, np.stack(numeric, 1), atol=1e-7)


def test_a_body_that_no_fit_follows_is_evaluated_by_itself(bar) -> None:
    class Jagged(BendingBar):
        def points(self, q):
            return super().points(q) + 0.2 * (40 * q[..., None, :1]).sin()

    jagged = Jagged(subdivisions=2)
    found = compile_kinematics(jagged, sample_surface(bar.rest, 5, seed=0))
    assert not found.compiled
