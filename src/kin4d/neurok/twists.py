"""Twists: rigid motions of tokens as six numbers, and conversions.

A twist has its translation part first, about the centre of its token's points; rotations are
measured by how far they move these points. Motion along one twist is that of a hinge, a
slide or a thread.
"""

from __future__ import annotations

import torch
from torch import Tensor

from kin4d.geometry.transforms import (
    quaternion_rotate,
    rigid,
    rotvec_jacobian,
    rotvec_to_quaternion,
    se3_log,
)

TWIST = 6
"""Numbers of a rigid motion: a twist, translation part first."""

TWIST_UNIT = 0.3
"""Unit boxes that a part moves by at a twist of length one."""


def extents(weights: Tensor, points: Tensor) -> tuple[Tensor, Tensor]:
    """Middle [B, T, 3] and radius [B, T] of the points that weights [B, N, T] claim."""
    share = weights.mT / (weights.sum(1)[..., None] + 1e-3)
    middle = share @ points
    square = share @ points.square() - middle.square()
    return middle, (square.sum(-1).clamp(min=0) + 0.05**2).sqrt()


@torch.no_grad()
def fit_twists(
    weights: Tensor, points: Tensor, moved: Tensor, centres: Tensor, radii: Tensor
) -> tuple[Tensor, Tensor]:
    """The rigid motion of the points each token claims, and facts about the fit.

    Twists are read off, not learned through: gradients of a singular value decomposition are wild,
    and the weights learn from the decoder.

    Args:
        weights: [B, N, T].
        points: [B, N, 3].
        moved: [B, N, 3] where they go.
        centres: [B, T, 3] origins of the twists.
        radii: [B, T] of what the tokens claim.

    Returns:
        [B, T, 6] twists as `twist_to_parts` takes them; and [B, T, 14]: share of points, place,
        spread, mean step, what the fit leaves over, and the size of the steps along each axis.
    """
    size = weights.sum(1)[..., None]
    share = weights.mT / (size + 1e-3)
    step = moved - points
    here, mean = share @ points, share @ step
    products = torch.cat([_outer(points, points), _outer(points, step)], -1)
    square, cross = (share @ products).unflatten(-1, (2, 3, 3)).unbind(-3)
    square, cross = square - _outer3(here, here), cross - _outer3(here, mean)
    eye = torch.eye(3, dtype=points.dtype, device=points.device)
    u, _, vh = torch.linalg.svd(square + cross + 1e-4 * eye)
    flip = torch.ones_like(here)
    flip[..., 2] = torch.linalg.det(u @ vh).sign()
    rotation = vh.mT @ (flip[..., None] * u.mT)
    arm = centres - here
    translation = mean + (rotation @ arm[..., None]).squeeze(-1) - arm
    twist = se3_log(rigid(rotation, translation))
    scale = torch.cat([torch.ones_like(here), radii[..., None].expand_as(here)], -1)
    left = cross.mT - (rotation - eye) @ square
    spread_ = square.diagonal(dim1=-2, dim2=-1).clamp(min=0).sqrt()
    energy = (share @ step.square() - mean.square()).clamp(min=0).sqrt()
    around = [
        size / points.shape[1],
        here,
        spread_,
        mean,
        left.norm(dim=(-2, -1))[..., None],
        energy,
    ]
    return twist * scale / TWIST_UNIT, torch.cat(around, -1)


def twist_to_screw(twists: Tensor, radii: Tensor) -> tuple[Tensor, Tensor]:
    """Shifts [B, T, 3] in unit boxes and turns [B, T, 3] in radians of twists [B, T, 6]."""
    translation, rotation = (TWIST_UNIT * twists).split(3, -1)
    return translation, rotation / radii[..., None]


def twist_to_parts(twists: Tensor, centres: Tensor, radii: Tensor) -> tuple[Tensor, Tensor]:
    """Unit quaternions [B, T, 4] and shifts [B, T, 3] of twists [B, T, 6]."""
    translation, rotation = twist_to_screw(twists, radii)
    quaternion = rotvec_to_quaternion(rotation)
    carried = (rotvec_jacobian(rotation) @ translation[..., None]).squeeze(-1)
    return quaternion, centres - quaternion_rotate(quaternion, centres) + carried


def _outer(a: Tensor, b: Tensor) -> Tensor:
    return (a[..., :, None] * b[..., None, :]).flatten(-2)


def _outer3(a: Tensor, b: Tensor) -> Tensor:
    return a[..., :, None] * b[..., None, :]
