"""Sweep profiles: how deep a part goes into others when it moves along a candidate joint."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from kin4d.neurok.piece_batch import Parts, PieceBatch
from kin4d.neurok.piece_geometry import Boxes

ANGLES = torch.tensor([0.1, 0.25, 0.5, 0.8, 1.1, 1.45, 1.8, 2.2, 2.6, 3.05])
"""rad, each way."""
LENGTHS = torch.tensor([0.01, 0.025, 0.05, 0.09, 0.14, 0.2, 0.3, 0.42, 0.6, 0.9])
"""Of the object's largest extent, each way."""
PROFILE = 4 * len(ANGLES)
"""Numbers in a profile."""

_POINTS = 32  # of a part: half of them samples, half of them extreme points
_SKIN = 0.004  # lengths by which boxes are smaller than pieces: what only touches does not count


@torch.no_grad()
def sweep_profile(
    batch: PieceBatch, boxes: Boxes, parts: Parts, point: Tensor, axis: Tensor, slides: Tensor
) -> Tensor:
    """[M, 40]: mean depth, and share of points, that enter boxes of pieces that stay.

    Args:
        batch: The pieces.
        boxes: Of the pieces, [B, N].
        parts: M of them.
        point: [M, 3] of the joints' axes.
        axis: [M, 3] unit.
        slides: [M] bool.
    """
    own = _part_points(batch, parts)
    values = torch.where(slides[:, None], LENGTHS, ANGLES)
    values = torch.cat([-values, values], -1)
    moved = _moved(own, point, axis, values, slides)
    together = torch.cat([own[:, None], moved], 1)
    depth = _depths(together, boxes, parts, batch.mask)
    gain = (depth[:, 1:] - depth[:, :1]).clamp(min=0)
    deep = (gain.mean(-1) * 30).clamp(max=2)
    share = (gain > 0.005).float().mean(-1)
    return torch.cat([deep, share], -1)


def _part_points(batch: PieceBatch, parts: Parts) -> Tensor:
    """[M, 32, 3] points of the parts' own pieces, by area."""
    weight = (batch.area[parts.shape] + 1e-6) * parts.members
    piece = torch.multinomial(weight, _POINTS, replacement=True)
    shape, slot = parts.shape[:, None], torch.arange(_POINTS // 2)
    samples = batch.points[shape, piece[:, ::2], 2 * slot % batch.points.shape[2]]
    extremes = batch.supports[shape, piece[:, 1::2], 2 * slot % batch.supports.shape[2]]
    return torch.cat([samples, extremes], 1)


def _moved(points: Tensor, pivot: Tensor, axis: Tensor, values: Tensor, slides: Tensor) -> Tensor:
    """[M, S, P, 3] of points [M, P, 3] moved by values [M, S] about or along lines."""
    arm = (points - pivot[:, None])[:, None]
    way = axis[:, None, None]
    along = (arm * way).sum(-1, keepdim=True) * way
    across = arm - along
    angle = values[..., None, None]
    turned = along + across * angle.cos() + torch.linalg.cross(way.expand_as(arm), arm) * angle.sin()
    slid = points[:, None] + way * angle
    return torch.where(slides[:, None, None, None], slid, turned + pivot[:, None, None])


def _depths(points: Tensor, boxes: Boxes, parts: Parts, mask: Tensor) -> Tensor:
    """[M, S, P] depth of points [M, S, P, 3] in the boxes of pieces that the joint leaves."""
    shape, flat = parts.shape, points.flatten(1, 2)
    frame = boxes.frame[shape]
    turned = flat @ frame.flatten(1, 2).mT
    center = (boxes.frame @ boxes.center[..., None]).squeeze(-1)[shape].flatten(1)
    half = (boxes.half[shape] - _SKIN).clamp(min=0)
    half = half * (mask[shape] & ~parts.carried)[..., None]
    room = half.flatten(1)[:, None] - (turned - center[:, None]).abs_()
    inside = F.relu(room.unflatten(-1, (-1, 3)).amin(-1)).amax(-1)
    return inside.unflatten(1, points.shape[1:3])
