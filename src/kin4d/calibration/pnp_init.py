"""Where to start looking for a camera of which nothing is known but its lens."""

from __future__ import annotations

import numpy as np

from kin4d.calibration.pnp_step import huber_loss
from kin4d.geometry.camera import Camera

_DIRECTIONS, _ROLLS = 48, 8


def initial_poses(
    camera: Camera, points: np.ndarray, pixels: np.ndarray, *, huber: float
) -> tuple[np.ndarray, np.ndarray]:
    """[S, 4, 4] camera poses with all points in front, and Huber's loss [S] of their pixels.

    Rotations are spread over all view directions and rolls; for each, the translation that best
    brings points [N, 3] (m) to pixels [N, 2] is a linear problem.
    """
    rotation = _rotations()
    focal = np.diag(camera.K)[:2]
    rays = (pixels - camera.K[:2, 2]) / focal
    # A turned point (x, y, z) is seen along the ray (a, b, 1) if x + tx = a (z + tz) and
    # y + ty = b (z + tz).
    left = np.zeros((len(points), 2, 3))
    left[:, 0, 0] = left[:, 1, 1] = 1
    left[:, :, 2] = -rays
    turned = np.einsum("sij,nj->sni", rotation, points)
    right = rays * turned[..., 2:] - turned[..., :2]
    shift = right.reshape(len(rotation), -1) @ np.linalg.pinv(left.reshape(-1, 3)).T
    local = turned + shift[:, None]
    front = (local[..., 2] > 1e-6).all(1)
    rotation, shift, local = rotation[front], shift[front], local[front]
    pose = np.tile(np.eye(4), (len(rotation), 1, 1))
    pose[:, :3, :3] = rotation.transpose(0, 2, 1)
    pose[:, :3, 3] = -np.einsum("sji,sj->si", rotation, shift)
    miss = (local[..., :2] / local[..., 2:] - rays) * focal
    return pose, huber_loss(miss, huber).sum((1, 2))


def _rotations() -> np.ndarray:
    """[S, 3, 3] world-to-camera rotations spread over all view directions and rolls."""
    from scipy.spatial.transform import Rotation

    index = np.arange(_DIRECTIONS) + 0.5
    tilt, turn = np.arccos(1 - 2 * index / _DIRECTIONS), np.pi * (1 + 5**0.5) * index
    roll = np.arange(_ROLLS) * 2 * np.pi / _ROLLS
    angles = np.stack(
        [np.repeat(turn, _ROLLS), np.repeat(tilt, _ROLLS), np.tile(roll, _DIRECTIONS)], axis=1
    )
    return Rotation.from_euler("ZXZ", angles).as_matrix()
