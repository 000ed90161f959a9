"""PieceBatch: pieces of B shapes as tensors, and what a joint prior should say about them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False, kw_only=True)
class PieceBatch:
    """Pieces in unit boxes, z up, padded to N a shape.

    Attributes:
        points: [B, N, K, 3] surface samples of each piece.
        normals: [B, N, K, 3] unit.
        supports: [B, N, S, 3] extreme points.
        area: [B, N].
        component: [B, N] int64: pieces cut from one connected surface share a number.
        mask: [B, N] bool: whether there is a piece.
    """

    points: Tensor
    normals: Tensor
    supports: Tensor
    area: Tensor
    component: Tensor
    mask: Tensor


@dataclass(frozen=True, eq=False, kw_only=True)
class Parts:
    """M rigid parts of the shapes of a batch: sets of pieces that share a joint.

    Attributes:
        shape: [M] int64: which shape each is of.
        members: [M, N] bool: its own pieces.
        carried: [M, N] bool: all pieces its joint moves: its own, and those of parts on it.
    """

    shape: Tensor
    members: Tensor
    carried: Tensor

    def __len__(self) -> int:
        return len(self.shape)


@dataclass(frozen=True, eq=False, kw_only=True)
class JointTargets:
    """The truth about a batch.

    Attributes:
        moves: [B, N] bool: whether a piece is not of the root.
        relation: [B, N, N] bool: whether piece i is moved by the parent joint of piece j.
        parts: All M parts that have pieces and a joint.
        slides: [M] bool: prismatic, else revolute.
        pivot: [M, 3] a point of the axis.
        axis: [M, 3] unit.
        range: [M, 2] rad or lengths, back (<= 0) and forth (>= 0).
        endless: [M] bool: turns all the way round.
    """

    moves: Tensor
    relation: Tensor
    parts: Parts
    slides: Tensor
    pivot: Tensor
    axis: Tensor
    range: Tensor
    endless: Tensor

    def some(self, most: int) -> JointTargets:
        """With at most so many of the parts, drawn at random."""
        count = len(self.parts)
        if count <= most:
            return self
        kept = torch.randperm(count)[:most].sort().values
        parts = self.parts
        return replace(
            self,
            parts=Parts(
                shape=parts.shape[kept], members=parts.members[kept], carried=parts.carried[kept]
            ),
            slides=self.slides[kept],
            pivot=self.pivot[kept],
            axis=self.axis[kept],
            range=self.range[kept],
            endless=self.endless[kept],
        )
