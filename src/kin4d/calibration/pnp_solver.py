"""The least squares behind `solve_camera`: initial poses, steps and robust iterations.

A step is seven numbers: translation (m) and rotation vector (rad) of the camera in its own frame,
and the change of the logarithm of its focal length.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from kin4d.geometry.camera import Camera

Evaluate = Callable[[Camera], tuple[np.ndarray, np.ndarray]]


_DIRECTIONS, _ROLLS = 48, 8  # of the initial poses


def perturbed(camera: Camera, step: np.ndarray) -> Camera:
    """`camera` after a step [7]."""
    from scipy.spatial.transform import Rotation

    pose, K = camera.pose.copy(), camera.K.copy()
    # Through a quaternion and back, so that rounding never adds up to a skewed frame.
    rotated = Rotation.from_matrix(pose[:3, :3]) * Rotation.from_rotvec(step[3:6])
    pose[:3, 3] += pose[:3, :3] @ step[:3]
    pose[:3, :3] = rotated.as_matrix()
    K[[0, 1], [0, 1]] *= np.exp(step[6])
    return replace(camera, pose=pose, K=K)


def project_with_jacobian(camera: Camera, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pixels [N, 2] of world points [N, 3] (m), and their derivative by a step, [N, 2, 7]."""
    matrix = camera.world_to_camera
    local = points @ matrix[:3, :3].T + matrix[:3, 3]
    x, y, z = local.T
    z = np.where(z > 0, z, np.nan)
    by_point = np.zeros((len(points), 2, 3))
    by_point[:, 0, 0], by_point[:, 1, 1] = 1 / z, 1 / z
    by_point[:, 0, 2], by_point[:, 1, 2] = -x / z**2, -y / z**2
    lens = camera.K[:2, :2]
    by_point = lens @ by_point
    from_centre = np.stack([x / z, y / z], axis=1) @ lens.T
    # A camera that moves by v and turns by w sees points move by -v - w x p.
    cross = np.zeros((len(points), 3, 3))
    cross[:, 0, 1], cross[:, 0, 2], cross[:, 1, 2] = -local[:, 2], y, -x
    cross -= cross.transpose(0, 2, 1)
    jacobian = np.concatenate([-by_point, by_point @ cross, from_centre[:, :, None]], axis=2)
    return from_centre + camera.K[:2, 2], jacobian


def robust_fit(
    camera: Camera,
    evaluate: Evaluate,
    *,
    huber: float | np.ndarray,
    free_focal: bool,
    steps: int = 60,
) -> tuple[Camera, float]:
    """Levenberg-Marquardt with Huber's loss; returns the camera and the loss it reached.

    Args:
        camera: The start.
        evaluate: Residuals [M] and their derivative [M, 7] at a camera; NaN where it cannot see.
        huber: Residuals beyond this count linearly; one number, or one for each.
        free_focal: Whether the focal length is unknown too.
        steps: At most so many tries.
    """
    free = 7 if free_focal else 6
    damping = 1e-3
    residuals, jacobian = evaluate(camera)
    loss = _total(residuals, huber)
    for _ in range(steps):
        weight = huber_weight(residuals, huber)[:, None]
        active = jacobian[:, :free]
        normal, gradient = active.T @ (weight * active), active.T @ (weight[:, 0] * residuals)
        scale = damping * np.diag(normal) + 1e-12 * normal.max()
        step = np.zeros(7)
        step[:free] = -np.linalg.solve(normal + np.diag(scale), gradient)
        if not np.isfinite(step).all() or np.abs(step).max() > 50:
            damping = max(damping, 1e-3) * 10
            continue
        candidate = perturbed(camera, step)
        new_residuals, new_jacobian = evaluate(candidate)
        new_loss = _total(new_residuals, huber)
        if new_loss < loss:
            small = loss - new_loss <= 1e-14 * loss
            camera, residuals, jacobian, loss = candidate, new_residuals, new_jacobian, new_loss
            damping = max(damping / 10, 1e-12)
            if small or np.abs(step).max() < 1e-13:
                break
        elif damping > 1e9:
            break
        else:
            damping = max(damping * 10, 1e-9)
    return camera, loss


def huber_weight(residuals: np.ndarray, huber: float | np.ndarray) -> np.ndarray:
    """How much each residual counts beside a quadratic loss."""
    return huber / np.maximum(np.abs(residuals), huber)


def huber_loss(residuals: np.ndarray, huber: float | np.ndarray) -> np.ndarray:
    """Huber's loss of each residual: quadratic up to `huber`, linear beyond."""
    size = np.abs(residuals)
    return np.where(size <= huber, size**2 / 2, huber * (size - huber / 2))


def _total(residuals: np.ndarray, huber: float | np.ndarray) -> float:
    """Sum of Huber's loss; infinite if anything cannot be seen."""
    total = float(huber_loss(residuals, huber).sum())
    return total if np.isfinite(total) else float("inf")


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
    rotated = np.einsum("sij,nj->sni", rotation, points)
    right = rays * rotated[..., 2:] - rotated[..., :2]
    translation = right.reshape(len(rotation), -1) @ np.linalg.pinv(left.reshape(-1, 3)).T
    local = rotated + translation[:, None]
    front = (local[..., 2] > 1e-6).all(1)
    rotation, translation, local = rotation[front], translation[front], local[front]
    pose = np.tile(np.eye(4), (len(rotation), 1, 1))
    pose[:, :3, :3] = rotation.transpose(0, 2, 1)
    pose[:, :3, 3] = -np.einsum("sji,sj->si", rotation, translation)
    miss = (local[..., :2] / local[..., 2:] - rays) * focal
    return pose, huber_loss(miss, huber).sum((1, 2))


def _rotations() -> np.ndarray:
    """[S, 3, 3] world-to-camera rotations spread over all view directions and rolls."""
    from scipy.spatial.transform import Rotation

    index = np.arange(_DIRECTIONS) + 0.5
    tilt, azimuth = np.arccos(1 - 2 * index / _DIRECTIONS), np.pi * (1 + 5**0.5) * index
    roll = np.arange(_ROLLS) * 2 * np.pi / _ROLLS
    angles = np.stack(
        [np.repeat(azimuth, _ROLLS), np.repeat(tilt, _ROLLS), np.tile(roll, _DIRECTIONS)], axis=1
    )
    return Rotation.from_euler("ZXZ", angles).as_matrix()
