"""Screws: along which twists the part that a token claims moves, read off its surroundings.

Hinges and slides look alike when seen from the part they carry: a door turns about the edge that
meets the frame, wherever the door stands. So each part is looked at in a frame of its own: upright,
its x axis along its longer horizontal side and towards what is near it, in units of its own size.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from kin4d.neurok.layers import mlp
from kin4d.neurok.twists import TWIST

_LEAST_GAIN = 0.02
LEAST_CLAIM = 2.5
"""Points: a token that claims fewer has no part to look at."""

_NEAR = 0.5  # radii from a part's box within which surroundings matter
_POINT, _PART = 11, 14  # numbers that tell of a point, and of a part


@dataclass(frozen=True, eq=False)
class Screws:
    """How tokens are expected to move.

    Attributes:
        frames: [B, T, 6, 6] orthonormal rows: twists, in the axes of the box.
        gains: [B, T, 6] how far along each, at a state of one.
        mean: [B, T, 6] of the prior over states; its variance is one.
    """

    frames: Tensor
    gains: Tensor
    mean: Tensor


class ScrewReader(nn.Module):
    """Claims on a surface -> screws. What it reads is not trained through it.

    Args:
        width: Of the tokens.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.point = nn.Sequential(mlp(_POINT, width, width), nn.GELU())
        self.part = nn.Sequential(mlp(4 * width + _PART, 2 * width, 2 * width), nn.GELU())
        self.out = nn.Linear(2 * width, TWIST * TWIST + 2 * TWIST)
        nn.init.normal_(self.out.weight, std=1e-3)
        nn.init.zeros_(self.out.bias)

    def forward(
        self,
        tokens: Tensor,
        claims: Tensor,
        points: Tensor,
        normals: Tensor,
        centres: Tensor,
        radii: Tensor,
    ) -> Screws:
        """Of tokens [B, T, W] with claims [B, N, 1 + T] on points and normals [B, N, 3], whose
        middles [B, T, 3] and radii [B, T] are known."""
        tokens, claims = tokens.detach(), claims.detach()
        size = claims[..., 1:].sum(1)
        # The largest part of every shape is looked at, however small: there is always one.
        live = (size > LEAST_CLAIM) | (size == size.amax(1, keepdim=True))
        shape, token = live.nonzero(as_tuple=True)
        own, still = claims[shape, :, token + 1], claims[shape, :, 0]
        away = points[shape] - centres[live][:, None]
        turn = _upright_frames(away, own, radii[live])
        seen, about = _look(away, normals[shape], own, still, turn, radii[live], centres[live])
        features = self.point(seen)
        near = (1 - own) * torch.exp(-_gap(seen[..., :3], about) / _NEAR)
        gathered = [
            (features * (own / (own.sum(1, keepdim=True) + 1e-6))[..., None]).sum(1),
            (features * own[..., None]).amax(1),
            (features * near[..., None]).amax(1),
            tokens[live],
            about,
        ]
        raw, gains, mean = self.out(self.part(torch.cat(gathered, -1))).split(
            [TWIST * TWIST, TWIST, TWIST], -1
        )
        # Rows are twists in the part's frame: both of their halves turn back with it.
        rows = _orthonormal(raw.unflatten(-1, (TWIST, TWIST)))
        rows = (rows.unflatten(-1, (2, 3)) @ turn[:, None]).flatten(-2)
        eye = torch.eye(TWIST, dtype=rows.dtype, device=rows.device)
        return Screws(
            frames=eye.expand(*live.shape, -1, -1).index_put((shape, token), rows),
            gains=gains.new_ones(*live.shape, TWIST).index_put(
                (shape, token), _LEAST_GAIN + F.softplus(gains)
            ),
            mean=mean.new_zeros(*live.shape, TWIST).index_put((shape, token), mean),
        )


def _upright_frames(away: Tensor, own: Tensor, radii: Tensor) -> Tensor:
    """[M, 3, 3] rows x, y, z of the frames of parts that claim own [M, N] of points whose places
    from the parts' middles are away [M, N, 3]."""
    flat = away[..., :2]
    spread = flat.mT @ (own[..., None] * flat)
    angle = torch.atan2(2 * spread[:, 0, 1], spread[:, 0, 0] - spread[:, 1, 1]) / 2
    axis = torch.stack([angle.cos(), angle.sin()], -1)
    around = (1 - own) * torch.exp(-away.square().sum(-1) / (2 * radii[:, None] ** 2))
    towards = ((around[..., None] * flat).sum(1) * axis).sum(-1, keepdim=True)
    x, y = torch.where(towards < 0, -axis, axis).unbind(-1)
    zero, one = torch.zeros_like(x), torch.ones_like(x)
    return torch.stack([x, y, zero, -y, x, zero, zero, zero, one], -1).unflatten(-1, (3, 3))


def _look(
    away: Tensor,
    normals: Tensor,
    own: Tensor,
    still: Tensor,
    turn: Tensor,
    radii: Tensor,
    centres: Tensor,
) -> tuple[Tensor, Tensor]:
    """What each part is told: [M, N, 11] of points and [M, 14] of itself, in its frame."""
    place = away @ turn.mT / radii[:, None, None]
    seen = [place, place.square(), normals @ turn.mT, own[..., None], still[..., None]]
    mine = own[..., None] > 0.5
    about = [
        torch.where(mine, place, 0.0).amax(1),
        torch.where(mine, place, 0.0).amin(1),
        (own[..., None] * place.square()).mean(1) / (own.mean(1)[:, None] + 1e-6),
        (turn @ centres[..., None]).squeeze(-1),
        radii[:, None],
        own.mean(1)[:, None],
    ]
    return torch.cat(seen, -1), torch.cat(about, -1)


def _gap(place: Tensor, about: Tensor) -> Tensor:
    """[M, N] distance of places [M, N, 3] from the box of each part, in radii."""
    high, low = about[:, None, :3], about[:, None, 3:6]
    return ((place - high).relu() + (low - place).relu()).norm(dim=-1)


def _orthonormal(raw: Tensor) -> Tensor:
    """Rows [M, 6, 6] by Gram and Schmidt: the first is free to be any twist."""
    raw = raw + torch.eye(TWIST, dtype=raw.dtype, device=raw.device)
    rows: list[Tensor] = []
    for row in raw.unbind(-2):
        for before in rows:
            row = row - (row * before).sum(-1, keepdim=True) * before
        rows.append(F.normalize(row, dim=-1))
    return torch.stack(rows, -2)
