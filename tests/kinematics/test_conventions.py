from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from kin4d.errors import InputError
from kin4d.kinematics.conventions import (
    matrix_to_rotation,
    poses_to_values,
    rotation_columns,
    rotation_to_matrix,
    values_to_poses,
)

TURNS = Rotation.random(20, rng=np.random.default_rng(0))
SAME = {
    "quaternion_xyzw": TURNS.as_quat(),
    "quaternion_wxyz": np.roll(TURNS.as_quat(), 1, axis=1),
    "rotvec": TURNS.as_rotvec(),
    "matrix": TURNS.as_matrix().reshape(-1, 9),
    "rot6d": TURNS.as_matrix()[:, :, :2].swapaxes(1, 2).reshape(-1, 6),
    "euler_xyz": TURNS.as_euler("xyz"),
    "euler_ZYX": TURNS.as_euler("ZYX"),
    "euler_zyz": TURNS.as_euler("zyz"),
}


@pytest.mark.parametrize("convention", SAME)
def test_conventions_agree_with_scipy(convention) -> None:
    matrices = rotation_to_matrix(SAME[convention], convention)
    np.testing.assert_allclose(matrices, TURNS.as_matrix(), atol=1e-12)
    again = matrix_to_rotation(matrices, convention)
    assert again.shape[1] == len(rotation_columns(convention))
    np.testing.assert_allclose(rotation_to_matrix(again, convention), matrices, atol=1e-12)
    if not convention.startswith("quaternion"):  # a quaternion and its negative are the same turn
        np.testing.assert_allclose(again, SAME[convention], atol=1e-9)


def test_fixed_and_moving_axes_differ() -> None:
    angles = np.array([[0.1, 0.2, 0.3]])
    x, y, z = (Rotation.from_euler(a, v).as_matrix() for a, v in zip("xyz", angles[0], strict=True))
    np.testing.assert_allclose(rotation_to_matrix(angles, "euler_xyz")[0], z @ y @ x, atol=1e-12)
    np.testing.assert_allclose(rotation_to_matrix(angles, "euler_XYZ")[0], x @ y @ z, atol=1e-12)


def test_nearly_rotations_become_rotations() -> None:
    for convention in ("quaternion_wxyz", "rot6d"):
        matrices = rotation_to_matrix(3.0 * SAME[convention], convention)
        np.testing.assert_allclose(matrices, TURNS.as_matrix(), atol=1e-12)
    noisy = rotation_to_matrix(SAME["matrix"] + 1e-4, "matrix")
    np.testing.assert_allclose(
        noisy @ noisy.swapaxes(1, 2), np.tile(np.eye(3), (20, 1, 1)), atol=1e-12
    )
    np.testing.assert_allclose(noisy, TURNS.as_matrix(), atol=1e-3)


def test_poses_round_trip() -> None:
    values = np.concatenate([np.arange(60.0).reshape(20, 3), SAME["rotvec"]], 1)
    poses = values_to_poses(values, "rotvec")
    np.testing.assert_allclose(poses[:, :3, 3], values[:, :3])
    np.testing.assert_allclose(poses_to_values(poses, "rotvec"), values, atol=1e-9)


@pytest.mark.parametrize("name", ["quaternion", "euler_xxz", "euler_xyZ", "euler_xy", "axis_angle"])
def test_unknown_conventions_list_the_known(name) -> None:
    with pytest.raises(InputError, match="quaternion_wxyz, quaternion_xyzw, rotvec"):
        rotation_columns(name)


def test_what_is_no_rotation_is_refused() -> None:
    with pytest.raises(InputError, match="row 1 is not a rotation"):
        rotation_to_matrix(np.array([[1.0, 0, 0, 0], [0, 0, 0, 0]]), "quaternion_wxyz")
    with pytest.raises(InputError, match="row 0 is not a rotation"):
        rotation_to_matrix(-np.eye(3).reshape(1, 9), "matrix")
    with pytest.raises(InputError, match="has 4 numbers"):
        rotation_to_matrix(np.zeros((2, 3)), "quaternion_xyzw")
