"""Clean the robot of an observation: fill holes, remove point noise, align it to the first frame.

Pointmaps have missing pixels, points are noisy, cameras are miscalibrated, joint readings lag. But
links are rigid, and the first frame shows the robot, so an image shift and roll of the rendered
robot is estimated from its depth and removed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from kin4d.geometry.procrustes import best_rotation
from kin4d.world.image_shifts import grid_search, linear_map, robot_centre, warp_matrices
from kin4d.world.observation import Observation, with_robot_offset

_MIN_PIXELS = 40  # of the robot, for an alignment
_OUTSIDE_ERROR = 0.008  # m: depth error of a pixel outside the image
_MIN_INSIDE = 0.6  # share of the robot's pixels that must stay inside


@dataclass(frozen=True, kw_only=True)
class CleanupConfig:
    """When and how far the robot of an observation is corrected.

    Attributes:
        min_noise: m of mean point noise below which tracked points are left alone.
        good_fit: m of mean depth error below which the robot is aligned already.
        max_error: m: depth errors are clipped here, since objects may occlude the robot.
        max_error_ratio: Error after over before, for a correction to be accepted.
        max_shift: Search range of the image shift, as a share of the image width.
        max_roll: Search range of the image roll, rad.
    """

    min_noise: float = 0.001
    good_fit: float = 0.003
    max_error: float = 0.05
    max_error_ratio: float = 0.5
    max_shift: float = 1 / 12
    max_roll: float = math.radians(8.0)


CONFIG = CleanupConfig()
"""The default."""


def clean_observation(observation: Observation, config: CleanupConfig = CONFIG) -> Observation:
    """Fill holes, remove point noise, and align the robot to the first frame."""
    return align_robot(rigidify_tracks(fill_holes(observation), config), config)


def fill_holes(observation: Observation) -> Observation:
    """The observation with single missing pixels of its robot filled from their neighbours.

    At least seven of the eight must be on the robot.
    """
    from scipy.ndimage import convolve

    robot = observation.robot
    valid = (robot.mask > 0) & np.isfinite(robot.xyz).all(-1)
    around = np.ones((1, 3, 3), np.float32)
    around[0, 1, 1] = 0
    count = convolve(valid.astype(np.float32), around, mode="constant")
    hole = ~valid & (count > 6.5)
    if not hole.any():
        return observation
    rgb, xyz, mask = robot.rgb.copy(), robot.xyz.copy(), robot.mask.copy()
    for target, source in ((rgb, robot.rgb), (xyz, robot.xyz)):
        known = np.where(valid[..., None], source, 0).astype(np.float32)
        total = convolve(known, around[..., None], mode="constant")
        target[hole] = (total[hole] / count[hole][:, None]).astype(source.dtype)
    mask[hole] = robot.mask.max()
    return replace(observation, robot=replace(robot, rgb=rgb, xyz=xyz, mask=mask))


def rigidify_tracks(observation: Observation, config: CleanupConfig = CONFIG) -> Observation:
    """The observation with the tracked points of each link moving rigidly.

    Links are rigid, so relative motion of their points is noise. Nothing is changed if the noise is
    below `min_noise`, or if links are unknown.
    """
    robot_points, link = observation.robot_points, observation.link
    if link is None:
        return observation
    rigid = robot_points.astype(np.float64)
    for number in np.unique(link):
        rigid[:, link == number] = _rigid(rigid[:, link == number])
    if np.linalg.norm(rigid - robot_points, axis=-1).mean() < config.min_noise:
        return observation
    return replace(observation, robot_points=rigid.astype(np.float32))


def _rigid(points: np.ndarray, *, rounds: int = 3) -> np.ndarray:
    """Points [T, N, 3] as one shape that moves rigidly (generalised Procrustes analysis)."""
    centroid = points.mean(1, keepdims=True)
    centred = points - centroid
    shape, rotated = centred[0], centred
    for _ in range(rounds):
        rotations = best_rotation(centred.mT @ shape)
        shape = (centred @ rotations).mean(0)
        rotated = shape @ rotations.mT
    return rotated + centroid


def align_robot(observation: Observation, config: CleanupConfig = CONFIG) -> Observation:
    """The observation with its robot aligned to the first frame.

    Nothing is changed if the robot fits already, if too few of its pixels are visible, or if no
    correction fits much better, or if the observation says so (`keep_robot`). Requires the first
    frame's geometry and the robot's `actor`.
    """
    if observation.keep_robot or observation.actor is None:
        return observation
    if not np.isfinite(observation.xyz).any():
        return observation
    first = observation.slice_frames(slice(1))
    shift = _search(first, config)
    if shift is None:
        return observation
    return with_robot_offset(observation, _linear_map(_refine(first, shift, config), first))


def _search(observation: Observation, config: CleanupConfig) -> np.ndarray | None:
    """Grid search for an image shift [3] (px, px, rad) that fits much better, or None."""
    robot, camera = observation.robot, observation.camera
    rows, columns = np.nonzero(_robot_mask(observation))
    if len(rows) < _MIN_PIXELS:
        return None
    pixels, centre = (
        np.stack([columns, rows, np.ones(len(rows))], -1),
        robot_centre(_robot_mask(observation)),
    )
    depth = robot.xyz[0][rows, columns, 2]

    def error(shifts: np.ndarray) -> np.ndarray:
        """[C] m: mean depth error after shifts [C, 3]."""
        moved = np.einsum("cij,nj->cni", warp_matrices(shifts, centre), pixels)[..., :2]
        u, v = np.rint(moved).astype(int).transpose(2, 0, 1)
        inside = (u >= 0) & (v >= 0) & (u < camera.width) & (v < camera.height)
        observed = observation.xyz[np.where(inside, v, 0), np.where(inside, u, 0), 2]
        distance = np.where(
            inside, _depth_error(observed, depth, config.max_error), _OUTSIDE_ERROR
        ).mean(1)
        return np.where(inside.mean(1) < _MIN_INSIDE, config.max_error, distance)

    start = float(error(np.zeros((1, 3)))[0])
    if start < config.good_fit:
        return None
    best = grid_search(error, _ranges(observation, config))
    return best if float(error(best[None])[0]) < config.max_error_ratio * start else None


def _refine(observation: Observation, shift: np.ndarray, config: CleanupConfig) -> np.ndarray:
    """Pattern search for the shift [3] at which the robot, rendered again, fits best.

    This is finer than whole pixels, and includes parts of the robot that enter the image.
    """

    def error(candidates: np.ndarray) -> float:
        rendered = with_robot_offset(observation, _linear_map(candidates, observation))
        visible = _robot_mask(rendered)
        if visible.sum() < _MIN_PIXELS:
            return np.inf
        observed, depth = observation.xyz[visible][:, 2], rendered.robot.xyz[0][visible][:, 2]
        return float(_depth_error(observed, depth, config.max_error).mean())

    best, steps = error(shift), _ranges(observation, config) / 8
    for _ in range(4):
        for step in (*np.diag(steps), *-np.diag(steps)):
            while (trial_error := error(shift + step)) < best:
                shift, best = shift + step, trial_error
        steps = steps / 2
    return shift


def _robot_mask(observation: Observation) -> np.ndarray:
    """[H, W] bool: the rendered robot in the first frame."""
    return (observation.robot.mask[0] > 0) & np.isfinite(observation.robot.xyz[0]).all(-1)


def _depth_error(observed: np.ndarray, depth: np.ndarray, max_error: float) -> np.ndarray:
    """Clipped absolute depth difference, m."""
    return np.minimum(np.nan_to_num(np.abs(observed - depth), nan=max_error), max_error)


def _ranges(observation: Observation, config: CleanupConfig) -> np.ndarray:
    """[3] px, px, rad: search range."""
    width = observation.camera.width
    return np.array([config.max_shift * width, config.max_shift * width, config.max_roll])


def _linear_map(shift: np.ndarray, observation: Observation) -> np.ndarray:
    """[3, 3] map of points in the camera frame that shifts their pixels by `shift` [3]."""
    return linear_map(shift, observation.camera.K, robot_centre(_robot_mask(observation)))
