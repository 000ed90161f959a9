"""XYZ normalisation: metres to [-1, 1] and back, by one centre and scale per video.

The bounds come from the first frame and the robot, which are inputs, never from the video to be
predicted. Unknown points (NaN) become (-1, -1, -1), black, as in published pointmap videos; known
points differ from that, since their depth is at least -0.85.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from kin4d.errors import InputError

_RANGE = 0.8  # bounds map to +-0.8: points may leave them by a quarter before they are clipped
_MIN_DEPTH = -0.85  # of a known point
_UNKNOWN = -0.92  # a point with all coordinates below this is unknown


class Bounds(NamedTuple):
    """Centre and scale of each video of a batch.

    Attributes:
        centre: [B, 3] m, camera frame.
        scale: [B] m: half the largest side.
    """

    centre: Tensor
    scale: Tensor


def find_bounds(first: Tensor, robot: Tensor) -> Bounds:
    """Bounds of the first frame, without its outermost 1 % of points, and of the robot.

    Args:
        first: [B, 3, H, W] m, the first frame; NaN where unknown.
        robot: [B, 3, T, H, W] m, the robot in every frame; NaN elsewhere.
    """
    lows, highs = [], []
    for scene, robot_points in zip(first.flatten(2), robot.flatten(2), strict=True):
        scene, robot_points = (
            points[:, points.isfinite().all(0)] for points in (scene, robot_points)
        )
        if scene.shape[1] + robot_points.shape[1] == 0:
            raise InputError(
                "neither the first frame nor the robot has a point with known geometry",
                hint="give the first frame's depth, or a camera that sees the robot",
            )
        ends = [robot_points]
        if scene.shape[1]:
            share = torch.tensor([0.01, 0.99], dtype=scene.dtype, device=scene.device)
            ends.append(torch.quantile(scene, share, dim=1).T)
        points = torch.cat(ends, 1)
        lows.append(points.amin(1))
        highs.append(points.amax(1))
    low, high = torch.stack(lows), torch.stack(highs)
    return Bounds((low + high) / 2, ((high - low) / 2).amax(1).clamp(min=1e-3))


def to_unit(xyz: Tensor, bounds: Bounds) -> Tensor:
    """Metric points to [-1, 1].

    Args:
        xyz: [B, 3, ...] m; NaN where unknown.
        bounds: Of each video.
    """
    centre, scale = _shaped(bounds, xyz)
    unit = ((xyz - centre) * (_RANGE / scale)).clamp(-1, 1)
    near = unit.new_tensor([-1, -1, _MIN_DEPTH]).view(3, *[1] * (xyz.ndim - 2))
    unit = torch.maximum(unit, near)
    return torch.where(xyz.isfinite().all(1, keepdim=True), unit, -torch.ones_like(unit))


def from_unit(unit: Tensor, bounds: Bounds) -> Tensor:
    """Inverse of `to_unit`; NaN where unknown."""
    centre, scale = _shaped(bounds, unit)
    unknown = (unit < _UNKNOWN).all(1, keepdim=True)
    return (unit * (scale / _RANGE) + centre).masked_fill(unknown, float("nan"))


def _shaped(bounds: Bounds, like: Tensor) -> tuple[Tensor, Tensor]:
    ones = [1] * (like.ndim - 2)
    centre = bounds.centre.to(like).view(-1, 3, *ones)
    return centre, bounds.scale.to(like).view(-1, 1, *ones)
