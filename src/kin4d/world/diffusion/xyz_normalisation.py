"""Metric XYZ to [-1, 1] and back, by one centre and scale per clip, which are kept.

The bounds come from the first frame and the robot, which are known beforehand, and never from the
future. Where nothing is seen (NaN) all three coordinates become -1: black, as published pointmap
videos show it. No seen point can be mistaken for that, for depth stops short of -1.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from kin4d.errors import InputError

_INSIDE = 0.8  # bounds map to +-0.8: things may leave them by a quarter before they are clipped
_NEAREST = -0.85  # least depth of a seen point
_UNSEEN = -0.92  # a point with all coordinates below this is read as unseen
_STRAYS = 0.01  # share of the scene's points ignored at either end


class Bounds(NamedTuple):
    """What maps each clip of a batch to [-1, 1].

    Attributes:
        centre: [B, 3] m, camera frame.
        scale: [B] m: half the largest side.
    """

    centre: Tensor
    scale: Tensor


def find_bounds(first: Tensor, robot: Tensor) -> Bounds:
    """Bounds of what is known of each clip before anything is imagined.

    Args:
        first: [B, 3, H, W] m, the first frame; NaN where unseen.
        robot: [B, 3, T, H, W] m, the robot in every frame; NaN elsewhere.
    """
    lows, highs = [], []
    for scene, arm in zip(first.flatten(2), robot.flatten(2), strict=True):
        scene, arm = (points[:, points.isfinite().all(0)] for points in (scene, arm))
        if scene.shape[1] + arm.shape[1] == 0:
            raise InputError(
                "neither the first frame nor the robot has a single point with known geometry",
                hint="give the first frame's depth, or a camera that sees the robot",
            )
        ends = [arm]
        if scene.shape[1]:
            share = torch.tensor([_STRAYS, 1 - _STRAYS], dtype=scene.dtype, device=scene.device)
            ends.append(torch.quantile(scene, share, dim=1).T)
        points = torch.cat(ends, 1)
        lows.append(points.amin(1))
        highs.append(points.amax(1))
    low, high = torch.stack(lows), torch.stack(highs)
    return Bounds((low + high) / 2, ((high - low) / 2).amax(1).clamp(min=1e-3))


def to_unit(xyz: Tensor, bounds: Bounds) -> Tensor:
    """Metric points to [-1, 1].

    Args:
        xyz: [B, 3, ...] m; NaN where unseen.
        bounds: Of each clip.
    """
    centre, scale = _shaped(bounds, xyz)
    unit = ((xyz - centre) * (_INSIDE / scale)).clamp(-1, 1)
    near = unit.new_tensor([-1, -1, _NEAREST]).view(3, *[1] * (xyz.ndim - 2))
    unit = torch.maximum(unit, near)
    return torch.where(xyz.isfinite().all(1, keepdim=True), unit, -torch.ones_like(unit))


def from_unit(unit: Tensor, bounds: Bounds) -> Tensor:
    """[-1, 1] back to metres; NaN where `to_unit` saw nothing."""
    centre, scale = _shaped(bounds, unit)
    unseen = (unit < _UNSEEN).all(1, keepdim=True)
    return (unit * (scale / _INSIDE) + centre).masked_fill(unseen, float("nan"))


def metres_per_unit(bounds: Bounds) -> Tensor:
    """[B] m: what an error of 1 in [-1, 1] means."""
    return bounds.scale / _INSIDE


def _shaped(bounds: Bounds, like: Tensor) -> tuple[Tensor, Tensor]:
    ones = [1] * (like.ndim - 2)
    centre = bounds.centre.to(like).view(-1, 3, *ones)
    return centre, bounds.scale.to(like).view(-1, 1, *ones)
