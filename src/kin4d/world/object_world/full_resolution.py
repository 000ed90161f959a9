"""Draw imagined motions at the first image's own resolution; the networks see a small one.

Parts and depth are carried over to the large image along its own edges (joint bilateral
upsampling), and the compositor draws its layers there.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kin4d.geometry.pointmap import PointmapVideo
from kin4d.world.object_world.model import ObjectWorldModel, PartMotion
from kin4d.world.object_world.segmentation import BACKGROUND
from kin4d.world.observation import Observation
from kin4d.world.observation_cleanup import clean_observation

_COLOUR_SIGMA = 18.0  # levels of 255
_DEPTH_SIGMA = 0.02  # of the depth
_SPACE_SIGMA = 0.7  # small pixels


def imagine_large(
    model: ObjectWorldModel,
    small: Observation,
    large: Observation,
    *,
    part: np.ndarray | None = None,
    motion: PartMotion | None = None,
    seed: int | None = None,
) -> tuple[PointmapVideo, PartMotion]:
    """Predict the motion in a small image and draw it in a large one.

    Args:
        model: The networks.
        small: Of the size of the model.
        large: The same scene and motion, of any size and the same proportions; its geometry is
            taken from the small one if it has none.
        part: [h, w] int: part of each pixel of the small image, if known.
        motion: As of `ObjectWorldModel.imagine_parts`.
        seed: Seed of a sample; the most likely motion if None.
    """
    measured = bool(np.isfinite(small.xyz).any())
    small = model.with_depth(clean_observation(small))
    if motion is None:
        part = model.segment_parts(small, measured=measured) if part is None else part
        motion = model.predict_motion(small, part=part, seed=seed)
    weights = _neighbour_weights(small, large)
    part = _upsampled_part(motion.part, weights)
    if not np.isfinite(large.xyz).any():
        large = replace(large, xyz=_upsampled_points(small, large, part, motion.part, weights))
    drawn = PartMotion(part=part, motions=motion.motions)
    video = model.finish(large, model.render(large, drawn))
    video.rgb[0], video.xyz[0] = large.image, large.xyz
    return video, drawn


def _neighbours(small: tuple[int, int], large: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns [9, H, W] of the nine small pixels around each large one."""
    row, column = (
        np.clip(
            ((np.arange(many) + 0.5) * few / many).astype(int)[None] + np.arange(-1, 2)[:, None],
            0,
            few - 1,
        )
        for few, many in zip(small, large, strict=True)
    )
    rows = np.repeat(row, 3, axis=0)[:, :, None]
    columns = np.tile(column, (3, 1))[:, None, :]
    shape = (9, *large)
    return np.broadcast_to(rows, shape), np.broadcast_to(columns, shape)


Weights = tuple[np.ndarray, np.ndarray, np.ndarray]


def _neighbour_weights(small: Observation, large: Observation) -> Weights:
    """Rows, columns and weights [9, H, W]: how alike each large pixel is to small ones around."""
    few, many = small.image.shape[:2], large.image.shape[:2]
    rows, columns = _neighbours(few, many)
    weight = np.empty((9, *many), np.float32)
    v = (np.arange(many[0], dtype=np.float32)[:, None] + 0.5) * few[0] / many[0] - 0.5
    u = (np.arange(many[1], dtype=np.float32)[None] + 0.5) * few[1] / many[1] - 0.5
    image, colours = large.image.astype(np.float32), small.image.astype(np.float32)
    depth, depths = large.xyz[..., 2], small.xyz[..., 2]
    measured = bool(np.isfinite(depth).any())
    for k in range(9):
        off = np.square((image - colours[rows[k], columns[k]]) / _COLOUR_SIGMA).mean(-1)
        off += (np.square(v - rows[k]) + np.square(u - columns[k])) / (2 * _SPACE_SIGMA**2)
        if measured:
            gap = (depth - depths[rows[k], columns[k]]) / (_DEPTH_SIGMA * depth)
            off += np.minimum(np.nan_to_num(np.square(gap), nan=4.0), 50.0)
        weight[k] = np.exp(-np.minimum(off, 60.0))
    return rows, columns, weight


def _upsampled_part(part: np.ndarray, weights: Weights) -> np.ndarray:
    """[H, W] int: the part of each large pixel, by the small pixels that it resembles."""
    rows, columns, weight = weights
    labels = part[rows, columns]
    best = np.full(weight.shape[1:], -1.0, np.float32)
    found = np.full(weight.shape[1:], BACKGROUND, part.dtype)
    for label in np.unique(part):
        share = np.where(labels == label, weight, 0.0).sum(0)
        better = share > best
        best[better], found[better] = share[better], label
    return found


def _upsampled_points(
    small: Observation,
    large: Observation,
    part: np.ndarray,
    small_part: np.ndarray,
    weights: Weights,
) -> np.ndarray:
    """[H, W, 3] float32 m: points of the small image, smooth within parts; the robot is exact."""
    rows, columns, weight = weights
    depth = small.xyz[..., 2][rows, columns]
    alike = (small_part[rows, columns] == part) & np.isfinite(depth)
    weight = np.where(alike, weight + 1e-9, 0.0)
    total = weight.sum(0)
    mean = (np.nan_to_num(depth) * weight).sum(0) / np.where(total > 0, total, np.nan)
    points = (mean[..., None] * large.camera.rays()).astype(np.float32)
    robot = large.robot.mask[0] > 0
    return np.where(robot[..., None], large.robot.xyz[0], points)
