"""Sweep profiles: how deep a part goes into others when it moves along a candidate joint."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from kin4d.neurok.piece_batch import Parts, PieceBatch
from kin4d.neurok.piece_geometry import Boxes

ANGLE_BINS = torch.linspace(0.0, 6.3, 43)
"""rad a hinge may still turn one way, in steps of .15: the bins of histograms of ranges."""
LENGTH_BINS = torch.cat([torch.zeros(1), torch.logspace(-2.3, 0.2, 42)])
"""The same for slides, in units of the object's largest extent."""
SWEPT = 22
"""Bins that profiles cover, the first ones: half a turn."""

_POINTS = 20  # of a part: half of them samples, half of them extreme points
_SKIN = 0.004  # lengths by which boxes are smaller than pieces: what only touches does not count


@torch.no_grad()
def sweep_profile(
    batch: PieceBatch, boxes: Boxes, parts: Parts, point: Tensor, axis: Tensor, slides: Tensor
) -> Tensor:
    """[M, 2, bins, 2] on the way back and forth, at every bin of the range histograms: mean depth,
    and share of points, in boxes of pieces that stay, beyond those at the start.

    Args:
        batch: The pieces.
        boxes: Of the pieces, [B, N].
        parts: M of them.
        point: [M, 3] of the joints' axes.
        axis: [M, 3] unit.
        slides: [M] bool.
    """
    own = _part_points(batch, parts)
    # Slides have finer bins: every second one is swept.
    values = torch.where(slides[:, None], LENGTH_BINS[1 : 2 * SWEPT - 1 : 2], ANGLE_BINS[1:SWEPT])
    values = torch.cat([-values, values], -1)
    moved = _moved(own, point, axis, values, slides)
    depth = _depths(torch.cat([own[:, None], moved], 1), boxes, parts, batch.mask)
    gain = (depth[:, 1:] - depth[:, :1]).clamp(min=0)
    deep = (gain.mean(-1) * 30).clamp(max=2)
    share = (gain > 0.005).float().mean(-1)
    swept = torch.stack([deep, share], -1).unflatten(1, (2, -1))
    return _at_bins(swept, slides)


def _at_bins(swept: Tensor, slides: Tensor) -> Tensor:
    """[M, 2, bins, 2] of values [M, 2, SWEPT - 1, 2], constant beyond the last."""
    bins = torch.arange(len(ANGLE_BINS))
    of_hinge, of_slide = bins.clamp(max=SWEPT - 1), ((bins + 1) // 2).clamp(max=SWEPT - 1)
    index = torch.where(slides[:, None], of_slide, of_hinge)
    padded = F.pad(swept, (0, 0, 1, 0))
    return padded.gather(2, index[:, None, :, None].expand(-1, 2, -1, 2))


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
    turned = (
        along + across * angle.cos() + torch.linalg.cross(way.expand_as(arm), arm) * angle.sin()
    )
    slid = points[:, None] + way * angle
    return torch.where(slides[:, None, None, None], slid, turned + pivot[:, None, None])


def _depths(points: Tensor, boxes: Boxes, parts: Parts, mask: Tensor) -> Tensor:
    """[M, S, P] depth of points [M, S, P, 3] in the boxes of pieces that the joint leaves."""
    shape, flat = parts.shape, points.flatten(1, 2)
    stays = (mask[shape] & ~parts.carried)[..., None]
    half = (boxes.half[shape] - _SKIN).clamp(min=0) * stays
    frame = boxes.frame[shape]
    center = (frame @ boxes.center[shape][..., None]).squeeze(-1)
    room = torch.full((len(flat), flat.shape[1], frame.shape[1]), torch.inf)
    # Axis by axis: reducing a last dimension of three is slow.
    for axis in range(3):
        along = flat @ frame[:, :, axis].mT
        along = along.sub_(center[:, None, :, axis]).abs_().neg_().add_(half[:, None, :, axis])
        torch.minimum(room, along, out=room)
    return F.relu(room.amax(-1)).unflatten(1, points.shape[1:3])
