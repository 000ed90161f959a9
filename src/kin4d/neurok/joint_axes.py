"""JointAxisHead: predicts which candidate axis a part moves along, and how far.

Its input is, for each candidate axis (`axis_candidates`), the part and its surroundings in the
frame of the axis, and how the gaps change along it (`clearance_features`). Its output is a
`MotionMixture`: the probability of each axis, and mean and standard deviation of the motion.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from kin4d.neurok.axis_candidates import AxisCandidates, propose_axes
from kin4d.neurok.clearance_features import CLEARANCE_FEATURES, clearance_features
from kin4d.neurok.layers import mlp
from kin4d.neurok.motion_mixture import MIN_STD, MotionMixture
from kin4d.neurok.twists import TWIST

_POINT_FEATURES, _AXIS_FEATURES, _PART_FEATURES = 10, 13, 5


@dataclass(frozen=True, kw_only=True)
class AxisSampling:
    """How many points of a part the network is given; the shipped weights need the defaults.

    Attributes:
        own: Points of the part that candidate axes are fitted to.
        near: Points around it, the nearest to its bounding box.
        features: Points of either kind that are encoded.
        swept: Points of the part that are moved along the axes for clearance features.
        least: Assigned points, weighted, above which a token has a part.
    """

    own: int = 80
    near: int = 64
    features: int = 48
    swept: int = 40
    least: float = 2.5


SAMPLING = AxisSampling()


@dataclass(frozen=True, eq=False)
class Screws:
    """Predicted motions of T tokens; those without a part have the identity.

    Attributes:
        frames: [B, T, 6, 6] orthonormal rows: twists in the axes of the box, most likely first.
        gains: [B, T, 6] length of the twist along each row at a state of one.
        mean: [B, T, 6] mean of the prior over states; its variance is one.
        mixture: The distribution that these summarise.
    """

    frames: Tensor
    gains: Tensor
    mean: Tensor
    mixture: MotionMixture


@dataclass(frozen=True, eq=False)
class PartFeatures:
    """M parts, each with all N points of its shape.

    Attributes:
        shape: [M] index of the part's shape in the batch.
        token: [M] index of the part's token.
        own: [M, N] weight of each point in the part.
        still: [M, N] weight of each point in the static background.
        points: [M, N, 3] in unit boxes, z up, in random order.
        normals: [M, N, 3] unit normals.
        centres: [M, 3] of the parts.
        radii: [M] of the parts.
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
        """The parts of an assignment [B, N, 1 + T] of points and normals [B, N, 3], with centres
        [B, T, 3] and radii [B, T] of the tokens. Every shape has at least one part, its largest."""
        size = assignment[..., 1:].sum(1)
        live = (size > SAMPLING.least) | F.one_hot(size.argmax(1), size.shape[1]).bool()
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

    def random_subset(self, count: int) -> PartFeatures:
        """At most `count` of the parts, at random."""
        index = torch.randperm(len(self.shape), device=self.shape.device)[:count]
        return PartFeatures(
            **{field.name: getattr(self, field.name)[index] for field in fields(self)}
        )


class JointAxisHead(nn.Module):
    """Parts -> distribution of their motions. Trained on observed motions, without joint labels.

    Args:
        width: Features per axis.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        small = max(8, width // 4)
        self.point = nn.Sequential(mlp(_POINT_FEATURES, small, small), nn.GELU())
        self.axis = nn.Linear(3 * small + _AXIS_FEATURES + CLEARANCE_FEATURES, width)
        self.part = nn.Linear(_PART_FEATURES, width)
        self.others = nn.Linear(width, width)
        self.out = mlp(width, width, 3)
        self.free = mlp(_PART_FEATURES, width, 5)

    @torch.no_grad()
    def forward(
        self, assignment: Tensor, points: Tensor, normals: Tensor, centres: Tensor, radii: Tensor
    ) -> Screws:
        """Predicted motions of all tokens; arguments as of `PartFeatures.from_assignment`."""
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
        """Predict the motions of parts."""
        # The largest part of a shape may have no points: then all of them count as its own.
        mine = parts.own >= 0.5 * parts.own.amax(1, keepdim=True)
        inside, around = _choose_points(parts.points, mine)
        dense = _gather(parts, mine, torch.cat([inside, around], 1))
        count = inside[:, : SAMPLING.features].shape[1]
        sparse = _gather(
            parts, mine, torch.cat([inside[:, :count], around[:, : SAMPLING.features]], 1)
        )
        candidates = propose_axes(*dense[:3], parts.centres)
        twists = candidates.twists(parts.centres, parts.radii)
        point_features = self.point(_point_features(candidates, *sparse, parts.radii))
        own, near = point_features.split(count, 2)
        is_own, not_near = sparse[2][:, None, :, None].split(count, 2)
        points, is_part = sparse[0], sparse[2][..., None]
        swept = slice(SAMPLING.swept)
        pooled = [
            (own * is_own).sum(2) / is_own.sum(2),
            (own - 9.0 * ~is_own).amax(2),  # 9: below any feature, so that the maximum ignores it
            (near - 9.0 * not_near).amax(2),
            _axis_features(candidates, dense[0], dense[2], parts),
            clearance_features(
                twists,
                torch.where(is_part[:, swept], points[:, swept], torch.nan),
                torch.where(is_part[:, count:], torch.nan, points[:, count:]),
                parts.centres,
                parts.radii,
            ),
        ]
        part_features = _part_features(dense[0], dense[2], parts)
        axes = F.gelu(self.axis(torch.cat(pooled, -1)) + self.part(part_features)[:, None])
        # Candidates compete, so each one sees the mean of all.
        axes = axes + F.gelu(axes + self.others(axes).mean(1, keepdim=True))
        score, mean, std = self.out(axes).unbind(-1)
        free_score, *free = self.free(part_features).split(1, -1)
        sideways, up, tilt, spin = (MIN_STD + F.softplus(one) for one in free)
        return MotionMixture(
            shape=parts.shape,
            token=parts.token,
            twists=twists,
            log_prob=torch.cat([score, free_score], -1).log_softmax(-1),
            mean=mean,
            std=MIN_STD + F.softplus(std),
            free=torch.cat([sideways, sideways, up, tilt, tilt, spin], -1),
        )


def _choose_points(points: Tensor, mine: Tensor) -> tuple[Tensor, Tensor]:
    """Indices of a part's own points [M, K], and of the nearest around it [M, L]."""
    own = mine[..., None]
    high = torch.where(own, points, -torch.inf).amax(1, keepdim=True)
    low = torch.where(own, points, torch.inf).amin(1, keepdim=True)
    gap = ((points - high).relu() + (low - points).relu()).norm(dim=-1)
    count = points.shape[1]
    # Points are in random order, so the first ones are a random sample.
    order = torch.arange(count, device=points.device, dtype=points.dtype)
    first = torch.where(mine, order, torch.inf).topk(min(SAMPLING.own, count), largest=False)
    nearest = torch.where(mine, torch.inf, gap).topk(min(SAMPLING.near, count), largest=False)
    return first.indices, nearest.indices


def _gather(
    parts: PartFeatures, mine: Tensor, index: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Points, normals, whether the part's own, and static weight, at index [M, K]."""
    row = torch.arange(len(index), device=index.device)[:, None]
    still = parts.still[row, index]
    return parts.points[row, index], parts.normals[row, index], mine[row, index], still


def _point_features(
    candidates: AxisCandidates,
    points: Tensor,
    normals: Tensor,
    mine: Tensor,
    still: Tensor,
    radii: Tensor,
) -> Tensor:
    """[M, C, K, 10] of points [M, K, 3]: position and normal in the frame of each axis in radii of
    the part, distance from the axis, moment arm of the normal, own and static flags."""
    local = candidates.to_axis_frames(points) / radii[:, None, None, None]
    local_normals = normals[:, None] @ candidates.frames.mT
    distance = local[..., :2].norm(dim=-1, keepdim=True)
    moment_arm = torch.linalg.cross(local, local_normals)[..., 2:]
    flags = torch.stack([mine.to(local.dtype), still], -1)[:, None]
    flags = flags.expand(-1, local.shape[1], -1, -1)
    return torch.cat([local, local_normals, distance, moment_arm, flags], -1)


def _axis_features(
    candidates: AxisCandidates, points: Tensor, mine: Tensor, parts: PartFeatures
) -> Tensor:
    """[M, C, 13]: bounds and contact point of the part in the frame of each axis, distance of its
    centre, whether the axis is a slide, its vertical component, and the part's radius."""
    scale = parts.radii[:, None, None]
    local = candidates.to_axis_frames(points) / scale[..., None]
    own = mine[:, None, :, None]
    high = torch.where(own, local, -torch.inf).amax(2)
    low = torch.where(own, local, torch.inf).amin(2)
    contact = candidates.to_axis_frames(candidates.contacts[:, None]).squeeze(-2) / scale
    lever = (parts.centres[:, None] - candidates.origins).norm(dim=-1, keepdim=True) / scale
    upright = candidates.frames[..., 2, 2:]
    slides = candidates.slides[None, :, None].to(local.dtype).expand_as(upright)
    return torch.cat([high, low, contact, lever, slides, upright, scale.expand_as(upright)], -1)


def _part_features(points: Tensor, mine: Tensor, parts: PartFeatures) -> Tensor:
    """[M, 5]: height of the part's centre, its horizontal distance from the axis of the box, the
    part's height, radius, and share of the surface."""
    height = points[..., 2]
    tall = torch.where(mine, height, -torch.inf).amax(1) - torch.where(
        mine, height, torch.inf
    ).amin(1)
    out, height_of_centre = parts.centres[:, :2].norm(dim=-1), parts.centres[:, 2]
    return torch.stack([height_of_centre, out, tall, parts.radii, parts.own.mean(1)], -1)
