"""Cameras of other programs, against what those programs say of themselves."""

import json

import numpy as np
import pytest

from kin4d.errors import InputError
from kin4d.geometry.camera import Camera
from kin4d.geometry.camera_conventions import CAMERA_AXES, to_opencv

EYE, TARGET = np.array([0.9, -1.1, 0.8]), np.array([0.2, 0.1, 0.1])
OURS = Camera.look_at(EYE, TARGET, width=96, height=64)


@pytest.mark.parametrize("name", CAMERA_AXES)
def test_every_convention_is_a_rotation(name: str):
    axes = CAMERA_AXES[name]
    np.testing.assert_allclose(axes @ axes.T, np.eye(3))
    assert np.linalg.det(axes) == pytest.approx(1)


def test_opengl_is_the_inverse_of_glu_look_at():
    # gluLookAt: rows of the view matrix are side, up and minus forward.
    forward = (TARGET - EYE) / np.linalg.norm(TARGET - EYE)
    side = np.cross(forward, [0, 0, 1.0])
    side /= np.linalg.norm(side)
    view = np.eye(4)
    view[:3, :3] = side, np.cross(side, forward), -forward
    view[:3, 3] = -view[:3, :3] @ EYE
    np.testing.assert_allclose(to_opencv(np.linalg.inv(view), "opengl"), OURS.pose, atol=1e-12)


def test_sapien_and_ros_look_along_x():
    # SAPIEN's own example: forward, left and up are the columns of a camera's pose.
    forward = (TARGET - EYE) / np.linalg.norm(TARGET - EYE)
    left = np.cross([0, 0, 1.0], forward)
    left /= np.linalg.norm(left)
    pose = np.eye(4)
    pose[:3, :3] = np.stack([forward, left, np.cross(forward, left)], axis=1)
    pose[:3, 3] = EYE
    for name in ("sapien", "ros"):
        np.testing.assert_allclose(to_opencv(pose, name), OURS.pose, atol=1e-12)


def test_mujoco_cameras_see_what_mujoco_says():
    mujoco = pytest.importorskip("mujoco")
    x, _, z = OURS.pose[:3, :3].T
    axes = " ".join(f"{value:.12f}" for value in (*x, *np.cross(-z, x)))
    model = mujoco.MjModel.from_xml_string(
        f"<mujoco><worldbody><body pos='0 0 0'>"
        f"<camera name='c' pos='{EYE[0]} {EYE[1]} {EYE[2]}' xyaxes='{axes}'/>"
        "<geom size='0.1'/></body></worldbody></mujoco>"
    )
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = data.cam_xmat[0].reshape(3, 3), data.cam_xpos[0]
    for name in ("mujoco", "robosuite"):
        np.testing.assert_allclose(to_opencv(pose, name), OURS.pose, atol=1e-6)


def test_robosuite_agentview_looks_at_its_table():
    # robosuite's table arena: camera "agentview", and the table's top at z = 0.8.
    from scipy.spatial.transform import Rotation

    w, x, y, z = 0.653, 0.271, 0.271, 0.653
    pose = np.eye(4)
    pose[:3, :3] = Rotation.from_quat([x, y, z, w]).as_matrix()
    pose[:3, 3] = 0.5, 0.0, 1.35
    camera = Camera(OURS.K, to_opencv(pose, "robosuite"), 96, 64)
    pixel, depth = camera.project(np.array([0.0, 0.0, 0.85]))
    assert depth > 0
    np.testing.assert_allclose(pixel, [47.5, 31.5], atol=4)


def test_files_name_their_convention(tmp_path):
    pose = np.array(OURS.pose)
    pose[:3, :3] = pose[:3, :3] @ np.diag([1.0, -1.0, -1.0])
    data = {**OURS.to_dict(), "pose_camera_to_world": pose.tolist()}
    file = tmp_path / "camera.json"
    for stated, asked in (("opengl", None), ("", "blender"), ("opencv: ours", "mujoco")):
        file.write_text(json.dumps({**data, "convention": stated or "opencv"}))
        np.testing.assert_allclose(Camera.load(file, convention=asked).pose, OURS.pose, atol=1e-12)
    file.write_text(json.dumps({**data, "convention": "openvg"}))
    with pytest.raises(InputError, match=r"openvg.*opencv, ros_optical, opengl"):
        Camera.load(file)
