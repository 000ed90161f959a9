"""Twists: rigid motions of parts as six numbers, fitted to points and converted to transforms.

A twist is relative to the centre of its part, translation first. Its rotation is scaled by the
part's radius, so that all six numbers measure how far points move. Motion along one twist is that
of a revolute, a prismatic or a screw joint.
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
"""Numbers of a twist."""

TWIST_UNIT = 0.3
"""Motion of a part at a twist of length one, in unit boxes."""


def extents(weights: Tensor, points: Tensor) -> tuple[Tensor, Tensor]:
    """Centres [B, T, 3] and radii [B, T] of the points [B, N, 3] weighted by [B, N, T]."""
    share = weights.mT / (weights.sum(1)[..., None] + 1e-3)
    centre = share @ points
    square = share @ points.square() - centre.square()
    return centre, (square.sum(-1).clamp(min=0) + 0.05**2).sqrt()


@torch.no_grad()
def fit_twists(
    weights: Tensor, points: Tensor, moved: Tensor, centres: Tensor, radii: Tensor
) -> tuple[Tensor, Tensor]:
    """Fit the rigid motion of each token's points (weighted Procrustes).

    Without gradients: those of a singular value decomposition are unstable, and the weights learn
    through the decoder.

    Args:
        weights: [B, N, T].
        points: [B, N, 3] in unit boxes.
        moved: [B, N, 3] the same points after the motion.
        centres: [B, T, 3] origins of the twists.
        radii: [B, T] of the tokens' points.

    Returns:
        [B, T, 6] twists, as `twist_to_rotation_translation` takes them; and [B, T, 14] features of
        the fit: share of points, mean point, standard deviation, mean displacement, residual, and
        standard deviation of the displacement.
    """
    size = weights.sum(1)[..., None]
    share = weights.mT / (size + 1e-3)
    step = moved - points
    here, mean = share @ points, share @ step
    products = torch.cat([_outer(points, points).flatten(-2), _outer(points, step).flatten(-2)], -1)
    square, cross = (share @ products).unflatten(-1, (2, 3, 3)).unbind(-3)
    square, cross = square - _outer(here, here), cross - _outer(here, mean)
    eye = torch.eye(3, dtype=points.dtype, device=points.device)
    u, _, vh = torch.linalg.svd(square + cross + 1e-4 * eye)
    flip = torch.ones_like(here)
    flip[..., 2] = torch.linalg.det(u @ vh).sign()
    rotation = vh.mT @ (flip[..., None] * u.mT)
    lever = centres - here
    translation = mean + (rotation @ lever[..., None]).squeeze(-1) - lever
    twist = se3_log(rigid(rotation, translation))
    scale = torch.cat([torch.ones_like(here), radii[..., None].expand_as(here)], -1)
    residual = cross.mT - (rotation - eye) @ square
    deviation = square.diagonal(dim1=-2, dim2=-1).clamp(min=0).sqrt()
    step_deviation = (share @ step.square() - mean.square()).clamp(min=0).sqrt()
    fit_features = [
        size / points.shape[1],
        here,
        deviation,
        mean,
        residual.norm(dim=(-2, -1))[..., None],
        step_deviation,
    ]
    return twist * scale / TWIST_UNIT, torch.cat(fit_features, -1)


def twist_to_translation_rotvec(twists: Tensor, radii: Tensor) -> tuple[Tensor, Tensor]:
    """Translations [B, T, 3] in unit boxes and rotations [B, T, 3] in rad of twists [B, T, 6]."""
    translation, rotation = (TWIST_UNIT * twists).split(3, -1)
    return translation, rotation / radii[..., None]


def twist_to_rotation_translation(
    twists: Tensor, centres: Tensor, radii: Tensor
) -> tuple[Tensor, Tensor]:
    """Unit quaternions [B, T, 4] and translations [B, T, 3] of twists [B, T, 6]."""
    translation, rotation = twist_to_translation_rotvec(twists, radii)
    quaternion = rotvec_to_quaternion(rotation)
    displacement = (rotvec_jacobian(rotation) @ translation[..., None]).squeeze(-1)
    return quaternion, centres - quaternion_rotate(quaternion, centres) + displacement


def _outer(a: Tensor, b: Tensor) -> Tensor:
    return a[..., :, None] * b[..., None, :]
