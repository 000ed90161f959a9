"""Mass matrices: what compiled code makes of them, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from kin4d.dynamics.small_linalg import (
    apply_damping,
    mass_matrix,
    velocity_from_momentum,
    write_inverse,
)


@pytest.fixture
def matrices() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A mass matrix, a symmetric matrix that is not positive, and a momentum."""
    rng = np.random.default_rng(3)
    other = rng.normal(size=(5, 5))
    return mass_matrix(rng.normal(size=(12, 5))), other + other.T, rng.normal(size=5)


@pytest.mark.parametrize("rows", [9, 400])
def test_metric_is_that_of_the_jacobian(rows: int) -> None:
    jacobian = np.random.default_rng(rows).normal(size=(rows, 4))
    np.testing.assert_allclose(mass_matrix(jacobian), jacobian.T @ jacobian, rtol=1e-12)


def test_rates_and_inverses_solve(matrices) -> None:
    gram, _, p = matrices
    np.testing.assert_allclose(gram @ velocity_from_momentum(gram, p), p, atol=1e-12)
    stiffness, found = np.eye(5), np.empty((5, 5))
    assert write_inverse(gram, stiffness, 0.3, found)
    np.testing.assert_allclose(found @ (gram + 0.3 * stiffness), np.eye(5), atol=1e-12)


def test_what_cannot_be_inverted_is_said_to_be_so() -> None:
    singular = np.zeros((2, 2))
    assert np.isnan(velocity_from_momentum(singular, np.ones(2))).all()
    assert not write_inverse(singular, singular, 1.0, np.empty((2, 2)))
    np.testing.assert_array_equal(
        apply_damping(singular, np.ones(2), np.eye(2), 0.0, 1.0), np.ones(2)
    )


def test_damping_is_the_exponential_to_second_order(matrices) -> None:
    gram, damping, p = matrices
    ratio = 0.2 * np.linalg.solve(gram, damping + 0.7 * gram)
    expected = gram @ np.linalg.solve(
        np.eye(5) + ratio + 0.5 * ratio @ ratio, np.linalg.solve(gram, p)
    )
    np.testing.assert_allclose(apply_damping(gram, p, damping, 0.7, 0.2), expected, atol=1e-12)
    assert np.abs(apply_damping(gram, p, 1e12 * np.eye(5), 0.0, 1.0)).max() < 1e-9
