"""Register: a robot that is told badly, mended and put where the first frame shows it.

Pixels of pointmaps go missing, cameras are calibrated badly, and joints are read late. The first
frame shows where the robot is, so a slide or a roll of all that is told of it can be seen there,
and taken back.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kin4d.world.situation import Situation, retold

_AROUND = 7  # of eight neighbours that show the robot: what is between them does, too
_SEEN = 40  # pixels of the robot that are needed
_MOST = 0.05  # m: what is further off is hidden, or something else
_FITS = 0.003  # m: told so near to what is seen, on average, the robot is not touched
_BETTER = 0.5  # share of that error which must be left at most for a correction to be believed
_SLIDE, _ROLL = 1 / 12, np.radians(8.0)  # of the picture's width; how far is looked
_FINER = (1 / 4, 1 / 8, 1 / 16, 1 / 32)  # of these ranges: steps, ever smaller
_ALIKE = 1e-4  # m: errors that differ by less are alike, for pixels are whole


def mended(situation: Situation) -> Situation:
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


def registered(situation: Situation) -> Situation:
    """The situation with its robot where the first frame shows it.

    Nothing is changed if the robot fits, if it is hardly in view, or if nothing fits much better.
    The first frame's geometry has to be known, and the robot's model.
    """
    robot, camera = situation.robot, situation.camera
    rows, columns = np.nonzero((robot.mask[0] > 0) & np.isfinite(robot.xyz[0]).all(-1))
    if situation.actor is None or len(rows) < _SEEN or not np.isfinite(situation.xyz).any():
        return situation
    pixels = np.stack([columns, rows, np.ones(len(rows))], -1)
    depth = robot.xyz[0][rows, columns, 2]

    def error(slides: np.ndarray) -> np.ndarray:
        """[C] m: how far told and seen depths are apart after slides [C, 3]: px, px, rad."""
        moved = np.einsum("cij,nj->cni", _warps(slides, camera.K), pixels)[..., :2]
        u, v = np.rint(moved).astype(int).transpose(2, 0, 1)
        inside = (u >= 0) & (v >= 0) & (u < camera.width) & (v < camera.height)
        found = situation.xyz[np.where(inside, v, 0), np.where(inside, u, 0), 2]
        apart = np.where(inside, np.abs(found - depth), _MOST)
        return np.minimum(np.nan_to_num(apart, nan=_MOST), _MOST).mean(1)

    start = float(error(np.zeros((1, 3)))[0])
    if start < _FITS:
        return situation
    ranges = np.array([_SLIDE * camera.width, _SLIDE * camera.width, _ROLL])
    best, reach = np.zeros(3), 4
    for step in _FINER:
        grid = np.arange(-reach, reach + 1) * step
        steps = np.stack(np.meshgrid(grid, grid, grid, indexing="ij"), -1).reshape(-1, 3)
        tried = best + steps * ranges
        errors = error(tried)
        alike = errors < errors.min() + _ALIKE
        best, reach = tried[alike].mean(0), 3
    if float(error(best[None])[0]) > _BETTER * start:
        return situation
    warp = _warps(best[None], camera.K)[0]
    return retold(situation, np.linalg.inv(camera.K) @ warp @ camera.K)


def _warps(slides: np.ndarray, intrinsics: np.ndarray) -> np.ndarray:
    """[C, 3, 3] of pixels (x, y, 1): a roll about the principal point, then a slide."""
    right, down, roll = slides.T
    c, s = np.cos(roll), np.sin(roll)
    x, y = intrinsics[:2, 2]
    warps = np.tile(np.eye(3), (len(slides), 1, 1))
    warps[:, :2, :2] = np.stack([c, -s, s, c], -1).reshape(-1, 2, 2)
    warps[:, 0, 2] = x - c * x + s * y + right
    warps[:, 1, 2] = y - s * x - c * y + down
    return warps
