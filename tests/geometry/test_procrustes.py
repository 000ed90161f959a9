"""Rigid motions between points."""

import numpy as np
from scipy.spatial.transform import Rotation

from kin4d.geometry.procrustes import best_motion, best_rotation


def test_motions_of_many_sets_of_points_are_found():
    rng = np.random.default_rng(0)
    turn, shift = Rotation.random(5, rng=rng).as_matrix(), rng.normal(size=(5, 3))
    points = rng.normal(size=(5, 20, 3))
    found = best_motion(points, points @ turn.mT + shift[:, None])
    np.testing.assert_allclose(found[0], turn, atol=1e-12)
    np.testing.assert_allclose(found[1], shift, atol=1e-12)


def test_what_is_mirrored_is_turned_and_never_mirrored_back():
    points = np.random.default_rng(1).normal(size=(20, 3))
    turn = best_rotation((points * [1, 1, -1]).T @ points)
    np.testing.assert_allclose(np.linalg.det(turn), 1)
    np.testing.assert_allclose(turn @ turn.T, np.eye(3), atol=1e-12)


def test_noise_does_not_decide():
    rng = np.random.default_rng(2)
    turn, points = Rotation.from_rotvec([0.1, 0.2, -0.3]).as_matrix(), rng.normal(size=(2000, 3))
    moved = points @ turn.T + 0.1 * rng.normal(size=points.shape)
    np.testing.assert_allclose(best_motion(points, moved)[0], turn, atol=0.01)
