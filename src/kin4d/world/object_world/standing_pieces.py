"""Pieces that stand on the support and that the segmenter missed, found in depth alone."""

from __future__ import annotations

import numpy as np
from scipy.spatial import KDTree

from kin4d.world.object_world.compositor.pixel_quads import dilate
from kin4d.world.object_world.segmentation import BACKGROUND, pixel_components

_MIN_HEIGHT = 0.008  # m above the support
_MAX_GAP = 0.02  # m between adjacent pixels of one piece
_MAX_SIZE = 0.4  # m: larger ones are furniture or walls
_MIN_PIXELS = 6
_REACH = 0.08  # m off the robot's path within which a piece may be moved
_FAR = 0.3  # m off the robot's path beyond which nothing is moved, not even by what it pushes
_MIN_MOTION = 0.02  # m of a point of the robot that moves
_MIN_JOINED = 0.25  # of a piece's outline on a part, for the piece to belong to it


def add_standing_pieces(
    part: np.ndarray, xyz: np.ndarray, robot: np.ndarray, path: np.ndarray
) -> np.ndarray:
    """[H, W] int: parts, and what else stands on the support within the robot's reach.

    A missed piece that borders on a part and is smaller than it belongs to that part. Parts that
    lie below the support or far from the robot's path are dropped: nothing moves them.

    Args:
        part: [H, W] int: part of each pixel, or `BACKGROUND`.
        xyz: [H, W, 3] m in the support frame.
        robot: [H, W] bool: pixels of the robot.
        path: [N, 3] m, same frame: points of the robot that move, over time.
    """
    if not len(path):
        return part
    part, tree = part.copy(), KDTree(path)
    for number in np.unique(part[part != BACKGROUND]):
        points = xyz[part == number]
        if points[:, 2].max() < -_MIN_HEIGHT or tree.query(points)[0].min() > _FAR:
            part[part == number] = BACKGROUND
    above = np.isfinite(xyz).all(-1) & (np.nan_to_num(xyz[..., 2]) > _MIN_HEIGHT)
    free = above & ~dilate(robot) & (part == BACKGROUND)
    label = pixel_components(np.where(free, 0, BACKGROUND), xyz, max_gap=_MAX_GAP)
    numbers, counts = np.unique(label[free], return_counts=True)
    for number in numbers[counts >= _MIN_PIXELS]:
        own = free & (label == number)
        points = xyz[own]
        size = np.percentile(points, 98, axis=0) - np.percentile(points, 2, axis=0)
        if size.max() > _MAX_SIZE or tree.query(points)[0].min() > _REACH:
            continue
        neighbour = _neighbour(own, part, xyz)
        part[own] = part.max() + 1 if neighbour is None else neighbour
    return part


def moving_points(robot_points: np.ndarray) -> np.ndarray:
    """[N, 3] m: all places of the points [T, K, 3] of a robot that move, in every other frame."""
    moving = np.linalg.norm(np.ptp(robot_points, axis=0), axis=-1) > _MIN_MOTION
    return robot_points[::2][:, moving].reshape(-1, 3)


def _neighbour(own: np.ndarray, part: np.ndarray, xyz: np.ndarray) -> int | None:
    """The larger part that a piece is a rest of, if it borders on one."""
    touching, outline = [], 0
    for a, b in ((np.s_[:, :-1], np.s_[:, 1:]), (np.s_[:-1], np.s_[1:])):
        near = np.linalg.norm(xyz[a] - xyz[b], axis=-1) < _MAX_GAP
        for mine, theirs in ((a, b), (b, a)):
            border = own[mine] & ~own[theirs]
            outline += border.sum()
            touching.append(part[theirs][border & near & (part[theirs] != BACKGROUND)])
    found, counts = np.unique(np.concatenate(touching), return_counts=True)
    if not len(found) or counts.max() < _MIN_JOINED * outline:
        return None
    best = int(found[counts.argmax()])
    return best if (part == best).sum() > own.sum() else None
