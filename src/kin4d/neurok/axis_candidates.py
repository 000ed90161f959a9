"""Axis candidates: the lines of two boxes around a part, as possible hinge and slide axes.

One box is upright, the other is aligned with the most common normal. Along each of its three
directions a box gives seven candidates: hinges on four edges, on the centre line and on the line
through the contact with other parts, and a slide. `joint_axes` ranks them.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

_LINES = 7  # candidates along each direction of a box
AXES = 2 * 3 * _LINES
"""Candidates of every part: along the three directions of two boxes."""


@dataclass(frozen=True, eq=False)
class AxisCandidates:
    """Candidate axes of M parts.

    Attributes:
        origins: [M, C, 3] the point of each axis that is nearest to the part's centre.
        frames: [M, C, 3, 3] rows: radial (from the axis to the part), tangential (the direction of
            a positive rotation), axial.
        slides: [C] bool: whether the candidate is a slide; otherwise a hinge.
        contacts: [M, 3] the point of each part that touches, or is nearest to, the rest.
    """

    origins: Tensor
    frames: Tensor
    slides: Tensor
    contacts: Tensor

    def to_axis_frames(self, points: Tensor) -> Tensor:
        """[M, C, K, 3]: points [M, K, 3] in the frame of every axis."""
        return (points[:, None] - self.origins[:, :, None]) @ self.frames.mT

    def twists(self, centres: Tensor, radii: Tensor) -> Tensor:
        """[M, C, 6] twists of length one, for parts with centres [M, 3] and radii [M]."""
        axis = self.frames[..., 2, :]
        lever = centres[:, None] - self.origins
        revolute = torch.cat([torch.linalg.cross(axis, lever), axis * radii[:, None, None]], -1)
        prismatic = torch.cat([axis, torch.zeros_like(axis)], -1)
        return F.normalize(torch.where(self.slides[:, None], prismatic, revolute), dim=-1)


@torch.no_grad()
def propose_axes(points: Tensor, normals: Tensor, own: Tensor, centres: Tensor) -> AxisCandidates:
    """Candidate axes of M parts.

    Args:
        points: [M, N, 3] points of each part's shape, in unit boxes, z up.
        normals: [M, N, 3] unit normals.
        own: [M, N] bool: the part's own points; at least one.
        centres: [M, 3] centres of the parts.
    """
    contacts, rest_contacts = _contact_points(points, own)
    up = points.new_tensor([0.0, 0.0, 1.0]).expand(len(points), 3)
    pieces = [
        _box_lines(_box_axes(normal, points, own), points, own, contacts)
        for normal in (up, _common_normal(normals, own))
    ]
    origins, axes, others = (torch.cat(part, 1) for part in zip(*pieces, strict=True))
    slides = torch.arange(AXES, device=points.device) % _LINES == _LINES - 1
    lever = centres[:, None] - origins
    along = (lever * axes).sum(-1, keepdim=True) * axes
    origins, lever = origins + along, lever - along
    # The lever of an axis through the centre has no direction: a side of the box replaces it.
    central = (lever.norm(dim=-1) < 0.1 * _radius(points, own, centres)[:, None]) | slides
    radial = torch.where(central[..., None], others, F.normalize(lever, dim=-1))
    # Positive motion is upwards for hinges, and away from the rest for slides.
    tangential = torch.linalg.cross(axes, radial)
    upward = torch.where(axes[..., 2].abs() > 0.5, axes[..., 2], tangential[..., 2])
    away_from_rest = (axes * (centres - rest_contacts)[:, None]).sum(-1)
    flip = torch.where(torch.where(slides, away_from_rest, upward) < 0, -1.0, 1.0)[..., None]
    return AxisCandidates(
        origins=origins,
        frames=torch.stack([radial, flip * tangential, flip * axes], -2),
        slides=slides,
        contacts=contacts,
    )


def _contact_points(points: Tensor, own: Tensor) -> tuple[Tensor, Tensor]:
    """Contact points [M, 3] of the parts with the rest, and of the rest with the parts."""
    distance = torch.cdist(points, points)
    to_rest = torch.where(own[:, None, :], torch.inf, distance).amin(-1)
    to_part = torch.where(own[:, None, :], distance, torch.inf).amin(-1)
    return _nearest(points, to_rest, own), _nearest(points, to_part, ~own)


def _nearest(points: Tensor, distance: Tensor, chosen: Tensor) -> Tensor:
    """[M, 3] mean of the chosen [M, N] points, weighted by exp(-distance / 0.03 unit boxes).

    Where there is nothing to be near to, the mean of all points.
    """
    distance = torch.where(chosen, distance, torch.inf)
    least = distance.amin(1, keepdim=True)
    weight = torch.where(least.isfinite(), torch.exp((least - distance) / 0.03), 1.0)
    weight = torch.where(weight.isfinite(), weight, 0.0)
    return (weight[..., None] * points).sum(1) / weight.sum(1, keepdim=True)


def _common_normal(normals: Tensor, own: Tensor) -> Tensor:
    """[M, 3] the most common normal of a part, up to sign; cosines above 0.97 count as equal."""
    alike = ((normals @ normals.mT).abs() > 0.97) & own[:, None, :]
    best = torch.where(own, alike.sum(-1), -1).argmax(1)
    return normals[torch.arange(len(normals), device=normals.device), best]


def _box_axes(normal: Tensor, points: Tensor, own: Tensor) -> Tensor:
    """[M, 3, 3] rows: axes of the smallest box around each part with a side along a normal [M, 3].

    Rotations about the normal are tried in steps of 2 degrees.
    """
    angles = 45  # in 90 degrees
    lying = normal[:, 2:].abs() > 0.9
    x, z = torch.eye(3, dtype=points.dtype, device=points.device)[[0, 2]]
    side = F.normalize(torch.linalg.cross(normal, torch.where(lying, x, z)), dim=-1)
    first, second = side, torch.linalg.cross(normal, side)
    angle = torch.arange(angles, dtype=points.dtype, device=points.device)
    angle = angle * (0.5 * torch.pi / angles)
    u, v = (points @ axis[..., None] for axis in (first, second))
    across = u * angle.cos() + v * angle.sin(), v * angle.cos() - u * angle.sin()
    width, depth = (_span(one, own) for one in across)
    best = angle[((width + 0.01) * (depth + 0.01)).argmin(1)][:, None]
    cosine, sine = best.cos(), best.sin()
    return torch.stack([first * cosine + second * sine, second * cosine - first * sine, normal], 1)


def _box_lines(
    axes: Tensor, points: Tensor, own: Tensor, contacts: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Candidate lines of boxes with rows axes [M, 3, 3]: points, directions, and one direction
    across each, [M, 21, 3]."""
    inside = points @ axes.mT
    low, high = _minimum(inside, own), -_minimum(-inside, own)
    centre = (low + high) / 2
    origins, along, across = [], [], []
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        for one in (low, high):
            for other in (low, high):
                corner = centre.clone()
                corner[:, i], corner[:, j] = one[:, i], other[:, j]
                origins.append(corner)
        origins += [centre, (axes @ contacts[..., None]).squeeze(-1), centre]
        along.append(axes[:, k : k + 1].expand(-1, _LINES, -1))
        across.append(axes[:, i : i + 1].expand(-1, _LINES, -1))
    positions = torch.stack(origins, 1) @ axes
    return positions, torch.cat(along, 1), torch.cat(across, 1)


def _minimum(values: Tensor, own: Tensor) -> Tensor:
    """[M, K] minimum of values [M, N, K] over a part's own points."""
    return torch.where(own[..., None], values, torch.inf).amin(1)


def _span(values: Tensor, own: Tensor) -> Tensor:
    return -_minimum(-values, own) - _minimum(values, own)


def _radius(points: Tensor, own: Tensor, centres: Tensor) -> Tensor:
    """[M] root mean square distance of a part's points from its centre."""
    square = (points - centres[:, None]).square().sum(-1) * own
    return (square.sum(1) / own.sum(1)).sqrt()
