"""Point features around a part: nearest robot points, distances, motion of a firm grasp."""

from __future__ import annotations

import torch
from torch import Tensor

from kin4d.geometry.transforms import hat

UNIT = 0.05
"""Unit of length of network inputs, m."""
COARSE_FEATURES = 3 + 3 + 3 + 3 + 2
"""Features per point of `contact_features`."""
FINE_FEATURES = 3 + 3 + 1
"""Features per point of `fine_contact_features`."""
_CONTACT_RANGE = 0.01  # m: length scale of contact
_FINE_RANGE = 0.003  # m: length scale that separates a grasp from a near miss


def transformed_points(poses: Tensor, points: Tensor) -> Tensor:
    """Points [B, M, 3] transformed by poses [B, 3, 4]."""
    return points @ poses[..., :3].mT + poses[..., None, :, 3]


def to_nearest(points: Tensor, others: Tensor) -> Tensor:
    """[B, N, 3]: from each of others [B, N, 3] to the nearest of points [B, M, 3]."""
    index = torch.cdist(others, points).argmin(-1)
    return points.gather(1, index[..., None].expand(-1, -1, 3)) - others


def nearest(
    points: Tensor, count: int, others: Tensor, later: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The `count` of others [B, N, 3] nearest to points [B, M, 3].

    Returns their points, the same points `later`, displacement to the part, and distance.
    """
    distance_to_part, index = torch.cdist(others, points).min(-1)
    distance, chosen = distance_to_part.topk(
        min(count, distance_to_part.shape[1]), largest=False, sorted=False
    )
    rows = chosen[..., None].expand(-1, -1, 3)
    chosen_points = others.gather(1, rows)
    target = points.gather(1, index.gather(1, chosen)[..., None].expand(-1, -1, 3))
    return chosen_points, later.gather(1, rows), target - chosen_points, distance


def contact_features(
    position: Tensor,
    step: Tensor,
    displacement: Tensor,
    displacement_after: Tensor,
    distance: Tensor,
    point: Tensor,
) -> Tensor:
    """[B, N, 14] features of points, at centimetre scale."""
    lengths = torch.cat([position, step, displacement, displacement_after], -1) / UNIT
    # Large distances saturate.
    lengths = lengths / (1 + lengths.abs() / 8)
    closeness = (-distance / _CONTACT_RANGE).exp()
    return torch.cat([lengths, closeness[..., None], point[..., 2:] / UNIT / 4], -1)


def fine_contact_features(
    displacement: Tensor, displacement_after: Tensor, distance: Tensor
) -> Tensor:
    """[B, N, 7] features of points in contact, at millimetre scale."""
    lengths = torch.cat([displacement, displacement_after], -1) / _FINE_RANGE
    closeness = (-distance / _FINE_RANGE).exp()
    return torch.cat([lengths / (1 + lengths.abs()), closeness[..., None]], -1)


def grasped_motion(position: Tensor, steps: Tensor, distance: Tensor) -> tuple[Tensor, Tensor]:
    """Translation [B, 3] m and rotation [B, 3] rad of the origin, if it moved with nearby points.

    Args:
        position: [B, N, 3] m.
        steps: [B, N, 3] m: motion of the points.
        distance: [B, N] m to the part; near points have more weight.
    """
    weight = (-(distance - distance.amin(1, keepdim=True)) / _CONTACT_RANGE).softmax(1)[..., None]
    centre, mean_step = (
        (weight * position).sum(1, keepdim=True),
        (weight * steps).sum(1, keepdim=True),
    )
    lever, relative_step = position - centre, steps - mean_step
    cross = hat(lever)
    inertia = -(weight[..., None] * (cross @ cross)).sum(1)
    eye = torch.eye(3, dtype=position.dtype)
    momentum = (weight * torch.linalg.cross(lever, relative_step)).sum(1)
    rotation = torch.linalg.solve(inertia + 3e-5 * eye, momentum)
    translation = mean_step[:, 0] + torch.linalg.cross(rotation, -centre[:, 0])
    return translation, rotation
