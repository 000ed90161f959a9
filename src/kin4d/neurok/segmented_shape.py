"""SegmentedShape: token assignments of a mesh, made consistent within its components and patches.

Networks assign points one by one. A connected component whose points nearly agree follows one
token. Where a component is shared, such as a door modelled in one piece with its frame, its patches
(regions without a crease) are assigned separately. Where points disagree, as in cloth, weights stay
blended.
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
_PIN_RADIUS = 0.6  # unit boxes from what is held at which points are nearly two thirds free


@dataclass(frozen=True, eq=False)
class SegmentedShape:
    """A mesh, and what its pieces follow.

    Attributes:
        net: Encoded it.
        mesh: What was encoded.
        mesh_sample: Points sampled on the mesh.
        shape: The samples of the reading, with settled claims.
        vertices: Settled claims on the vertices of the mesh.
    """

    net: Neurok
    mesh: Mesh
    mesh_sample: MeshSample
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
    def with_parts(self, parts: np.ndarray) -> SegmentedShape:
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
        unshared = torch.ones(len(own), dtype=torch.bool)
        unshared[faces[winner < 0].flatten()] = False
        blend = total / weight.clamp(min=1e-30)[:, None]
        hard = F.one_hot(total.argmax(-1), own.shape[-1]).to(own.dtype)
        snapped = torch.where(unshared[:, None], hard, blend)
        snapped = torch.where(weight[:, None] > 0, snapped, own)
        face, surface = torch.from_numpy(self.mesh_sample.samples.face), self.mesh_sample.surface
        sampled = torch.where(
            (winner[face] >= 0)[:, None], alone[face], self.shape.assignment.weights[0]
        )
        assignment = TokenAssignment(sampled[None], self.shape.assignment.features)
        encoding, mixture = self.net.prior.update_axes(self.shape.encoding, assignment, surface)
        rig = self.net.decoder.rig(encoding, surface.points, assignment)
        shape = replace(
            self.shape, encoding=encoding, assignment=assignment, rig=rig, mixture=mixture
        )
        return replace(
            self, shape=shape, vertices=TokenAssignment(snapped[None], self.vertices.features)
        )

    def with_pins(self, pinned: np.ndarray) -> SegmentedShape:
        """The same with vertices `pinned` [H] fixed; others move less the nearer they are."""
        from scipy.spatial import KDTree

        count = len(self.mesh.vertices)
        if pinned.ndim != 1 or pinned.min() < 0 or pinned.max() >= count:
            raise InputError(
                f"pinned vertices of '{self.mesh.name}'",
                value=pinned.tolist(),
                allowed=f"numbers from 0 to {count - 1}",
            )
        near = KDTree(self.mesh_sample.vertices.points[0, pinned].numpy())

        def pin(assignment: TokenAssignment, points: Tensor) -> TokenAssignment:
            free = torch.from_numpy(-np.expm1(-near.query(points.numpy())[0] / _PIN_RADIUS))
            moved = free.to(assignment.weights)[:, None] * assignment.weights[..., 1:]
            still = 1 - moved.sum(-1, keepdim=True)
            return TokenAssignment(torch.cat([still, moved], -1), assignment.features)

        assignment = pin(self.shape.assignment, self.mesh_sample.surface.points[0])
        shape = replace(self.shape, assignment=assignment)
        return replace(
            self, shape=shape, vertices=pin(self.vertices, self.mesh_sample.vertices.points[0])
        )


@torch.no_grad()
def snap_to_components(
    net: Neurok, mesh: Mesh, mesh_sample: MeshSample, *, rigid: bool = False
) -> SegmentedShape:
    """Encode a mesh, and settle the claims on its samples and on its vertices.

    Args:
        net: Encodes.
        mesh: What is encoded.
        mesh_sample: Points sampled on the mesh.
        rigid: Nothing is shared: every vertex follows one token, or nobody where none has the most.
    """
    shape = net.encode(mesh_sample.surface)
    vertices = _assign_vertices(net, shape, mesh_sample.vertices)
    winner = _face_winners(
        mesh, mesh_sample, shape.assignment, vertices, _MOST if rigid else _PATCH
    )
    encoded = SegmentedShape(net, mesh, mesh_sample, shape, vertices)
    return encoded.with_parts((winner.clamp(min=0) if rigid else winner).numpy())


def _face_winners(
    mesh: Mesh,
    mesh_sample: MeshSample,
    samples: TokenAssignment,
    vertices: TokenAssignment,
    least: float,
) -> Tensor:
    """[F] the token all of a face's piece follows, or -1 where it has not `least` of a patch."""
    group = mesh_sample.surface.component
    by_component = _winners(pool(samples.weights, group, int(group.max()) + 1)[0], _COMPONENT)
    faces = np.array(mesh.faces)
    winner = by_component[mesh_sample.vertices.component[0, faces[:, 0]]]
    if bool((winner >= 0).all()):
        return winner
    patch = torch.from_numpy(face_patches(mesh.vertices, faces))
    count = int(patch.max()) + 1
    shown = patch[torch.from_numpy(mesh_sample.samples.face)]
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


def _assign_vertices(net: Neurok, shape: EncodedShape, vertices: PointFeatures) -> TokenAssignment:
    pieces = []
    for start in range(0, vertices.points.shape[1], _CHUNK):
        part = slice(start, start + _CHUNK)
        piece = PointFeatures(
            vertices.points[:, part], vertices.normals[:, part], vertices.component[:, part]
        )
        pieces.append(net.prior.assign(shape.encoding, piece))
    return TokenAssignment(
        torch.cat([piece.weights for piece in pieces], 1),
        torch.cat([piece.features for piece in pieces], 1),
    )
