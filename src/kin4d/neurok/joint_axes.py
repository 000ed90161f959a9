"""Joint axes: predicts which candidate axes a part moves along, and how far.

A network sees the part and its surroundings in the frame of each candidate axis
(`axis_candidates`), with the gaps that moving along it would leave (`clearance_features`). It
predicts the probability of the axis and the mean and deviation of the motion along it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from kin4d.neurok.axis_candidates import AxisCandidates, propose_axes
from kin4d.neurok.clearance_features import FACTS, clearance_features
from kin4d.neurok.layers import mlp
from kin4d.neurok.motion_mixture import LEAST_GAIN, MotionMixture
from kin4d.neurok.twists import TWIST

_LEAST_CLAIM = 2.5  # points: what claims fewer has no part to look at
_OWN, _NEAR = 80, 64  # points of a part, and around it, that axes are found from
_SEEN = 48  # of either kind that the network looks at
_SWEPT = 40  # points of a part that are moved along axes
_POINT, _AXIS, _PART = 10, 13, 5  # numbers that tell of a point, an axis, and a part


@dataclass(frozen=True, eq=False)
class Screws:
    """How tokens are expected to move.

    Attributes:
        frames: [B, T, 6, 6] orthonormal rows: twists, in the axes of the box, likeliest first.
        gains: [B, T, 6] how far along each, at a state of one.
        mean: [B, T, 6] of the prior over states; its variance is one.
        mixture: What they are a summary of.
    """

    frames: Tensor
    gains: Tensor
    mean: Tensor
    mixture: MotionMixture


@dataclass(frozen=True, eq=False)
class PartFeatures:
    """M parts, each among N points of its shape.

    Attributes:
        shape: [M] the shape each is part of.
        token: [M] the column of the claims, less one, that it is claimed in.
        own: [M, N] how much of each point is the part's.
        still: [M, N] how much of it never moves.
        points: [M, N, 3] in unit boxes, z up, in random order.
        normals: [M, N, 3].
        centres: [M, 3] of the parts.
        radii: [M].
    """

    shape: Tensor
    token: Tensor
    own: Tensor
    still: Tensor
    points: Tensor
    normals: Tensor
    centres: Tensor
    radii: Tensor

    @classmethod
    def from_assignment(
        cls, assignment: Tensor, points: Tensor, normals: Tensor, centres: Tensor, radii: Tensor
    ) -> PartFeatures:
        """By claims [B, N, 1 + T] on points and normals [B, N, 3], whose middles [B, T, 3] and
        radii [B, T] are known. Every shape has one at least: the largest counts, however small."""
        size = assignment[..., 1:].sum(1)
        live = (size > _LEAST_CLAIM) | F.one_hot(size.argmax(1), size.shape[1]).bool()
        shape, token = where = live.nonzero(as_tuple=True)
        return cls(
            shape=shape,
            token=token,
            own=assignment[shape, :, token + 1],
            still=assignment[shape, :, 0],
            points=points[shape],
            normals=normals[shape],
            centres=centres[where],
            radii=radii[where],
        )

    def some(self, count: int) -> PartFeatures:
        """At most `count` of them, at random."""
        index = torch.randperm(len(self.shape), device=self.shape.device)[:count]
        return PartFeatures(
            **{field.name: getattr(self, field.name)[index] for field in fields(self)}
        )


class JointAxisHead(nn.Module):
    """Parts -> what they are expected to do. It learns from how parts move alone.

    Args:
        width: Of what it makes of an axis.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        small = max(8, width // 4)
        self.point = nn.Sequential(mlp(_POINT, small, small), nn.GELU())
        self.axis = nn.Linear(3 * small + _AXIS + FACTS, width)
        self.part = nn.Linear(_PART, width)
        self.others = nn.Linear(width, width)
        self.out = mlp(width, width, 3)
        self.free = mlp(_PART, width, 5)

    @torch.no_grad()
    def forward(
        self, assignment: Tensor, points: Tensor, normals: Tensor, centres: Tensor, radii: Tensor
    ) -> Screws:
        """Of claims [B, N, 1 + T] on points and normals [B, N, 3], whose middles [B, T, 3] and
        radii [B, T] are known."""
        mixture = self.predict(
            PartFeatures.from_assignment(assignment, points, normals, centres, radii)
        )
        rows, gains, mean = mixture.principal()
        where = mixture.shape, mixture.token
        eye = torch.eye(TWIST, dtype=rows.dtype, device=rows.device)
        return Screws(
            frames=eye.expand(*radii.shape, -1, -1).index_put(where, rows),
            gains=gains.new_ones(*radii.shape, TWIST).index_put(where, gains),
            mean=mean.new_zeros(*radii.shape, TWIST).index_put(where, mean),
            mixture=mixture,
        )

    def predict(self, parts: PartFeatures) -> MotionMixture:
        """What parts are expected to do."""
        # Of a part that has no points, all are: nothing comes of it, but it has a box.
        mine = parts.own >= 0.5 * parts.own.amax(1, keepdim=True)
        inside, around = _surroundings(parts.points, mine)
        every = _pick(parts, mine, torch.cat([inside, around], 1))
        few = _pick(parts, mine, torch.cat([inside[:, :_SEEN], around[:, :_SEEN]], 1))
        candidates = propose_axes(*every[:3], parts.centres)
        twists = candidates.twists(parts.centres, parts.radii)
        features = self.point(_point_features(candidates, *few, parts.radii))
        count = inside[:, :_SEEN].shape[1]
        own, near = features.split(count, 2)
        is_own, not_near = few[2][:, None, :, None].split(count, 2)
        swept, rest = few[0][:, :_SWEPT], few[0][:, count:]
        gathered = [
            (own * is_own).sum(2) / is_own.sum(2),
            (own - 9.0 * ~is_own).amax(2),
            (near - 9.0 * not_near).amax(2),
            _axis_features(candidates, every[0], every[2], parts),
            clearance_features(
                twists,
                torch.where(few[2][:, :_SWEPT, None], swept, torch.nan),
                torch.where(few[2][:, count:, None], torch.nan, rest),
                parts.centres,
                parts.radii,
            ),
        ]
        part_features = _part_features(every[0], every[2], parts)
        seen = F.gelu(self.axis(torch.cat(gathered, -1)) + self.part(part_features)[:, None])
        # An axis is as likely as the others are not.
        seen = seen + F.gelu(seen + self.others(seen).mean(1, keepdim=True))
        score, mean, std = self.out(seen).unbind(-1)
        loose, *free = self.free(part_features).split(1, -1)
        aside, up, tilt, spin = (LEAST_GAIN + F.softplus(one) for one in free)
        return MotionMixture(
            shape=parts.shape,
            token=parts.token,
            twists=twists,
            log_prob=torch.cat([score, loose], -1).log_softmax(-1),
            mean=mean,
            std=LEAST_GAIN + F.softplus(std),
            free=torch.cat([aside, aside, up, tilt, tilt, spin], -1),
        )


def _surroundings(points: Tensor, mine: Tensor) -> tuple[Tensor, Tensor]:
    """Which points [M, K] of parts, and which around them [M, L], are looked at."""
    own = mine[..., None]
    high = torch.where(own, points, -torch.inf).amax(1, keepdim=True)
    low = torch.where(own, points, torch.inf).amin(1, keepdim=True)
    gap = ((points - high).relu() + (low - points).relu()).norm(dim=-1)
    count = points.shape[1]
    # Points are in random order: the first of them are as good as any.
    order = torch.arange(count, device=points.device, dtype=points.dtype)
    first = torch.where(mine, order, torch.inf).topk(min(_OWN, count), largest=False)
    nearest = torch.where(mine, torch.inf, gap).topk(min(_NEAR, count), largest=False)
    return first.indices, nearest.indices


def _pick(parts: PartFeatures, mine: Tensor, some: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Points, normals, what is the part's and what is still, of some [M, K]."""
    row = torch.arange(len(some), device=some.device)[:, None]
    still = parts.still[row, some]
    return parts.points[row, some], parts.normals[row, some], mine[row, some], still


def _point_features(
    candidates: AxisCandidates,
    points: Tensor,
    normals: Tensor,
    mine: Tensor,
    still: Tensor,
    radii: Tensor,
) -> Tensor:
    """[M, C, K, 10] of points [M, K, 3], in the frame of every axis and radii of the part."""
    local = candidates.to_axis_frames(points) / radii[:, None, None, None]
    local_normals = normals[:, None] @ candidates.frames.mT
    far = local[..., :2].norm(dim=-1, keepdim=True)
    moment_arm = torch.linalg.cross(local, local_normals)[..., 2:]
    flags = torch.stack([mine.to(local.dtype), still], -1)[:, None]
    flags = flags.expand(-1, local.shape[1], -1, -1)
    return torch.cat([local, local_normals, far, moment_arm, flags], -1)


def _axis_features(
    candidates: AxisCandidates, points: Tensor, mine: Tensor, parts: PartFeatures
) -> Tensor:
    """[M, C, 13]: how far the part reaches in the frame of each axis, where it touches, how far its
    middle is, whether it would slide, how upright the axis is, and the part's size."""
    scale = parts.radii[:, None, None]
    local = candidates.to_axis_frames(points) / scale[..., None]
    own = mine[:, None, :, None]
    high = torch.where(own, local, -torch.inf).amax(2)
    low = torch.where(own, local, torch.inf).amin(2)
    contact = candidates.to_axis_frames(candidates.contacts[:, None]).squeeze(-2) / scale
    arm = (parts.centres[:, None] - candidates.origins).norm(dim=-1, keepdim=True) / scale
    upright = candidates.frames[..., 2, 2:]
    slides = candidates.slides[None, :, None].to(local.dtype).expand_as(upright)
    return torch.cat([high, low, contact, arm, slides, upright, scale.expand_as(upright)], -1)


def _part_features(points: Tensor, mine: Tensor, parts: PartFeatures) -> Tensor:
    """[M, 5]: height of the part's middle, how far out it is, how tall and how large the part is,
    and its share of the surface."""
    height = points[..., 2]
    tall = torch.where(mine, height, -torch.inf).amax(1) - torch.where(
        mine, height, torch.inf
    ).amin(1)
    out, height_of_centre = parts.centres[:, :2].norm(dim=-1), parts.centres[:, 2]
    return torch.stack([height_of_centre, out, tall, parts.radii, parts.own.mean(1)], -1)
