"""Rotation conventions: representations of a rotation as numbers, each with a name.

Names: "quaternion_wxyz", "quaternion_xyzw", "rotvec" (rad), "matrix" (nine numbers, row by row),
"rot6d" (the first two columns, one after the other), and "euler_" with three axes (rad): small
letters rotate about fixed axes ("euler_xyz", extrinsic), capitals about moving ones ("euler_ZYX",
intrinsic).
"""

from __future__ import annotations

import re

import numpy as np

from kin4d.errors import InputError

ROTATIONS = "quaternion_wxyz, quaternion_xyzw, rotvec, matrix, rot6d, euler_xyz, euler_ZYX, ..."
_COLUMNS = {
    "quaternion_wxyz": ("qw", "qx", "qy", "qz"),
    "quaternion_xyzw": ("qx", "qy", "qz", "qw"),
    "rotvec": ("rx", "ry", "rz"),
    "matrix": tuple(f"r{i}{j}" for i in range(3) for j in range(3)),
    "rot6d": tuple(f"r{i}{j}" for j in range(2) for i in range(3)),
}
_EULER = re.compile(r"euler_([xyz]{3}|[XYZ]{3})")


def rotation_columns(convention: str) -> tuple[str, ...]:
    """What the numbers of a convention are called, in order."""
    if convention in _COLUMNS:
        return _COLUMNS[convention]
    axes = _euler_axes(convention)
    return tuple(f"angle{i + 1}_{axis}" for i, axis in enumerate(axes))


def rotation_to_matrix(values: np.ndarray, convention: str) -> np.ndarray:
    """[T, n] numbers to [T, 3, 3] rotation matrices; the nearest rotation where they are not one.

    Quaternions of any length, matrices and rot6d that are not quite orthogonal are accepted.
    """
    from scipy.spatial.transform import Rotation

    values = np.asarray(values, np.float64)
    width = len(rotation_columns(convention))
    if values.ndim != 2 or values.shape[1] != width:
        raise InputError(
            f"rotation '{convention}' has {width} numbers",
            value=values.shape,
            allowed=", ".join(rotation_columns(convention)),
        )
    if convention.startswith("quaternion"):
        _check_length(np.linalg.norm(values, axis=1), convention)
        return Rotation.from_quat(values, scalar_first=convention == "quaternion_wxyz").as_matrix()
    if convention == "rotvec":
        return Rotation.from_rotvec(values).as_matrix()
    if convention == "matrix":
        matrices = values.reshape(-1, 3, 3)
        _check_length(np.cbrt(np.linalg.det(matrices)), convention)
        return Rotation.from_matrix(matrices).as_matrix()
    if convention == "rot6d":
        first, second = values[:, :3], values[:, 3:]
        _check_length(np.linalg.norm(np.cross(first, second), axis=1), convention)
        first = first / np.linalg.norm(first, axis=1, keepdims=True)
        second = second - (first * second).sum(1, keepdims=True) * first
        second /= np.linalg.norm(second, axis=1, keepdims=True)
        return np.stack([first, second, np.cross(first, second)], -1)
    return Rotation.from_euler(_euler_axes(convention), values).as_matrix()


def matrix_to_rotation(matrices: np.ndarray, convention: str) -> np.ndarray:
    """[T, 3, 3] rotation matrices to [T, n] numbers."""
    from scipy.spatial.transform import Rotation

    rotation_columns(convention)
    if convention == "matrix":
        return np.asarray(matrices).reshape(-1, 9)
    if convention == "rot6d":
        return np.concatenate([matrices[:, :, 0], matrices[:, :, 1]], 1)
    rotation = Rotation.from_matrix(matrices)
    if convention.startswith("quaternion"):
        return rotation.as_quat(canonical=True, scalar_first=convention == "quaternion_wxyz")
    if convention == "rotvec":
        return rotation.as_rotvec()
    return rotation.as_euler(_euler_axes(convention))


def values_to_poses(values: np.ndarray, convention: str) -> np.ndarray:
    """[T, 3 + n]: x, y, z (m) and a rotation, to rigid transforms [T, 4, 4]."""
    poses = np.tile(np.eye(4), (len(values), 1, 1))
    poses[:, :3, 3] = values[:, :3]
    poses[:, :3, :3] = rotation_to_matrix(values[:, 3:], convention)
    return poses


def poses_to_values(poses: np.ndarray, convention: str) -> np.ndarray:
    """Inverse of `values_to_poses`."""
    return np.concatenate([poses[:, :3, 3], matrix_to_rotation(poses[:, :3, :3], convention)], 1)


def _euler_axes(convention: str) -> str:
    match = _EULER.fullmatch(convention)
    axes = match.group(1) if match else ""
    if not axes or axes[0] == axes[1] or axes[1] == axes[2]:
        raise InputError("unknown rotation convention", value=convention, allowed=ROTATIONS)
    return axes


def _check_length(lengths: np.ndarray, convention: str) -> None:
    bad = np.flatnonzero(~(lengths > 1e-6))
    if len(bad):
        raise InputError(f"row {bad[0]} is not a rotation", allowed=f"a '{convention}'")
