"""Dual quaternions: rigid motions as eight numbers that blend without shrinking.

A unit dual quaternion [..., 8] is (r, d): r a unit quaternion (w, x, y, z), d = t r / 2 with t the
translation as a pure quaternion, so r . d = 0. Batched over leading dims and differentiable.
"""

from __future__ import annotations

import torch
from torch import Tensor

from kin4d.geometry.transforms import (
    matrix_to_quaternion,
    quaternion_conjugate,
    quaternion_multiply,
    quaternion_rotate,
    quaternion_to_matrix,
    rigid,
)


def dq_identity(*, dtype: torch.dtype = torch.float64, device: str = "cpu") -> Tensor:
    """[8]: no motion."""
    return torch.eye(1, 8, dtype=dtype, device=device)[0]


def dq_from_parts(quaternion: Tensor, translation: Tensor) -> Tensor:
    """Rotate by the unit quaternion [..., 4], then translate by [..., 3] (m): [..., 8]."""
    pure = torch.cat([torch.zeros_like(translation[..., :1]), translation], -1)
    return torch.cat([quaternion, 0.5 * quaternion_multiply(pure, quaternion)], -1)


def dq_to_parts(dq: Tensor) -> tuple[Tensor, Tensor]:
    """Unit quaternion [..., 4] and translation [..., 3] (m) of a unit dual quaternion."""
    real, dual = dq[..., :4], dq[..., 4:]
    return real, 2 * quaternion_multiply(dual, quaternion_conjugate(real))[..., 1:]


def dq_from_matrix(transform: Tensor) -> Tensor:
    """Rigid [..., 4, 4] to [..., 8]."""
    return dq_from_parts(matrix_to_quaternion(transform[..., :3, :3]), transform[..., :3, 3])


def dq_to_matrix(dq: Tensor) -> Tensor:
    """Unit dual quaternion [..., 8] to rigid [..., 4, 4]."""
    real, translation = dq_to_parts(dq)
    return rigid(quaternion_to_matrix(real), translation)


def dq_normalize(dq: Tensor) -> Tensor:
    """Project [..., 8] numbers onto unit dual quaternions: |r| = 1 and r . d = 0.

    An r of zero length names no rotation; it becomes the identity rotation.
    """
    real, dual = dq[..., :4], dq[..., 4:]
    squared = real.square().sum(-1, keepdim=True)
    null = squared < torch.finfo(dq.dtype).tiny
    norm = torch.where(null, torch.ones_like(squared), squared).sqrt()
    identity = dq_identity(dtype=dq.dtype, device=str(dq.device))[:4].expand_as(real)
    real, dual = torch.where(null, identity, real / norm), dual / norm
    return torch.cat([real, dual - (real * dual).sum(-1, keepdim=True) * real], -1)


def dq_multiply(a: Tensor, b: Tensor) -> Tensor:
    """[..., 8]: the motion b followed by the motion a."""
    real = quaternion_multiply(a[..., :4], b[..., :4])
    dual = quaternion_multiply(a[..., :4], b[..., 4:]) + quaternion_multiply(a[..., 4:], b[..., :4])
    return torch.cat([real, dual], -1)


def dq_inverse(dq: Tensor) -> Tensor:
    """[..., 8]: the motion undone."""
    return torch.cat([quaternion_conjugate(dq[..., :4]), quaternion_conjugate(dq[..., 4:])], -1)


def dq_apply(dq: Tensor, points: Tensor) -> Tensor:
    """Move points [..., 3] by unit dual quaternions [..., 8], one each (broadcast)."""
    real, translation = dq_to_parts(dq)
    return quaternion_rotate(real, points) + translation


def dq_blend(dq: Tensor, weights: Tensor) -> Tensor:
    """Blend K motions [..., K, 8] by weights [..., K] into one unit dual quaternion [..., 8].

    q and -q are the same motion, so each is first turned to the side of the heaviest one.
    """
    heaviest = weights.argmax(-1)[..., None, None].expand(*weights.shape[:-1], 1, 8)
    dq, weights = torch.broadcast_tensors(dq, weights[..., None])
    pivot = dq.gather(-2, heaviest.expand(*dq.shape[:-2], 1, 8))[..., :4]
    sign = torch.where((dq[..., :4] * pivot).sum(-1, keepdim=True) < 0, -1.0, 1.0).to(dq.dtype)
    return dq_normalize((sign * dq * weights).sum(-2))
