"""What learned policies read of an observation, as arrays."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from kin4d.envs.environment_state import BODIES

PROMPT = 48
"""Numbers that words of the instruction are hashed to."""
IMAGE = (32, 48)
"""Height and width of images as the networks see them."""
FAR = 1.5
"""m from the middle of the workspace beyond which points are cut off."""


def proprioception(observation: Mapping[str, Any]) -> np.ndarray:
    """[n + 10] float32: joints, opening, position and first two axes of the grasp frame."""
    pose = np.asarray(observation["observation/eef_pose"], np.float64)
    axes = Rotation.from_rotvec(pose[3:]).as_matrix()[:, :2]
    joints = np.asarray(observation["observation/joint_position"])
    opening = np.asarray(observation["observation/gripper_position"])
    return np.concatenate([joints, opening, pose[:3], axes.T.ravel()]).astype(np.float32)


def body_states(observation: Mapping[str, Any]) -> np.ndarray:
    """[45 + 9] float32: the environment's state, and where the bodies are from the grasp frame."""
    state = np.asarray(observation["observation/environment_state"], np.float32)
    position = np.asarray(observation["observation/eef_pose"], np.float32)[:3]
    bodies = state.reshape(BODIES, -1)
    given = bodies.any(1, keepdims=True)
    return np.concatenate([state, (given * (bodies[:, :3] - position)).ravel()])


def prompt_words(prompt: str) -> np.ndarray:
    """[PROMPT] float32: 1 where a word of the instruction is hashed to."""
    found = np.zeros(PROMPT, np.float32)
    for word in re.findall(r"[a-z]+", prompt.lower()):
        found[zlib.crc32(word.encode()) % PROMPT] = 1.0
    return found


def image_points(observation: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Colours [H, W, 3] uint8 and points [H, W, 3] float16 (m, world) of size `IMAGE`."""
    rgb, points = observation["observation/image"], observation["observation/pointmap"]
    rows, columns = (
        ((np.arange(count) + 0.5) * size / count).astype(int)
        for count, size in zip(IMAGE, np.shape(rgb), strict=False)
    )
    chosen = np.asarray(points)[np.ix_(rows, columns)].astype(np.float64)
    pose = np.asarray(observation["observation/camera_pose"], np.float64)
    world = chosen @ pose[:3, :3].T + pose[:3, 3]
    world = np.where(chosen.any(-1, keepdims=True), world, FAR).clip(-FAR, FAR)
    return np.asarray(rgb)[np.ix_(rows, columns)], world.astype(np.float16)
