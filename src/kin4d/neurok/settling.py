"""Settling: what nearly all of a piece follows, all of it follows.

Networks look at points one by one; pieces of a surface know better. A connected component that
nearly agrees moves as one. Where a component is shared, as where a door and its frame were modelled
in one piece, its patches (regions without a crease) decide for themselves. What agrees on nothing,
such as cloth, stays shared: pieces are a hint, never a rule.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from kin4d.geometry.mesh import Mesh
from kin4d.geometry.patches import face_patches
from kin4d.neurok.encoders import Claims, Surface
from kin4d.neurok.layers import pool
from kin4d.neurok.model import Neurok, Shape
from kin4d.neurok.reading import Reading

_COMPONENT = 0.85  # share of a component that settles it for the rest
_PATCH = 0.6  # the same of a patch, which is smaller and flatter
_MOST = 0.5  # the same, where nothing is to be shared
_SEEN = 3  # samples from which on they speak for a patch; else its vertices do
_CHUNK = 65_536  # points the networks look at together


@torch.no_grad()
def settle(
    net: Neurok, mesh: Mesh, reading: Reading, *, rigid: bool = False
) -> tuple[Shape, Claims]:
    """Encode a mesh, and settle the claims on its samples (in the shape) and on its vertices.

    Args:
        net: Encodes.
        mesh: What is encoded.
        reading: Of the mesh.
        rigid: Nothing is shared: every vertex follows one token, or nobody where none has the most.
    """
    shape = net.encode(reading.surface)
    vertices = _claim_vertices(net, shape, reading.vertices)
    sample_face = torch.from_numpy(reading.samples.face)
    winner = _face_winners(mesh, reading, shape.claims, vertices, _MOST if rigid else _PATCH)
    if rigid:
        winner = winner.clamp(min=0)
    faces = torch.from_numpy(np.array(mesh.faces))
    areas = torch.from_numpy(np.maximum(mesh.face_areas, 1e-12 * mesh.face_areas.max())).float()
    own = vertices.weights[0]
    total, weight = torch.zeros_like(own), torch.zeros(len(own))
    alone = F.one_hot(winner.clamp(min=0), own.shape[-1]).to(own.dtype)
    for corner in faces.unbind(1):
        share = torch.where((winner >= 0)[:, None], alone, own[corner])
        total.index_add_(0, corner, areas[:, None] * share)
        weight.index_add_(0, corner, areas)
    # Between settled pieces a vertex goes with the larger one: a blend would bend both. A vertex of
    # no face keeps its own claims.
    firm = torch.ones(len(own), dtype=torch.bool)
    firm[faces[winner < 0].flatten()] = False
    blend = total / weight.clamp(min=1e-30)[:, None]
    hard = F.one_hot(total.argmax(-1), own.shape[-1]).to(own.dtype)
    settled = torch.where(firm[:, None], hard, blend)
    settled = torch.where(weight[:, None] > 0, settled, own)
    said = winner[sample_face]
    sampled = torch.where((said >= 0)[:, None], alone[sample_face], shape.claims.weights[0])
    claims = Claims(sampled[None], shape.claims.features)
    encoding, mixture = net.prior.reread(shape.encoding, claims, reading.surface)
    rig = net.decoder.rig(encoding, reading.surface.points, claims)
    shape = replace(shape, encoding=encoding, claims=claims, rig=rig, mixture=mixture)
    return shape, Claims(settled[None], vertices.features)


def _face_winners(
    mesh: Mesh, reading: Reading, samples: Claims, vertices: Claims, least: float
) -> Tensor:
    """[F] the token all of a face's piece follows, or -1 where it has not `least` of a patch."""
    group = reading.surface.component
    by_component = _winners(pool(samples.weights, group, int(group.max()) + 1)[0], _COMPONENT)
    faces = np.array(mesh.faces)
    winner = by_component[reading.vertices.component[0, faces[:, 0]]]
    if bool((winner >= 0).all()):
        return winner
    patch = torch.from_numpy(face_patches(mesh.vertices, faces))
    count = int(patch.max()) + 1
    shown = patch[torch.from_numpy(reading.samples.face)]
    by_samples = pool(samples.weights, shown[None], count)[0]
    corner = torch.from_numpy(faces[:, 0])
    by_vertices = pool(vertices.weights[:, corner], patch[None], count)[0]
    seen = torch.bincount(shown, minlength=count) >= _SEEN
    by_patch = _winners(torch.where(seen[:, None], by_samples, by_vertices), least)
    return torch.where(winner >= 0, winner, by_patch[patch])


def _winners(shares: Tensor, least: float) -> Tensor:
    """[G] the token that has more than `least` of each group's shares [G, 1 + T], or -1."""
    share, best = shares.max(-1)
    return torch.where(share > least, best, -1)


def _claim_vertices(net: Neurok, shape: Shape, vertices: Surface) -> Claims:
    pieces = []
    for start in range(0, vertices.points.shape[1], _CHUNK):
        part = slice(start, start + _CHUNK)
        piece = Surface(
            vertices.points[:, part], vertices.normals[:, part], vertices.component[:, part]
        )
        pieces.append(net.prior.claim(shape.encoding, piece))
    return Claims(
        torch.cat([piece.weights for piece in pieces], 1),
        torch.cat([piece.features for piece in pieces], 1),
    )
