"""Poses as numbers on a command line."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kin4d.errors import InputError


def pose_of_numbers(numbers: Sequence[float]) -> np.ndarray:
    """[4, 4] of x y z (m), x y z qw qx qy qz, or the 16 numbers of a matrix, row by row."""
    values = np.array(numbers, np.float64)
    pose = np.eye(4)
    if len(values) == 16:
        return values.reshape(4, 4)
    if len(values) not in (3, 7) or (len(values) == 7 and not np.linalg.norm(values[3:]) > 0):
        raise InputError(
            "numbers of a pose",
            value=tuple(numbers),
            allowed="x y z (m), x y z qw qx qy qz, or 16 of a matrix, row by row",
        )
    pose[:3, 3] = values[:3]
    if len(values) == 7:
        from scipy.spatial.transform import Rotation

        w, x, y, z = values[3:]
        pose[:3, :3] = Rotation.from_quat([x, y, z, w]).as_matrix()
    return pose
