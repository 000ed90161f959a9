"""Touch: points of one thing as another one feels them. Who is near, and what would be carried."""

from __future__ import annotations

import torch
from torch import Tensor

from kin4d.geometry.transforms import hat

UNIT = 0.05
"""Metres: lengths are told to networks in these."""
POINT = 3 + 3 + 3 + 3 + 2
"""Numbers that `contact_features` tells of a point."""
FINE = 3 + 3 + 1
"""Numbers that `fine_contact_features` adds."""
_REACH = 0.01  # m: how far a touch reaches
_HAIR = 0.003  # m: what decides between a hit and a miss


def transformed_points(poses: Tensor, points: Tensor) -> Tensor:
    """Points [B, M, 3] carried by poses [B, 3, 4]."""
    return points @ poses[..., :3].mT + poses[..., None, :, 3]


def towards(points: Tensor, others: Tensor) -> Tensor:
    """[B, N, 3]: from each of others [B, N, 3] to the nearest of points [B, M, 3]."""
    nearest = torch.cdist(others, points).argmin(-1)
    return points.gather(1, nearest[..., None].expand(-1, -1, 3)) - others


def nearest(
    points: Tensor, count: int, others: Tensor, later: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Of others [B, N, 3] those next to points: they, where they are later, the way, how far."""
    apart = torch.cdist(others, points)
    far, nearest = apart.min(-1)
    distance, chosen = far.topk(min(count, far.shape[1]), largest=False, sorted=False)
    rows = chosen[..., None].expand(-1, -1, 3)
    here = others.gather(1, rows)
    target = points.gather(1, nearest.gather(1, chosen)[..., None].expand(-1, -1, 3))
    return here, later.gather(1, rows), target - here, distance


def contact_features(
    place: Tensor, step: Tensor, way: Tensor, after: Tensor, distance: Tensor, world: Tensor
) -> Tensor:
    """[B, N, 14] what a network is told of points."""
    lengths = torch.cat([place, step, way, after], -1) / UNIT
    # What is many lengths away matters no more the farther it is.
    lengths = lengths / (1 + lengths.abs() / 8)
    closeness = (-distance / _REACH).exp()
    return torch.cat([lengths, closeness[..., None], world[..., 2:] / UNIT / 4], -1)


def fine_contact_features(way: Tensor, after: Tensor, distance: Tensor) -> Tensor:
    """[B, N, 7] the same once more of what is next to it, where millimetres count."""
    lengths = torch.cat([way, after], -1) / _HAIR
    closeness = (-distance / _HAIR).exp()
    return torch.cat([lengths / (1 + lengths.abs()), closeness[..., None]], -1)


def grasped_motion(place: Tensor, steps: Tensor, distance: Tensor) -> tuple[Tensor, Tensor]:
    """Shift [B, 3] m and turn [B, 3] rad of the origin, if it moved with the points next to it.

    Args:
        place: [B, N, 3] m.
        steps: [B, N, 3] m.
        distance: [B, N] m: how far each is; near ones count.
    """
    weight = (-(distance - distance.amin(1, keepdim=True)) / _REACH).softmax(1)[..., None]
    middle, mean = (weight * place).sum(1, keepdim=True), (weight * steps).sum(1, keepdim=True)
    arm, swing = place - middle, steps - mean
    cross = hat(arm)
    inertia = -(weight[..., None] * (cross @ cross)).sum(1)
    eye = torch.eye(3, dtype=place.dtype)
    momentum = (weight * torch.linalg.cross(arm, swing)).sum(1)
    turn = torch.linalg.solve(inertia + 3e-5 * eye, momentum)
    shift = mean[:, 0] + torch.linalg.cross(turn, -middle[:, 0])
    return shift, turn
