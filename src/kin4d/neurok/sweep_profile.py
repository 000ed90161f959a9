"""Sweep profiles: what a part meets when it moves along a candidate joint, as functions of how far.

Two kinds: how deep it goes into the boxes of other pieces, and how much surface of others lies on
its way. Boxes tell where thin panels touch; surface points tell which way is free, also out of and
into what is hollow.
"""

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

PROFILE = 4
"""Numbers at every bin and either way."""

_POINTS = 32  # of a part: half of them samples, half of them extreme points
_OTHERS = 640  # points on the surface of what stays
_STRIDE = 5  # between the samples of neighbouring rows: shares no factor with their number
_WIDTHS = (0.03, 0.12)  # lengths beside its way at which other surface counts
_SKIN = 0.004  # lengths by which boxes are smaller than pieces: what only touches does not count


@torch.no_grad()
def sweep_profile(
    batch: PieceBatch, boxes: Boxes, parts: Parts, point: Tensor, axis: Tensor, slides: Tensor
) -> Tensor:
    """[M, 2, bins, 4] on the way back and forth, at every bin of the range histograms: mean depth
    and share of points in boxes of pieces that stay, beyond those at the start; surface of these
    pieces near the way and farther beside it.

    Args:
        batch: The pieces.
        boxes: Of the pieces, [B, N].
        parts: M of them.
        point: [M, 3] of the joints' axes.
        axis: [M, 3] unit.
        slides: [M] bool.
    """
    own = _part_points(batch, parts)
    depth = _box_profile(own, batch, boxes, parts, point, axis, slides)
    return torch.cat([depth, _surface_profile(own, batch, parts, point, axis, slides)], -1)


def _box_profile(
    own: Tensor,
    batch: PieceBatch,
    boxes: Boxes,
    parts: Parts,
    point: Tensor,
    axis: Tensor,
    slides: Tensor,
) -> Tensor:
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


def _surface_profile(
    own: Tensor, batch: PieceBatch, parts: Parts, point: Tensor, axis: Tensor, slides: Tensor
) -> Tensor:
    """[M, 2, bins, 2]: at every bin, how much surface of what stays the part meets there.

    In coordinates of the joint a motion is a shift along one of them: pairs of points are counted
    by that difference, weighted by how close they are in the other two.
    """
    stays = batch.area[parts.shape] * ~parts.carried
    piece = _spread(stays, _OTHERS)
    slot = torch.arange(_OTHERS) * _STRIDE % batch.points.shape[2]
    others = batch.points[parts.shape[:, None], piece, slot]
    along, across = _joint_coordinates(own, point, axis, slides)
    other_along, other_across = _joint_coordinates(others, point, axis, slides)
    far = other_along[:, None] - along[..., None]
    beside = (other_across[:, None] - across[:, :, None]).square().sum(-1)
    weight = torch.stack([(-beside / (2 * width**2)).exp() for width in _WIDTHS], 1)
    weight = weight * (stays.sum(-1) > 0)[:, None, None, None]
    sliding = slides[:, None, None]
    rows = []
    for way in (-far, far):
        ahead = torch.where(sliding, way, way.remainder(2 * torch.pi))
        place = torch.where(
            sliding,
            torch.bucketize(ahead, LENGTH_BINS),
            (ahead / ANGLE_BINS[1]).round().long(),
        ).clamp(max=len(ANGLE_BINS) - 1)
        counted = (weight * (~sliding | (ahead > 0))[:, None]).flatten(2)
        place = place.flatten(1)[:, None].expand_as(counted)
        total = counted.new_zeros(*counted.shape[:2], len(ANGLE_BINS))
        rows.append(total.scatter_add_(2, place, counted))
    # As many as there would be of 6400 pairs: the scale that weights are trained on.
    return (torch.stack(rows, 1).mT * (6400 / (_POINTS * _OTHERS))).log1p() / 3


def _joint_coordinates(
    points: Tensor, point: Tensor, axis: Tensor, slides: Tensor
) -> tuple[Tensor, Tensor]:
    """What the joint changes of points [M, P, 3], [M, P] (angle, or length along the axis), and
    the two coordinates that it keeps, [M, P, 2]."""
    helper = F.one_hot(axis.abs().argmin(-1), 3).to(axis)
    first = F.normalize(torch.linalg.cross(axis, helper), dim=-1)
    frame = torch.stack([first, torch.linalg.cross(axis, first), axis], -1)
    u, v, w = ((points - point[:, None]) @ frame).unbind(-1)
    sliding = slides[:, None]
    angle, radius = torch.atan2(v, u), (u.square() + v.square()).sqrt()
    kept = torch.stack([torch.where(sliding, u, radius), torch.where(sliding, v, w)], -1)
    return torch.where(sliding, w, angle), kept


def _at_bins(swept: Tensor, slides: Tensor) -> Tensor:
    """[M, 2, bins, 2] of values [M, 2, SWEPT - 1, 2], constant beyond the last."""
    bins = torch.arange(len(ANGLE_BINS))
    of_hinge, of_slide = bins.clamp(max=SWEPT - 1), ((bins + 1) // 2).clamp(max=SWEPT - 1)
    index = torch.where(slides[:, None], of_slide, of_hinge)
    padded = F.pad(swept, (0, 0, 1, 0))
    return padded.gather(2, index[:, None, :, None].expand(-1, 2, -1, 2))


def _spread(weight: Tensor, count: int) -> Tensor:
    """[M, count] columns of weights [M, N], each as often as its share."""
    total = weight.cumsum(-1)
    steps = (torch.arange(count) + 0.5) / count * total[:, -1:]
    return torch.searchsorted(total, steps, right=True).clamp(max=weight.shape[1] - 1)


def _part_points(batch: PieceBatch, parts: Parts) -> Tensor:
    """[M, 32, 3] points of the parts' own pieces, by area."""
    piece = _spread((batch.area[parts.shape] + 1e-6) * parts.members, _POINTS)
    shape, slot = parts.shape[:, None], torch.arange(_POINTS // 2) * _STRIDE
    samples = batch.points[shape, piece[:, ::2], slot % batch.points.shape[2]]
    extremes = batch.supports[shape, piece[:, 1::2], slot % batch.supports.shape[2]]
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
