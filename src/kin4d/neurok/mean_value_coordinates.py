"""Mean value coordinates: weights by which the corners of a closed cage move the points inside.

Ju, Schaefer and Warren, "Mean Value Coordinates for Closed Triangular Meshes", SIGGRAPH 2005.
"""

from __future__ import annotations

import torch
from torch import Tensor

_CHUNK = 1 << 20  # pairs of point and triangle in memory at once
_EPSILON = 1e-6


def mean_value_coordinates(points: Tensor, cage: Tensor, faces: Tensor) -> Tensor:
    """[B, N, C] weights, each row summing to one, with weights @ cage = points.

    Args:
        points: [B, N, 3], not on the cage.
        cage: [B, C, 3] corners.
        faces: [F, 3] int64 triangles of the cage.
    """
    step = max(1, _CHUNK // (len(faces) * len(points)))
    return torch.cat([_weights(part, cage, faces) for part in points.split(step, 1)], 1)


def _weights(points: Tensor, cage: Tensor, faces: Tensor) -> Tensor:
    to_corners = cage[:, None] - points[:, :, None]
    distance = to_corners.norm(dim=-1).clamp(min=_EPSILON)
    unit = to_corners / distance[..., None]
    corners = unit[:, :, faces]
    # Side i of the triangle on the unit sphere is opposite corner i.
    chord = (corners.roll(-1, -2) - corners.roll(1, -2)).norm(dim=-1)
    angle = 2 * (chord / 2).clamp(max=1 - 1e-7).asin()
    half = angle.sum(-1, keepdim=True) / 2
    sine = angle.sin().clamp(min=_EPSILON)
    after, before = (lambda x: x.roll(-1, -1)), (lambda x: x.roll(1, -1))
    cosine = 2 * half.sin() * (half - angle).sin() / (after(sine) * before(sine)) - 1
    cosine = cosine.clamp(-1, 1)
    a, b, c = corners.unbind(-2)
    side = (torch.linalg.cross(a, b) * c).sum(-1, keepdim=True).sign()
    normal = side * (1 - cosine.square()).clamp(min=0).sqrt()
    top = angle - after(cosine) * before(angle) - before(cosine) * after(angle)
    bottom = distance[:, :, faces] * after(sine) * before(normal)
    # A point in the plane of a triangle, but outside it, has no weight from it.
    flat = (normal.abs() < _EPSILON).any(-1, keepdim=True)
    share = torch.where(flat, 0.0, top / torch.where(flat, 1.0, bottom))
    weights = torch.zeros_like(distance).index_add(2, faces.ravel(), share.flatten(2))
    return weights / weights.sum(-1, keepdim=True)
