"""Camera poses of other programs, by the name of their convention.

kin4d's own is OpenCV's: x right, y down, z forward. A pose is camera to world.
"""

from __future__ import annotations

import numpy as np

from kin4d.errors import InputError

_OPENGL = np.diag([1.0, -1.0, -1.0])
_FORWARD_X = np.array([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])

CAMERA_AXES = {
    "opencv": np.eye(3),
    "ros_optical": np.eye(3),
    "opengl": _OPENGL,
    "blender": _OPENGL,
    "mujoco": _OPENGL,
    "robosuite": _OPENGL,
    "ros": _FORWARD_X,
    "sapien": _FORWARD_X,
}
"""OpenCV's axes, one a column, in the camera frame of each convention.

opencv, ros_optical: x right, y down, z forward. opengl, blender, mujoco, robosuite (as in its model
and `sim.data`): x right, y up, z backward. ros (REP 103), sapien: x forward, y left, z up.
"""


def to_opencv(pose: np.ndarray, convention: str) -> np.ndarray:
    """[4, 4] pose of a camera in OpenCV's convention.

    Args:
        pose: [4, 4] camera to world, in another convention.
        convention: Its name; see `CAMERA_AXES`.
    """
    if convention not in CAMERA_AXES:
        raise InputError(
            "there is no such camera convention", value=convention, allowed=", ".join(CAMERA_AXES)
        )
    pose = np.array(pose, np.float64)
    if pose.shape != (4, 4):
        raise InputError("camera pose must be a finite 4x4 matrix", value=pose.tolist())
    pose[:3, :3] = pose[:3, :3] @ CAMERA_AXES[convention]
    return pose
