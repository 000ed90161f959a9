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

_CHUNK = 65_536  # points in memory at once


@dataclass(frozen=True, kw_only=True)
class SnapConfig:
    """When a region of the surface is given to one token as a whole.

    Attributes:
        component_majority: Share of a connected component's weight that its token needs. High,
            since a component may have several parts.
        patch_majority: The same of a patch of such a component, which is smaller and flatter.
        rigid_majority: The same of a patch if blending is not allowed; the background gets the
            rest.
        min_patch_samples: Surface samples from which on they decide about a patch; below, its
            vertices do.
    """

    component_majority: float = 0.85
    patch_majority: float = 0.6
    rigid_majority: float = 0.5
    min_patch_samples: int = 3


@dataclass(frozen=True, eq=False)
class SegmentedShape:
    """An encoded mesh with consistent token assignments.

    Attributes:
        net: The model that encoded it.
        mesh: The mesh.
        mesh_sample: Its network input.
        shape: Its encoding, with the snapped assignment of the samples.
        vertices: The snapped assignment of the vertices.
    """

    net: Neurok
    mesh: Mesh
    mesh_sample: MeshSample
    shape: EncodedShape
    vertices: TokenAssignment

    @cached_property
    def parts(self) -> np.ndarray:
        """[F] int64: part of each triangle: 1 + its token, 0 for the static background, -1 where
        several tokens are blended."""
        share, token = self.vertices.weights[0].max(-1)
        corners = torch.where(share == 1, token, -1)[torch.from_numpy(np.array(self.mesh.faces))]
        return torch.where((corners >= 0).all(1), corners.mode(1).values, -1).numpy()

    @cached_property
    def pieces(self) -> np.ndarray:
        """[F] int64: piece of each triangle: a connected component of one part, or a patch of a
        component with several. Patches are not divided: that would tear cloth with blended
        weights."""
        faces = self.mesh.faces
        token = self.vertices.weights[0].argmax(-1).numpy()[faces[:, 0]]
        component = self.mesh.components[faces[:, 0]]
        with_token = np.unique(np.stack([component, token], 1), axis=0)[:, 0]
        shared = (np.bincount(with_token, minlength=int(component.max()) + 1) > 1)[component]
        patch = np.full(len(faces), -1)
        patch[shared] = face_patches(self.mesh.vertices, faces[shared])
        return np.unique(np.stack([component, patch], 1), axis=0, return_inverse=True)[1].ravel()

    @torch.no_grad()
    def with_parts(self, parts: np.ndarray) -> SegmentedShape:
        """The shape with other `parts` [F] of its triangles; -1 keeps a triangle's blended weights.
        Joint axes are predicted again."""
        winner = torch.from_numpy(np.array(parts, np.int64))
        faces = torch.from_numpy(np.array(self.mesh.faces))
        areas = self.mesh.face_areas
        areas = torch.from_numpy(np.maximum(areas, 1e-12 * areas.max())).float()
        before = self.vertices.weights[0]
        total, area = torch.zeros_like(before), torch.zeros(len(before))
        one_hot = F.one_hot(winner.clamp(min=0), before.shape[-1]).to(before.dtype)
        for corner in faces.unbind(1):
            weights = torch.where((winner >= 0)[:, None], one_hot, before[corner])
            total.index_add_(0, corner, areas[:, None] * weights)
            area.index_add_(0, corner, areas)
        # A vertex between parts gets the larger one: a blend would bend both. A vertex without
        # faces keeps its weights.
        rigid = torch.ones(len(before), dtype=torch.bool)
        rigid[faces[winner < 0].flatten()] = False
        blend = total / area.clamp(min=1e-30)[:, None]
        hard = F.one_hot(total.argmax(-1), before.shape[-1]).to(before.dtype)
        snapped = torch.where(rigid[:, None], hard, blend)
        snapped = torch.where(area[:, None] > 0, snapped, before)
        face, surface = torch.from_numpy(self.mesh_sample.samples.face), self.mesh_sample.surface
        sampled = torch.where(
            (winner[face] >= 0)[:, None], one_hot[face], self.shape.assignment.weights[0]
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

    def with_pins(self, pinned: np.ndarray, *, radius: float = 0.6) -> SegmentedShape:
        """The shape with some vertices fixed.

        Args:
            pinned: [H] vertex indices.
            radius: Unit boxes over which the motion recovers: at distance d from the nearest pin,
                the weights of all tokens are scaled by 1 - exp(-d / radius).
        """
        from scipy.spatial import KDTree

        count = len(self.mesh.vertices)
        if pinned.ndim != 1 or pinned.min() < 0 or pinned.max() >= count:
            raise InputError(
                f"pinned vertices of mesh '{self.mesh.name}'",
                value=pinned.tolist(),
                allowed=f"vertex indices from 0 to {count - 1}",
            )
        near = KDTree(self.mesh_sample.vertices.points[0, pinned].numpy())

        def pin(assignment: TokenAssignment, points: Tensor) -> TokenAssignment:
            free = torch.from_numpy(-np.expm1(-near.query(points.numpy())[0] / radius))
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
    net: Neurok,
    mesh: Mesh,
    mesh_sample: MeshSample,
    *,
    rigid: bool = False,
    config: SnapConfig | None = None,
) -> SegmentedShape:
    """Encode a mesh, and snap the assignment of its samples and vertices to regions.

    Args:
        net: The model.
        mesh: The mesh.
        mesh_sample: Its network input.
        rigid: Whether every vertex gets exactly one token or the background; otherwise weights
            stay blended where points of a region disagree.
        config: When regions are snapped.
    """
    config = config or SnapConfig()
    shape = net.encode(mesh_sample.surface)
    vertices = _assign_vertices(net, shape, mesh_sample.vertices)
    winner = _face_winners(mesh, mesh_sample, shape.assignment, vertices, config, rigid=rigid)
    encoded = SegmentedShape(net, mesh, mesh_sample, shape, vertices)
    return encoded.with_parts((winner.clamp(min=0) if rigid else winner).numpy())


def _face_winners(
    mesh: Mesh,
    mesh_sample: MeshSample,
    samples: TokenAssignment,
    vertices: TokenAssignment,
    config: SnapConfig,
    *,
    rigid: bool,
) -> Tensor:
    """[F] the token of a face's component or patch, or -1 where none has the majority."""
    component = mesh_sample.surface.component
    shares = pool(samples.weights, component, int(component.max()) + 1)[0]
    by_component = _winners(shares, config.component_majority)
    faces = np.array(mesh.faces)
    winner = by_component[mesh_sample.vertices.component[0, faces[:, 0]]]
    if bool((winner >= 0).all()):
        return winner
    patch = torch.from_numpy(face_patches(mesh.vertices, faces))
    count = int(patch.max()) + 1
    sampled = patch[torch.from_numpy(mesh_sample.samples.face)]
    by_samples = pool(samples.weights, sampled[None], count)[0]
    corner = torch.from_numpy(faces[:, 0])
    by_vertices = pool(vertices.weights[:, corner], patch[None], count)[0]
    enough = torch.bincount(sampled, minlength=count) >= config.min_patch_samples
    majority = config.rigid_majority if rigid else config.patch_majority
    by_patch = _winners(torch.where(enough[:, None], by_samples, by_vertices), majority)
    return torch.where(winner >= 0, winner, by_patch[patch])


def _winners(shares: Tensor, majority: float) -> Tensor:
    """[G] the column of shares [G, 1 + T] that exceeds `majority`, or -1."""
    share, best = shares.max(-1)
    return torch.where(share > majority, best, -1)


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
