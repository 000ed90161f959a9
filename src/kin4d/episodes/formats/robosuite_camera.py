"""Where the fixed cameras of a robosuite scene stand, from the scene's MuJoCo text."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from kin4d.errors import InputError
from kin4d.geometry.camera import Camera
from kin4d.reading import reading

# MuJoCo's cameras look along -z with y up; ours look along z with y down.
_TO_OPENCV = np.diag([1.0, -1.0, -1.0])


def fixed_cameras(model: str) -> dict[str, Callable[[int, int], Camera]]:
    """Cameras that stand in the world of an MJCF text: by name, what makes one of an image size.

    Their world is the frame of the robot's base, the body "robot0_base" or "base".
    """
    if not model.strip():
        return {}
    from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    with reading("a demonstration's model", "MJCF text"):
        root = etree.fromstring(model.encode(), parser)
    world = root.find("worldbody")
    if world is None:
        return {}
    to_base = np.linalg.inv(_base(world))
    found = {}
    for camera in world.findall("camera"):
        if camera.get("name") and camera.get("quat"):
            pose = to_base @ _pose(camera)
            pose[:3, :3] = pose[:3, :3] @ _TO_OPENCV
            fov = float(camera.get("fovy", 45.0))
            found[camera.get("name")] = partial(_camera, pose, fov)
    return found


def _base(world: Any) -> np.ndarray:
    """[4, 4] pose of the robot's base in the world."""
    for body in world.iter("body"):
        if body.get("name") in ("robot0_base", "base"):
            chain = [body, *body.iterancestors("body")]
            pose = np.eye(4)
            for one in reversed(chain):
                pose = pose @ _pose(one)
            return pose
    return np.eye(4)


def _pose(element: Any) -> np.ndarray:
    from scipy.spatial.transform import Rotation

    pose = np.eye(4)
    pose[:3, 3] = _numbers(element.get("pos", "0 0 0"), 3)
    w, x, y, z = _numbers(element.get("quat", "1 0 0 0"), 4)
    pose[:3, :3] = Rotation.from_quat([x, y, z, w]).as_matrix()
    return pose


def _numbers(text: str, count: int) -> np.ndarray:
    try:
        values = np.array(text.split(), np.float64)
    except ValueError:
        values = np.zeros(0)
    if len(values) != count:
        raise InputError("a demonstration's model has a malformed place", value=text)
    return values


def _camera(pose: np.ndarray, fov: float, width: int, height: int) -> Camera:
    focal = 0.5 * height / np.tan(np.radians(fov) / 2)
    K = np.array([[focal, 0, (width - 1) / 2], [0, focal, (height - 1) / 2], [0, 0, 1.0]])
    return Camera(K, pose, width, height)
