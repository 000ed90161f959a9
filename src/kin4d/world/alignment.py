"""Register: a robot that is told badly, mended, steadied and put where the first frame shows it.

Pixels of pointmaps go missing, points are noisy, cameras are calibrated badly, and joints are read
late. But links are rigid, and the first frame shows where the robot is, so a slide or a roll of all
that is told of it can be seen there, and taken back.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kin4d.geometry.procrustes import best_rotation
from kin4d.world.observation import Observation, with_robot_offset

_AROUND = 7  # of eight neighbours that show the robot: what is between them does, too
_SEEN = 40  # pixels of the robot that are needed
_MOST = 0.05  # m: what is further off is hidden, or something else
_FITS = 0.003  # m: told so near to what is seen, on average, the robot is not touched
_BETTER = 0.5  # share of that error which must be left at most for a correction to be believed
_SLIDE, _ROLL = 1 / 12, np.radians(8.0)  # of the picture's width; how far is looked
_ROUGH = 0.001  # m: points that are off by less on average are left alone
_ROUNDS = 3  # of finding a link's shape and its turns
_FINER = (1 / 4, 1 / 8, 1 / 16, 1 / 32)  # of these ranges: steps, ever smaller
_FINEST, _HALVINGS = 1 / 8, 4  # of these ranges: the first step, drawing it anew; then smaller
_OUTSIDE = 0.008  # m: what a pixel counts that leaves the picture, where nothing is seen of it
_LEAST = 0.6  # share of the pixels that have to stay
_ALIKE = 1e-4  # m: errors that differ by less are alike, for pixels are whole


def fill_holes(situation: Observation) -> Observation:
    """The situation with single pixels that are missing in its robot filled from around them."""
    from scipy.ndimage import convolve

    robot = situation.robot
    there = (robot.mask > 0) & np.isfinite(robot.xyz).all(-1)
    around = np.ones((1, 3, 3), np.float32)
    around[0, 1, 1] = 0
    count = convolve(there.astype(np.float32), around, mode="constant")
    hole = ~there & (count > _AROUND - 0.5)
    if not hole.any():
        return situation
    rgb, xyz, mask = robot.rgb.copy(), robot.xyz.copy(), robot.mask.copy()
    for target, source in ((rgb, robot.rgb), (xyz, robot.xyz)):
        known = np.where(there[..., None], source, 0).astype(np.float32)
        total = convolve(known, around[..., None], mode="constant")
        target[hole] = (total[hole] / count[hole][:, None]).astype(source.dtype)
    mask[hole] = robot.mask.max()
    return replace(situation, robot=replace(robot, rgb=rgb, xyz=xyz, mask=mask))


def rigidify_tracks(situation: Observation) -> Observation:
    """The situation with its robot's tracked points rigid again, link by link.

    A link keeps its shape, so what its points do apart from each other is noise. Nothing is changed
    if there is hardly any, or if links are not known.
    """
    track, link = situation.track, situation.link
    if link is None:
        return situation
    steady = track.astype(np.float64)
    for one in np.unique(link):
        steady[:, link == one] = _rigid(steady[:, link == one])
    if np.linalg.norm(steady - track, axis=-1).mean() < _ROUGH:
        return situation
    return replace(situation, track=steady.astype(np.float32))


def _rigid(points: np.ndarray) -> np.ndarray:
    """Points [T, N, 3] as one shape that moves rigidly (generalised Procrustes analysis)."""
    middle = points.mean(1, keepdims=True)
    arms = points - middle
    shape, turned = arms[0], arms
    for _ in range(_ROUNDS):
        turns = best_rotation(arms.mT @ shape)
        shape = (arms @ turns).mean(0)
        turned = shape @ turns.mT
    return turned + middle


def align_robot(situation: Observation) -> Observation:
    """The situation with its robot where the first frame shows it.

    Nothing is changed if the robot fits, if it is hardly in view, or if nothing fits much better.
    The first frame's geometry has to be known, and the robot's model.
    """
    if situation.actor is None or not np.isfinite(situation.xyz).any():
        return situation
    first = situation.during(slice(1))
    slide = _searched(first)
    if slide is None:
        return situation
    return with_robot_offset(situation, _carry(_refined(first, slide), first))


def _searched(situation: Observation) -> np.ndarray | None:
    """A slide [3] (px, px, rad) of the told pixels that fits much better, or None."""
    robot, camera = situation.robot, situation.camera
    rows, columns = np.nonzero(_told(situation))
    if len(rows) < _SEEN:
        return None
    pixels, about = np.stack([columns, rows, np.ones(len(rows))], -1), _middle(situation)
    depth = robot.xyz[0][rows, columns, 2]

    def error(slides: np.ndarray) -> np.ndarray:
        """[C] m: how far told and seen depths are apart after slides [C, 3]."""
        moved = np.einsum("cij,nj->cni", _warps(slides, about), pixels)[..., :2]
        u, v = np.rint(moved).astype(int).transpose(2, 0, 1)
        inside = (u >= 0) & (v >= 0) & (u < camera.width) & (v < camera.height)
        found = situation.xyz[np.where(inside, v, 0), np.where(inside, u, 0), 2]
        apart = np.where(inside, _apart(found, depth), _OUTSIDE).mean(1)
        return np.where(inside.mean(1) < _LEAST, _MOST, apart)

    start = float(error(np.zeros((1, 3)))[0])
    if start < _FITS:
        return None
    best, reach = np.zeros(3), 4
    for step in _FINER:
        grid = np.arange(-reach, reach + 1) * step
        steps = np.stack(np.meshgrid(grid, grid, grid, indexing="ij"), -1).reshape(-1, 3)
        tried = best + steps * _ranges(situation)
        errors = error(tried)
        alike = errors < errors.min() + _ALIKE
        best, reach = tried[alike].mean(0), 3
    return best if float(error(best[None])[0]) < _BETTER * start else None


def _refined(situation: Observation, slide: np.ndarray) -> np.ndarray:
    """A slide [3] at which the robot, drawn anew, fits best: pixels are whole, and what was out of
    the picture where it was told has to fit as well."""

    def error(tried: np.ndarray) -> float:
        drawn = with_robot_offset(situation, _carry(tried, situation))
        seen = _told(drawn)
        if seen.sum() < _SEEN:
            return np.inf
        return float(_apart(situation.xyz[seen][:, 2], drawn.robot.xyz[0][seen][:, 2]).mean())

    best, steps = error(slide), _FINEST * _ranges(situation)
    for _ in range(_HALVINGS):
        for way in (*np.diag(steps), *-np.diag(steps)):
            while (now := error(slide + way)) < best:
                slide, best = slide + way, now
        steps = steps / 2
    return slide


def _told(situation: Observation) -> np.ndarray:
    """[H, W] bool: where the robot is told to be in the first frame."""
    return (situation.robot.mask[0] > 0) & np.isfinite(situation.robot.xyz[0]).all(-1)


def _apart(found: np.ndarray, depth: np.ndarray) -> np.ndarray:
    """m between depths, as far as it counts."""
    return np.minimum(np.nan_to_num(np.abs(found - depth), nan=_MOST), _MOST)


def _ranges(situation: Observation) -> np.ndarray:
    """[3] px, px, rad: how far is looked."""
    width = situation.camera.width
    return np.array([_SLIDE * width, _SLIDE * width, _ROLL])


def _carry(slide: np.ndarray, situation: Observation) -> np.ndarray:
    """[3, 3] of points in the camera frame, which slide [3] does to their pixels."""
    intrinsics = situation.camera.K
    warp = _warps(slide[None], _middle(situation))[0]
    return np.linalg.inv(intrinsics) @ warp @ intrinsics


def _middle(situation: Observation) -> np.ndarray:
    """[2] px, right and down: of the robot as it is told."""
    return np.argwhere(_told(situation)).mean(0)[::-1]


def _warps(slides: np.ndarray, about: np.ndarray) -> np.ndarray:
    """[C, 3, 3] of pixels (x, y, 1): a roll about a pixel [2], then a slide."""
    right, down, roll = slides.T
    c, s = np.cos(roll), np.sin(roll)
    x, y = about
    warps = np.tile(np.eye(3), (len(slides), 1, 1))
    warps[:, :2, :2] = np.stack([c, -s, s, c], -1).reshape(-1, 2, 2)
    warps[:, 0, 2] = x - c * x + s * y + right
    warps[:, 1, 2] = y - s * x - c * y + down
    return warps
