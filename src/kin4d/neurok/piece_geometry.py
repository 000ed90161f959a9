"""Geometry of pieces: oriented boxes, features of pieces and pairs, and candidate joint axes."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from kin4d.neurok.piece_batch import PieceBatch

LINES = 15
"""Candidate axes of a box: along each of its three directions, through its middle and along four
edges."""

PIECE_FEATURES = 25
PAIR_FEATURES = 24


@dataclass(frozen=True, eq=False)
class Boxes:
    """Oriented boxes.

    Attributes:
        center: [..., 3].
        frame: [..., 3, 3] rows are unit directions, the longest extent first.
        half: [..., 3] half extents along them.
    """

    center: Tensor
    frame: Tensor
    half: Tensor

    def lines(self) -> tuple[Tensor, Tensor]:
        """Candidate axes: points [..., 15, 3] and unit directions [..., 15, 3].

        Numbered by direction first; of each the middle line, then the four edges.
        """
        steps = self.frame * self.half[..., None]
        points = []
        for axis in range(3):
            first, second = steps[..., (axis + 1) % 3, :], steps[..., (axis + 2) % 3, :]
            points.append(self.center)
            points += [
                self.center + a * first + b * second for a in (-1.0, 1.0) for b in (-1.0, 1.0)
            ]
        return torch.stack(points, -2), self.frame.repeat_interleave(5, -2)


def fit_boxes(points: Tensor, normals: Tensor, supports: Tensor) -> Boxes:
    """The smallest of three boxes: along the axes, by moments of points, and by those of normals.

    Args:
        points: [..., K, 3].
        normals: [..., K, 3].
        supports: [..., S, 3] whose extent counts.
    """
    centered = points - points.mean(-2, keepdim=True)
    noise = torch.diag(torch.tensor([1e-7, 2e-7, 3e-7])).to(points)
    eye = torch.eye(3).to(points).expand(*points.shape[:-2], 3, 3)
    moments = centered.mT @ centered / points.shape[-2] + noise
    facing = normals.mT @ normals / points.shape[-2] + noise
    frames = torch.stack(
        [eye, torch.linalg.eigh(facing)[1].mT, torch.linalg.eigh(moments)[1].mT], -3
    )
    along = supports[..., None, :, :] @ frames.mT
    low, high = along.amin(-2), along.amax(-2)
    size = (high - low).clamp(min=1e-4)
    # Ties go to the axes, then to the normals.
    cost = size.prod(-1) * torch.tensor([1.0, 1.02, 1.05]).to(points)
    best = cost.argmin(-1)[..., None, None]
    frame = frames.gather(-3, best[..., None].expand(*best.shape[:-2], 1, 3, 3)).squeeze(-3)
    pick = best.expand(*best.shape[:-2], 1, 3)
    low, size = low.gather(-2, pick).squeeze(-2), size.gather(-2, pick).squeeze(-2)
    order = size.argsort(-1, descending=True)
    frame = frame.gather(-2, order[..., None].expand_as(frame))
    size, low = size.gather(-1, order), low.gather(-1, order)
    # Each direction points to the positive side of the axis it is nearest to.
    main = frame.gather(-1, frame.abs().argmax(-1, keepdim=True))
    flip = torch.where(main < 0, -1.0, 1.0).squeeze(-1)
    middle = ((low + size / 2)[..., None] * frame).sum(-2)
    return Boxes(middle, frame * flip[..., None], size / 2)


def piece_features(batch: PieceBatch, boxes: Boxes) -> Tensor:
    """[B, N, 25] of each piece by itself."""
    count = batch.points.shape[-2]
    facing = batch.normals.mT @ batch.normals / count
    along = torch.einsum("bnij,bnjk,bnik->bni", boxes.frame, facing, boxes.frame)
    share = batch.area / batch.area.sum(-1, keepdim=True).clamp(min=1e-9)
    low, high = batch.supports.amin(-2), batch.supports.amax(-2)
    return torch.cat(
        [
            boxes.center,
            boxes.frame.flatten(-2),
            (boxes.half + 1e-3).log(),
            along,
            low,
            high,
            (share + 1e-5).log()[..., None],
        ],
        -1,
    )


def pair_features(batch: PieceBatch, boxes: Boxes) -> Tensor:
    """[B, N, N, 24] of piece i as seen from piece j."""
    low, high = batch.supports.amin(-2), batch.supports.amax(-2)
    offset = boxes.center[:, :, None] - boxes.center[:, None]
    gap = torch.maximum(low[:, :, None] - high[:, None], low[:, None] - high[:, :, None])
    in_frame = torch.einsum("bijk,bjlk->bijl", offset, boxes.frame) / (boxes.half[:, None] + 0.02)
    # Corners tell contact, samples overlap.
    probes = torch.cat([batch.supports[:, :, ::2], batch.points[:, :, ::4]], 2)
    gap_to_box = _box_gaps(probes, boxes)
    ratio = (boxes.half + 1e-3).log()
    ratio = ratio[:, :, None] - ratio[:, None]
    aligned = torch.einsum("bikc,bjkc->bijk", boxes.frame, boxes.frame).abs()
    share = (batch.area + 1e-6).log()
    same = (batch.component[:, :, None] == batch.component[:, None])[..., None]
    columns = [
        offset,
        gap.clamp(-0.3, 0.3) * 3,
        in_frame.clamp(-4, 4) / 2,
        _log_length(gap_to_box),
        _log_length(gap_to_box.mT),
        ratio,
        aligned,
        (share[:, :, None] - share[:, None])[..., None] / 4,
        same.to(offset),
        torch.linalg.norm(offset, dim=-1, keepdim=True),
    ]
    return torch.cat(columns, -1)


def _box_gaps(points: Tensor, boxes: Boxes) -> Tensor:
    """[B, N, N] least signed distance of points of piece i [B, N, k, 3] from the box of piece j."""
    batch, count, each, _ = points.shape
    flat = points.flatten(1, 2)
    center = (boxes.frame @ boxes.center[..., None]).squeeze(-1)
    outside = points.new_zeros(batch, count * each, count)
    inside = torch.full_like(outside, -torch.inf)
    # Axis by axis: reducing a last dimension of three is slow.
    for axis in range(3):
        beyond = flat @ boxes.frame[:, :, axis].mT
        beyond = beyond.sub_(center[:, None, :, axis]).abs_().sub_(boxes.half[:, None, :, axis])
        torch.maximum(inside, beyond, out=inside)
        outside.add_(beyond.clamp_(min=0).square_())
    signed = outside.sqrt_().add_(inside.clamp_(max=0))
    return signed.reshape(batch, count, each, count).amin(2)


def _log_length(signed: Tensor) -> Tensor:
    """[..., 3] of a signed distance: on a scale that tells contact from clearance, on one of the
    whole object, and how deep it is."""
    length = signed.clamp(min=0)
    fine, coarse = (length + 4e-4).log() / 3 + 1.6, (length + 0.01).log() / 3 + 0.8
    return torch.stack([fine, coarse, signed.clamp(-0.05, 0) * 20], -1)
