"""Settling: a component nearly all of which follows one token follows it wholly.

Components are a hint, never a rule: one that two tokens share, as where a door and its frame were
modelled in one piece, stays shared.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor
from torch.nn import functional as F

from kin4d.neurok.encoders import Claims, Surface
from kin4d.neurok.layers import pool
from kin4d.neurok.model import Neurok, Shape

_AGREE = 0.85  # share of a component that settles it for the rest
_CHUNK = 65_536  # points the networks look at together


@torch.no_grad()
def settle(net: Neurok, surface: Surface, vertices: Surface) -> tuple[Shape, Claims]:
    """Encode one shape from its `surface`, and settle the claims on that and on its `vertices`."""
    shape = net.encode(surface)
    group, weights = surface.component, shape.claims.weights
    share, best = pool(weights, group, int(group.max()) + 1)[0].max(-1)
    winner = torch.where(share > _AGREE, best, -1)
    claims = _settled(shape.claims, group, winner)
    rig = net.decoder.rig(shape.encoding, surface.points, claims)
    pieces = []
    for start in range(0, vertices.points.shape[1], _CHUNK):
        piece = Surface(
            *(
                part[:, start : start + _CHUNK]
                for part in (vertices.points, vertices.normals, vertices.component)
            )
        )
        pieces.append(_settled(net.prior.claim(shape.encoding, piece), piece.component, winner))
    whole = Claims(
        torch.cat([piece.weights for piece in pieces], 1),
        torch.cat([piece.features for piece in pieces], 1),
    )
    return replace(shape, claims=claims, rig=rig), whole


def _settled(claims: Claims, group: Tensor, winner: Tensor) -> Claims:
    """Claims in which components with a winner [C] (-1 for none) follow it alone."""
    token = winner[group]
    alone = F.one_hot(token.clamp(min=0), claims.weights.shape[-1]).to(claims.weights.dtype)
    return Claims(torch.where((token >= 0)[..., None], alone, claims.weights), claims.features)
