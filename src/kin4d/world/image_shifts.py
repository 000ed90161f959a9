"""Slide and roll the robot in the image: search over shifts [3] of px right, px down, rad."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def grid_search(error: Callable[[np.ndarray], np.ndarray], ranges: np.ndarray) -> np.ndarray:
    """[3] shift of the least error, from coarse to fine.

    Args:
        error: [C] of shifts [C, 3].
        ranges: [3] px, px, rad: how far.
    """
    best, reach = np.zeros(3), 4
    for step in (1 / 4, 1 / 8, 1 / 16, 1 / 32):  # of the search range
        grid = np.arange(-reach, reach + 1) * step
        steps = np.stack(np.meshgrid(grid, grid, grid, indexing="ij"), -1).reshape(-1, 3)
        candidates = best + steps * ranges
        errors = error(candidates)
        alike = errors < errors.min() + 1e-4  # smaller differences are pixel rounding
        best, reach = candidates[alike].mean(0), 3
    return best


def warp_matrices(shifts: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """[C, 3, 3] maps of pixels (x, y, 1): a roll about a pixel [2], then a translation."""
    right, down, roll = shifts.T
    c, s = np.cos(roll), np.sin(roll)
    x, y = centre
    matrices = np.tile(np.eye(3), (len(shifts), 1, 1))
    matrices[:, :2, :2] = np.stack([c, -s, s, c], -1).reshape(-1, 2, 2)
    matrices[:, 0, 2] = x - c * x + s * y + right
    matrices[:, 1, 2] = y - s * x - c * y + down
    return matrices


def linear_map(shift: np.ndarray, intrinsics: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """[3, 3] map of points in the camera frame that shifts their pixels by `shift` [3]."""
    matrix = warp_matrices(shift[None], centre)[0]
    return np.linalg.inv(intrinsics) @ matrix @ intrinsics


def robot_centre(mask: np.ndarray) -> np.ndarray:
    """[2] px, right and down: centre of a mask [H, W]."""
    return np.argwhere(mask).mean(0)[::-1]
