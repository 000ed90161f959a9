"""Repair the robot of an observation: fill holes, remove point noise, align it to the first frame.

Pointmaps have missing pixels, points are noisy, cameras are miscalibrated, joint readings lag. But
links are rigid, and the first frame shows the robot, so an image shift and roll of the rendered
robot is estimated from its depth and removed.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kin4d.geometry.procrustes import best_rotation
from kin4d.world.observation import Observation, with_robot_offset

_MIN_NEIGHBOURS = 7  # of eight neighbours on the robot, for a pixel between them to be filled
_MIN_PIXELS = 40  # pixels of the robot
_MAX_ERROR = 0.05  # m: depth errors are clipped here (occlusion)
_GOOD_FIT = 0.003  # m of mean depth error below which nothing is changed
_MAX_ERROR_RATIO = 0.5  # error after over before, for a correction to be accepted
_MAX_SHIFT, _MAX_ROLL = 1 / 12, np.radians(8.0)  # of the image width, rad: search range
_MIN_NOISE = 0.001  # m of mean noise below which points are left alone
_PROCRUSTES_ROUNDS = 3  # of estimating a link's shape and its rotations
_GRID_STEPS = (1 / 4, 1 / 8, 1 / 16, 1 / 32)  # of the search range, coarse to fine
_FIRST_STEP, _HALVINGS = 1 / 8, 4  # of the search range: pattern search
_OUTSIDE_ERROR = 0.008  # m: error of a pixel outside the image
_MIN_INSIDE = 0.6  # share of the robot's pixels that must stay inside
_ERROR_TOLERANCE = 1e-4  # m: smaller differences are pixel rounding


def fill_holes(observation: Observation) -> Observation:
    """The observation with single missing pixels of its robot filled from their neighbours."""
    from scipy.ndimage import convolve

    robot = observation.robot
    valid = (robot.mask > 0) & np.isfinite(robot.xyz).all(-1)
    around = np.ones((1, 3, 3), np.float32)
    around[0, 1, 1] = 0
    count = convolve(valid.astype(np.float32), around, mode="constant")
    hole = ~valid & (count > _MIN_NEIGHBOURS - 0.5)
    if not hole.any():
        return observation
    rgb, xyz, mask = robot.rgb.copy(), robot.xyz.copy(), robot.mask.copy()
    for target, source in ((rgb, robot.rgb), (xyz, robot.xyz)):
        known = np.where(valid[..., None], source, 0).astype(np.float32)
        total = convolve(known, around[..., None], mode="constant")
        target[hole] = (total[hole] / count[hole][:, None]).astype(source.dtype)
    mask[hole] = robot.mask.max()
    return replace(observation, robot=replace(robot, rgb=rgb, xyz=xyz, mask=mask))


def rigidify_tracks(observation: Observation) -> Observation:
    """The observation with the tracked points of each link moving rigidly.

    Links are rigid, so relative motion of their points is noise. Nothing is changed if the noise is
    below `_MIN_NOISE`, or if links are unknown.
    """
    robot_points, link = observation.robot_points, observation.link
    if link is None:
        return observation
    rigid = robot_points.astype(np.float64)
    for number in np.unique(link):
        rigid[:, link == number] = _rigid(rigid[:, link == number])
    if np.linalg.norm(rigid - robot_points, axis=-1).mean() < _MIN_NOISE:
        return observation
    return replace(observation, robot_points=rigid.astype(np.float32))


def _rigid(points: np.ndarray) -> np.ndarray:
    """Points [T, N, 3] as one shape that moves rigidly (generalised Procrustes analysis)."""
    centroid = points.mean(1, keepdims=True)
    centred = points - centroid
    shape, rotated = centred[0], centred
    for _ in range(_PROCRUSTES_ROUNDS):
        rotations = best_rotation(centred.mT @ shape)
        shape = (centred @ rotations).mean(0)
        rotated = shape @ rotations.mT
    return rotated + centroid


def align_robot(observation: Observation) -> Observation:
    """The observation with its robot aligned to the first frame.

    Nothing is changed if the robot fits already, if too few of its pixels are visible, or if no
    correction fits much better. Requires the first frame's geometry and the robot's `actor`.
    """
    if observation.actor is None or not np.isfinite(observation.xyz).any():
        return observation
    first = observation.slice_frames(slice(1))
    shift = _search(first)
    if shift is None:
        return observation
    return with_robot_offset(observation, _linear_map(_refine(first, shift), first))


def _search(observation: Observation) -> np.ndarray | None:
    """Grid search for an image shift [3] (px, px, rad) that fits much better, or None."""
    robot, camera = observation.robot, observation.camera
    rows, columns = np.nonzero(_robot_mask(observation))
    if len(rows) < _MIN_PIXELS:
        return None
    pixels, centre = np.stack([columns, rows, np.ones(len(rows))], -1), _robot_centre(observation)
    depth = robot.xyz[0][rows, columns, 2]

    def error(shifts: np.ndarray) -> np.ndarray:
        """[C] m: mean depth error after shifts [C, 3]."""
        moved = np.einsum("cij,nj->cni", _warp_matrices(shifts, centre), pixels)[..., :2]
        u, v = np.rint(moved).astype(int).transpose(2, 0, 1)
        inside = (u >= 0) & (v >= 0) & (u < camera.width) & (v < camera.height)
        observed = observation.xyz[np.where(inside, v, 0), np.where(inside, u, 0), 2]
        apart = np.where(inside, _depth_error(observed, depth), _OUTSIDE_ERROR).mean(1)
        return np.where(inside.mean(1) < _MIN_INSIDE, _MAX_ERROR, apart)

    start = float(error(np.zeros((1, 3)))[0])
    if start < _GOOD_FIT:
        return None
    best, reach = np.zeros(3), 4
    for step in _GRID_STEPS:
        grid = np.arange(-reach, reach + 1) * step
        steps = np.stack(np.meshgrid(grid, grid, grid, indexing="ij"), -1).reshape(-1, 3)
        candidates = best + steps * _ranges(observation)
        errors = error(candidates)
        alike = errors < errors.min() + _ERROR_TOLERANCE
        best, reach = candidates[alike].mean(0), 3
    return best if float(error(best[None])[0]) < _MAX_ERROR_RATIO * start else None


def _refine(observation: Observation, shift: np.ndarray) -> np.ndarray:
    """Pattern search for the shift [3] at which the robot, rendered again, fits best.

    This is finer than whole pixels, and includes parts of the robot that enter the image.
    """

    def error(candidates: np.ndarray) -> float:
        rendered = with_robot_offset(observation, _linear_map(candidates, observation))
        visible = _robot_mask(rendered)
        if visible.sum() < _MIN_PIXELS:
            return np.inf
        return float(
            _depth_error(
                observation.xyz[visible][:, 2], rendered.robot.xyz[0][visible][:, 2]
            ).mean()
        )

    best, steps = error(shift), _FIRST_STEP * _ranges(observation)
    for _ in range(_HALVINGS):
        for step in (*np.diag(steps), *-np.diag(steps)):
            while (trial_error := error(shift + step)) < best:
                shift, best = shift + step, trial_error
        steps = steps / 2
    return shift


def _robot_mask(observation: Observation) -> np.ndarray:
    """[H, W] bool: the rendered robot in the first frame."""
    return (observation.robot.mask[0] > 0) & np.isfinite(observation.robot.xyz[0]).all(-1)


def _depth_error(observed: np.ndarray, depth: np.ndarray) -> np.ndarray:
    """Clipped absolute depth difference, m."""
    return np.minimum(np.nan_to_num(np.abs(observed - depth), nan=_MAX_ERROR), _MAX_ERROR)


def _ranges(observation: Observation) -> np.ndarray:
    """[3] px, px, rad: search range."""
    width = observation.camera.width
    return np.array([_MAX_SHIFT * width, _MAX_SHIFT * width, _MAX_ROLL])


def _linear_map(shift: np.ndarray, observation: Observation) -> np.ndarray:
    """[3, 3] map of points in the camera frame that shifts their pixels by `shift` [3]."""
    intrinsics = observation.camera.K
    matrix = _warp_matrices(shift[None], _robot_centre(observation))[0]
    return np.linalg.inv(intrinsics) @ matrix @ intrinsics


def _robot_centre(observation: Observation) -> np.ndarray:
    """[2] px, right and down: centre of the rendered robot."""
    return np.argwhere(_robot_mask(observation)).mean(0)[::-1]


def _warp_matrices(shifts: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """[C, 3, 3] maps of pixels (x, y, 1): a roll about a pixel [2], then a translation."""
    right, down, roll = shifts.T
    c, s = np.cos(roll), np.sin(roll)
    x, y = centre
    matrices = np.tile(np.eye(3), (len(shifts), 1, 1))
    matrices[:, :2, :2] = np.stack([c, -s, s, c], -1).reshape(-1, 2, 2)
    matrices[:, 0, 2] = x - c * x + s * y + right
    matrices[:, 1, 2] = y - s * x - c * y + down
    return matrices
