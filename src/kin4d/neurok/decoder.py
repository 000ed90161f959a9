"""Decoders: from a latent state to moved points, in two architectures behind one interface.

A decoder makes a rig of the points of a shape once (`rig`); the rig moves them to any state. At
state zero the points are exactly at rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from kin4d.geometry.dual_quaternion import (
    dq_from_parts,
    dq_normalize,
    dq_to_matrix,
    dq_to_parts,
)
from kin4d.geometry.transforms import quaternion_rotate, rotvec_to_quaternion
from kin4d.neurok.config import NeurokConfig
from kin4d.neurok.encoders import Encoding, TokenAssignment
from kin4d.neurok.layers import Block, mlp
from kin4d.neurok.twists import TWIST, twist_to_rotation_translation, twist_to_translation_rotvec


class Rig(Protocol):
    """Points of B shapes, and what moves them."""

    def move(self, z: Tensor) -> Tensor:
        """Their points [B, N, 3] at states z [B, T, 6]."""
        ...


class TokenMotion(nn.Module):
    """States of tokens -> motion parameters [B, T, outputs] that are zero at state zero.

    Twists are linear in the state, along the token's screws, plus a learned correction that
    depends on the states of all tokens.
    """

    def __init__(self, config: NeurokConfig, outputs: int) -> None:
        super().__init__()
        self.state_in = nn.Linear(TWIST, config.width)
        self.block = Block(config.width, config.heads)
        self.correct = mlp(config.width, config.width, outputs, zero=True)

    def forward(self, encoding: Encoding, z: Tensor) -> Tensor:
        """[B, T, outputs] at z [B, T, 6]."""
        tokens = encoding.tokens
        correction = self._correction(tokens, z) - self._correction(tokens, torch.zeros_like(z[:1]))
        if correction.shape[-1] != TWIST:
            return correction
        along = ((z * encoding.gains)[..., None, :] @ encoding.screws).squeeze(-2)
        return along + correction

    def _correction(self, tokens: Tensor, z: Tensor) -> Tensor:
        return self.correct(self.block(tokens + self.state_in(z)))


class SkinnedDecoder(nn.Module):
    """Tokens move rigidly; points blend the motions of tokens by skinning weights."""

    def __init__(self, config: NeurokConfig) -> None:
        super().__init__()
        self.rigid = config.motion == "dual_quaternion"
        self.motion = TokenMotion(config, TWIST if self.rigid else 12)

    def rig(self, encoding: Encoding, points: Tensor, assignment: TokenAssignment) -> SkinnedRig:
        """The rig of `points` [B, N, 3]."""
        return SkinnedRig(self, encoding, points, assignment.weights)

    def motions(self, encoding: Encoding, z: Tensor) -> Tensor:
        """Motion of each token at z [B, T, 6]: unit dual quaternions [B, T, 8], or affine
        displacements [B, T, 12]."""
        parameters = self.motion(encoding, z)
        if not self.rigid:
            return parameters
        return dq_from_parts(
            *twist_to_rotation_translation(parameters, encoding.centres, encoding.radii)
        )

    def screws(self, encoding: Encoding, z: Tensor) -> tuple[Tensor, Tensor]:
        """Translations [B, T, 3] (unit boxes) and rotations [B, T, 3] (rad) of rigid tokens about
        their centres, at z [B, T, 6]."""
        return twist_to_translation_rotvec(self.motion(encoding, z), encoding.radii)

    def matrices(self, motions: Tensor) -> Tensor:
        """[B, T, 4, 4] transforms of token motions."""
        if self.rigid:
            return dq_to_matrix(motions)
        translation, linear = motions[..., :3], motions[..., 3:].unflatten(-1, (3, 3))
        eye = torch.eye(4, dtype=motions.dtype, device=motions.device)
        return eye + F.pad(torch.cat([linear, translation[..., None]], -1), (0, 0, 0, 1))

    def move_points(self, motions: Tensor, weights: Tensor, points: Tensor) -> Tensor:
        """Points [B, N, 3] moved by token motions, blended by weights [B, N, 1 + T]."""
        blended = weights[..., 1:] @ motions
        if not self.rigid:
            linear = blended[..., 3:].unflatten(-1, (3, 3)) @ points[..., None]
            return points + blended[..., :3] + linear.squeeze(-1)
        at_rest = F.pad(weights[..., :1], (0, 7))
        real, translation = dq_to_parts(dq_normalize(blended + at_rest))
        return quaternion_rotate(real, points) + translation


@dataclass(frozen=True, eq=False)
class SkinnedRig:
    """Points [B, N, 3] that blend the motions of tokens by weights [B, N, 1 + T]."""

    decoder: SkinnedDecoder
    encoding: Encoding
    points: Tensor
    weights: Tensor

    def move(self, z: Tensor) -> Tensor:
        """Points [B, N, 3] at z [B, T, 6]."""
        motions = self.decoder.motions(self.encoding, z)
        return self.decoder.move_points(motions, self.weights, self.points)


class GroupedRig:
    """A `SkinnedRig` of one shape, sorted by token: points of a single token are moved by one
    matrix, and only the others are blended, which is most of the cost."""

    def __init__(self, soft: SkinnedRig) -> None:
        self.decoder, self.encoding = soft.decoder, soft.encoding
        points, weights = soft.points[0], soft.weights[0]
        share, token = weights.max(-1)
        token = torch.where(share == 1, token, -1)
        order = torch.argsort(token, stable=True)
        self.tokens, counts = token[order].unique_consecutive(return_counts=True)
        self.groups = points[order].split(counts.tolist())
        self.shared = weights[order][: int((token < 0).sum())]
        self.inverse_order = torch.argsort(order)

    def move(self, z: Tensor) -> Tensor:
        """Points [B, N, 3] at z [B, T, 6]."""
        motions = self.decoder.motions(self.encoding, z)
        matrices = self.decoder.matrices(motions)
        moved = []
        for token, points in zip(self.tokens.tolist(), self.groups, strict=True):
            if token < 0:
                moved.append(self.decoder.move_points(motions, self.shared[None], points[None]))
            elif token == 0:
                moved.append(points.expand(len(z), -1, -1))
            else:
                rotation, translation = matrices[:, token - 1, :3].split((3, 1), -1)
                moved.append(points @ rotation.mT + translation.mT)
        return torch.cat(moved, 1)[:, self.inverse_order]


class PointDecoder(nn.Module):
    """Every point attends to the tokens and their states, and predicts its own motion (paper)."""

    def __init__(self, config: NeurokConfig) -> None:
        super().__init__()
        self.rigid = config.motion == "dual_quaternion"
        self.state_in = nn.Linear(TWIST, config.width)
        self.block = Block(config.width, config.heads)
        self.cross_attention = Block(config.width, config.heads)
        self.out = mlp(config.width, config.width, 6 if self.rigid else 3)

    def rig(self, encoding: Encoding, points: Tensor, assignment: TokenAssignment) -> PointRig:
        """The rig of `points` [B, N, 3]."""
        rest = encoding.mean.new_zeros(1, 1, TWIST)
        at_rest = self.parameters_of(encoding.tokens, assignment.features, rest)
        return PointRig(self, encoding, points, assignment.features, at_rest)

    def parameters_of(self, tokens: Tensor, features: Tensor, z: Tensor) -> Tensor:
        """[B, N, 6 or 3] motion parameters of points with features [B, N, W] or [1, N, W], before
        the value at rest is subtracted."""
        state = self.block(tokens + self.state_in(z))
        return self.out(self.cross_attention(features.expand(len(state), -1, -1), state))

    def move_points(self, parameters: Tensor, points: Tensor) -> Tensor:
        """Points [B, N, 3], each rotated about the centre of the box and translated.

        A rotation about the point itself would have no effect.
        """
        if not self.rigid:
            return points + parameters
        rotation, translation = parameters.split(3, -1)
        return quaternion_rotate(rotvec_to_quaternion(rotation), points) + translation


@dataclass(frozen=True, eq=False)
class PointRig:
    """Points [B, N, 3] with features [B, N, W], and their motion parameters at rest."""

    decoder: PointDecoder
    encoding: Encoding
    points: Tensor
    features: Tensor
    at_rest: Tensor

    def move(self, z: Tensor) -> Tensor:
        """Points [B, N, 3] at z [B, T, 6]."""
        parameters = self.decoder.parameters_of(self.encoding.tokens, self.features, z)
        return self.decoder.move_points(parameters - self.at_rest, self.points)
