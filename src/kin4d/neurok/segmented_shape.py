"""Settling: what nearly all of a piece follows, all of it follows.

Networks look at points one by one; pieces of a surface know better. A connected component that
nearly agrees moves as one. Where a component is shared, as where a door and its frame were modelled
in one piece, its patches (regions without a crease) decide for themselves. What agrees on nothing,
such as cloth, stays shared: pieces are a hint, never a rule.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from kin4d.errors import InputError
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.patches import face_patches
from kin4d.neurok.encoders import PointFeatures, TokenAssignment
from kin4d.neurok.layers import pool
from kin4d.neurok.model import EncodedShape, Neurok
from kin4d.neurok.preprocess import MeshSample

_COMPONENT = 0.85  # share of a component that settles it for the rest
_PATCH = 0.6  # the same of a patch, which is smaller and flatter
_MOST = 0.5  # the same, where nothing is to be shared
_SEEN = 3  # samples from which on they speak for a patch; else its vertices do
_CHUNK = 65_536  # points the networks look at together
_HOLD = 0.6  # unit boxes from what is held at which points are nearly two thirds free


@dataclass(frozen=True, eq=False)
class SegmentedShape:
    """A mesh, and what its pieces follow.

    Attributes:
        net: Encoded it.
        mesh: What was encoded.
        reading: Of the mesh.
        shape: The samples of the reading, with settled claims.
        vertices: Settled claims on the vertices of the mesh.
    """

    net: Neurok
    mesh: Mesh
    reading: MeshSample
    shape: EncodedShape
    vertices: TokenAssignment

    @cached_property
    def parts(self) -> np.ndarray:
        """[F] int64: the part (1 + its token) each triangle follows, 0 where it stays; -1 where
        several share it."""
        share, token = self.vertices.weights[0].max(-1)
        corners = torch.where(share == 1, token, -1)[torch.from_numpy(np.array(self.mesh.faces))]
        return torch.where((corners >= 0).all(1), corners.mode(1).values, -1).numpy()

    @cached_property
    def pieces(self) -> np.ndarray:
        """[F] int64: the piece of the surface that each triangle belongs to: a component that
        follows one part, or a patch of one that follows several. A patch is never cut: cloth that
        several parts share would be torn."""
        faces = self.mesh.faces
        token = self.vertices.weights[0].argmax(-1).numpy()[faces[:, 0]]
        component = self.mesh.components[faces[:, 0]]
        several = np.unique(np.stack([component, token], 1), axis=0)[:, 0]
        shared = (np.bincount(several, minlength=int(component.max()) + 1) > 1)[component]
        patch = np.full(len(faces), -1)
        patch[shared] = face_patches(self.mesh.vertices, faces[shared])
        return np.unique(np.stack([component, patch], 1), axis=0, return_inverse=True)[1].ravel()

    @torch.no_grad()
    def following(self, parts: np.ndarray) -> SegmentedShape:
        """The same with triangles that follow `parts` [F], where -1 leaves it at what is claimed;
        screws are read off anew."""
        winner = torch.from_numpy(np.array(parts, np.int64))
        faces = torch.from_numpy(np.array(self.mesh.faces))
        areas = self.mesh.face_areas
        areas = torch.from_numpy(np.maximum(areas, 1e-12 * areas.max())).float()
        own = self.vertices.weights[0]
        total, weight = torch.zeros_like(own), torch.zeros(len(own))
        alone = F.one_hot(winner.clamp(min=0), own.shape[-1]).to(own.dtype)
        for corner in faces.unbind(1):
            share = torch.where((winner >= 0)[:, None], alone, own[corner])
            total.index_add_(0, corner, areas[:, None] * share)
            weight.index_add_(0, corner, areas)
        # Between settled pieces a vertex goes with the larger one: a blend would bend both. A
        # vertex of no face keeps its own claims.
        firm = torch.ones(len(own), dtype=torch.bool)
        firm[faces[winner < 0].flatten()] = False
        blend = total / weight.clamp(min=1e-30)[:, None]
        hard = F.one_hot(total.argmax(-1), own.shape[-1]).to(own.dtype)
        settled = torch.where(firm[:, None], hard, blend)
        settled = torch.where(weight[:, None] > 0, settled, own)
        face, surface = torch.from_numpy(self.reading.samples.face), self.reading.surface
        sampled = torch.where(
            (winner[face] >= 0)[:, None], alone[face], self.shape.claims.weights[0]
        )
        claims = TokenAssignment(sampled[None], self.shape.claims.features)
        encoding, mixture = self.net.prior.reread(self.shape.encoding, claims, surface)
        rig = self.net.decoder.rig(encoding, surface.points, claims)
        shape = replace(self.shape, encoding=encoding, claims=claims, rig=rig, mixture=mixture)
        return replace(
            self, shape=shape, vertices=TokenAssignment(settled[None], self.vertices.features)
        )

    def holding(self, held: np.ndarray) -> SegmentedShape:
        """The same with vertices `held` [H] that stay, and others that follow their tokens the less
        the nearer they are to these."""
        from scipy.spatial import KDTree

        count = len(self.mesh.vertices)
        if held.ndim != 1 or held.min() < 0 or held.max() >= count:
            raise InputError(
                f"vertices of '{self.mesh.name}' that are held",
                value=held.tolist(),
                allowed=f"numbers from 0 to {count - 1}",
            )
        near = KDTree(self.reading.vertices.points[0, held].numpy())

        def loosened(claims: TokenAssignment, points: Tensor) -> TokenAssignment:
            free = torch.from_numpy(-np.expm1(-near.query(points.numpy())[0] / _HOLD))
            moved = free.to(claims.weights)[:, None] * claims.weights[..., 1:]
            still = 1 - moved.sum(-1, keepdim=True)
            return TokenAssignment(torch.cat([still, moved], -1), claims.features)

        claims = loosened(self.shape.claims, self.reading.surface.points[0])
        shape = replace(self.shape, claims=claims)
        return replace(
            self, shape=shape, vertices=loosened(self.vertices, self.reading.vertices.points[0])
        )


@torch.no_grad()
def snap_to_components(
    net: Neurok, mesh: Mesh, reading: MeshSample, *, rigid: bool = False
) -> SegmentedShape:
    """Encode a mesh, and settle the claims on its samples and on its vertices.

    Args:
        net: Encodes.
        mesh: What is encoded.
        reading: Of the mesh.
        rigid: Nothing is shared: every vertex follows one token, or nobody where none has the most.
    """
    shape = net.encode(reading.surface)
    vertices = _claim_vertices(net, shape, reading.vertices)
    winner = _face_winners(mesh, reading, shape.claims, vertices, _MOST if rigid else _PATCH)
    claimed = SegmentedShape(net, mesh, reading, shape, vertices)
    return claimed.following((winner.clamp(min=0) if rigid else winner).numpy())


def _face_winners(
    mesh: Mesh,
    reading: MeshSample,
    samples: TokenAssignment,
    vertices: TokenAssignment,
    least: float,
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


def _claim_vertices(net: Neurok, shape: EncodedShape, vertices: PointFeatures) -> TokenAssignment:
    pieces = []
    for start in range(0, vertices.points.shape[1], _CHUNK):
        part = slice(start, start + _CHUNK)
        piece = PointFeatures(
            vertices.points[:, part], vertices.normals[:, part], vertices.component[:, part]
        )
        pieces.append(net.prior.claim(shape.encoding, piece))
    return TokenAssignment(
        torch.cat([piece.weights for piece in pieces], 1),
        torch.cat([piece.features for piece in pieces], 1),
    )
