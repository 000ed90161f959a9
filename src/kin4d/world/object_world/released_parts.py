"""Parts that the robot let go of fall to what is below them.

The part dynamics learned from hands that put things down before they open. What is released in the
air would hang there, so it falls freely, straight down, until it meets the support or another part.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import KDTree

from kin4d.world.object_world.dynamics_sample import DynamicsSample

_GRAVITY = 9.81  # m/s²
_LIFTED = 0.02  # m that a part must have been carried up
_STANDING = 0.03  # m above what is below it, at most, of a part that stands freely at first
_GAP = 0.005  # m above what is below it, from which a part falls
_OPENED = 0.1  # of the gripper's range, by which it opens from its grasp
_FREE = 0.03  # m off the robot at which a part is free, if the gripper's opening is unknown
_FOOTPRINT = 0.012  # m across, within which a point is below another


def drop_released(sample: DynamicsSample, poses: np.ndarray) -> np.ndarray:
    """[T, P, 3, 4]: the poses, with parts falling that are free in the air.

    Args:
        sample: What the poses were predicted from.
        poses: [T, P, 3, 4] of the parts since the first frame, support frame.
    """
    poses = poses.copy()
    points = np.einsum("tpij,pmj->tpmi", poses[..., :3], sample.parts) + poses[..., None, :, 3]
    bottom = np.percentile(points[..., 2], 5, axis=-1)
    for part in range(poses.shape[1]):
        lifted = bottom[:, part] - bottom[0, part] > _LIFTED
        if not lifted.any() or bottom[0, part] - _height_below(points[0], part) > _STANDING:
            continue
        fall = _fall(sample, points, part, int(lifted.argmax()))
        poses[:, part, 2, 3] -= fall
        points[:, part, :, 2] -= fall[:, None]
    return poses


def _fall(sample: DynamicsSample, points: np.ndarray, part: int, start: int) -> np.ndarray:
    """[T] m that a part has fallen."""
    opening = sample.proprioception[:, 0].astype(np.float64)
    held = np.nan if np.isnan(opening).any() else opening[start]
    fallen, speed = np.zeros(len(points)), 0.0
    for t in range(start + 1, len(points)):
        fallen[t] = fallen[t - 1]
        held = min(held, opening[t]) if not speed else held
        here = points[t].copy()
        here[part, :, 2] -= fallen[t]
        gap = float(np.percentile(here[part, :, 2], 5)) - _height_below(here, part)
        if gap < _GAP or not _is_free(sample, points, part, t, opening[t], held):
            speed = 0.0
            continue
        speed += _GRAVITY * sample.seconds
        fallen[t] += min(speed * sample.seconds, gap)
    return fallen


def _is_free(
    sample: DynamicsSample, points: np.ndarray, part: int, t: int, opening: float, held: float
) -> bool:
    """Whether nothing carries a part: the gripper has opened, or is far from it."""
    if not np.isnan(held):
        return bool(opening > held + _OPENED)
    return bool(KDTree(sample.robot_points[t]).query(points[t, part])[0].min() > _FREE)


def _height_below(points: np.ndarray, part: int) -> float:
    """m: the highest of the support and the other parts [P, M, 3] straight below a part."""
    own = points[part]
    others = np.delete(points, part, axis=0).reshape(-1, 3)
    others = others[others[:, 2] < np.percentile(own[:, 2], 50)]
    if not len(others):
        return 0.0
    below = KDTree(own[:, :2]).query(others[:, :2])[0] < _FOOTPRINT
    return float(max(0.0, others[below, 2].max())) if below.any() else 0.0
