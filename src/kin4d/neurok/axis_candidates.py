"""Axis candidates: lines of two boxes around a part, as possible hinge and slide axes.

One box is upright, the other is aligned with the most common normal. Each offers its edges, middle
lines, the line through the contact with other parts, and slides. A network then ranks them.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

_ANGLES = 45  # tried in a quarter turn
_ALIKE = 0.97  # cosine between normals of one direction
_TOUCH = 0.03  # unit boxes over which touching fades
_CENTRAL = 0.1  # of a part's radius: an axis nearer to its middle has no side

_LINES = 7  # along a side of a box: four edges, the middle, where the part touches, and a slide

AXES = 2 * 3 * _LINES
"""Axes offered to every part: along the three sides of two boxes."""


@dataclass(frozen=True, eq=False)
class AxisCandidates:
    """Axes offered to M parts.

    Attributes:
        origins: [M, C, 3] the place on each axis that is nearest to the part's middle.
        frames: [M, C, 3, 3] rows: from the axis to the part, ahead when it turns, along the axis.
        slides: [C] bool, which of them are to slide along.
        touches: [M, 3] where each part touches others, or comes nearest to it.
    """

    origins: Tensor
    frames: Tensor
    slides: Tensor
    contacts: Tensor

    def to_axis_frames(self, points: Tensor) -> Tensor:
        """[M, C, K, 3]: points [M, K, 3] in the frame of every axis."""
        return (points[:, None] - self.origins[:, :, None]) @ self.frames.mT

    def twists(self, centres: Tensor, radii: Tensor) -> Tensor:
        """[M, C, 6] of length one, about centres [M, 3] of parts with radii [M]."""
        axis = self.frames[..., 2, :]
        arm = centres[:, None] - self.origins
        revolute = torch.cat([torch.linalg.cross(axis, arm), axis * radii[:, None, None]], -1)
        prismatic = torch.cat([axis, torch.zeros_like(axis)], -1)
        return F.normalize(torch.where(self.slides[:, None], prismatic, revolute), dim=-1)


@torch.no_grad()
def propose_axes(points: Tensor, normals: Tensor, own: Tensor, centres: Tensor) -> AxisCandidates:
    """The axes offered to M parts.

    Args:
        points: [M, N, 3] of the shape that each is part of, in unit boxes, z up.
        normals: [M, N, 3].
        own: [M, N] bool, which of them are the part's; at least one.
        centres: [M, 3] middles of the parts.
    """
    contacts, away = _contact_points(points, own)
    up = points.new_tensor([0.0, 0.0, 1.0]).expand(len(points), 3)
    pieces = [
        _of_box(_box_axes(normal, points, own), points, own, contacts)
        for normal in (up, _common_normal(normals, own))
    ]
    origins, axes, others = (torch.cat(part, 1) for part in zip(*pieces, strict=True))
    slides = torch.arange(AXES, device=points.device) % _LINES == _LINES - 1
    arm = centres[:, None] - origins
    along = (arm * axes).sum(-1, keepdim=True) * axes
    origins, arm = origins + along, arm - along
    central = (arm.norm(dim=-1) < _CENTRAL * _radius(points, own, centres)[:, None]) | slides
    outward = torch.where(central[..., None], others, F.normalize(arm, dim=-1))
    # Signs are settled by what all parts know: up, and what they are near to.
    ahead = torch.linalg.cross(axes, outward)
    upward = torch.where(axes[..., 2].abs() > 0.5, axes[..., 2], ahead[..., 2])
    away_from_rest = (axes * (centres - away)[:, None]).sum(-1)
    flip = torch.where(torch.where(slides, away_from_rest, upward) < 0, -1.0, 1.0)[..., None]
    return AxisCandidates(
        origins=origins,
        frames=torch.stack([outward, flip * ahead, flip * axes], -2),
        slides=slides,
        contacts=contacts,
    )


def _contact_points(points: Tensor, own: Tensor) -> tuple[Tensor, Tensor]:
    """Where parts come nearest to the rest [M, 3], and the middle of the rest near there [M, 3]."""
    far = torch.cdist(points, points)
    to_rest = torch.where(own[:, None, :], torch.inf, far).amin(-1)
    to_part = torch.where(own[:, None, :], far, torch.inf).amin(-1)
    return _nearest(points, to_rest, own), _nearest(points, to_part, ~own)


def _nearest(points: Tensor, far: Tensor, some: Tensor) -> Tensor:
    """Mean [M, 3] of some [M, N] points, the nearest alone; of all where nothing is to be near."""
    far = torch.where(some, far, torch.inf)
    least = far.amin(1, keepdim=True)
    weight = torch.where(least.isfinite(), torch.exp((least - far) / _TOUCH), 1.0)
    weight = torch.where(weight.isfinite(), weight, 0.0)
    return (weight[..., None] * points).sum(1) / weight.sum(1, keepdim=True)


def _common_normal(normals: Tensor, own: Tensor) -> Tensor:
    """[M, 3] the direction, or its opposite, that most of a part's surface looks to."""
    alike = ((normals @ normals.mT).abs() > _ALIKE) & own[:, None, :]
    best = torch.where(own, alike.sum(-1), -1).argmax(1)
    return normals[torch.arange(len(normals), device=normals.device), best]


def _box_axes(normal: Tensor, points: Tensor, own: Tensor) -> Tensor:
    """[M, 3, 3] rows: axes of the tightest box around each part that stands on a normal [M, 3]."""
    lying = normal[:, 2:].abs() > 0.9
    x, z = torch.eye(3, dtype=points.dtype, device=points.device)[[0, 2]]
    side = F.normalize(torch.linalg.cross(normal, torch.where(lying, x, z)), dim=-1)
    first, second = side, torch.linalg.cross(normal, side)
    angle = torch.arange(_ANGLES, dtype=points.dtype, device=points.device)
    angle = angle * (0.5 * torch.pi / _ANGLES)
    u, v = (points @ axis[..., None] for axis in (first, second))
    across = u * angle.cos() + v * angle.sin(), v * angle.cos() - u * angle.sin()
    width, depth = (_span(one, own) for one in across)
    best = angle[((width + 0.01) * (depth + 0.01)).argmin(1)][:, None]
    cosine, sine = best.cos(), best.sin()
    return torch.stack([first * cosine + second * sine, second * cosine - first * sine, normal], 1)


def _of_box(
    axes: Tensor, points: Tensor, own: Tensor, contacts: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Of a box with rows axes [M, 3, 3]: places, directions, and one across them, [M, 21, 3]."""
    inside = points @ axes.mT
    low, high = _least(inside, own), -_least(-inside, own)
    middle = (low + high) / 2
    origins, along, across = [], [], []
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        for one in (low, high):
            for other in (low, high):
                corner = middle.clone()
                corner[:, i], corner[:, j] = one[:, i], other[:, j]
                origins.append(corner)
        origins += [middle, (axes @ contacts[..., None]).squeeze(-1), middle]
        along.append(axes[:, k : k + 1].expand(-1, _LINES, -1))
        across.append(axes[:, i : i + 1].expand(-1, _LINES, -1))
    positions = torch.stack(origins, 1) @ axes
    return positions, torch.cat(along, 1), torch.cat(across, 1)


def _least(values: Tensor, own: Tensor) -> Tensor:
    """[M, K] least of a part's own values [M, N, K]."""
    return torch.where(own[..., None], values, torch.inf).amin(1)


def _span(values: Tensor, own: Tensor) -> Tensor:
    return -_least(-values, own) - _least(values, own)


def _radius(points: Tensor, own: Tensor, centres: Tensor) -> Tensor:
    """[M] root mean square distance of a part's points from its middle."""
    square = (points - centres[:, None]).square().sum(-1) * own
    return (square.sum(1) / own.sum(1)).sqrt()
