"""Gauss-Newton for a scan: similarity transform and joint values together, many guesses at once."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from kin4d.bodies.articulated_base import ArticulatedBodyBase
from kin4d.geometry.transforms import rotvec_to_matrix

SCALE_DEVIATION = 0.05  # Of the scale at which areas agree, relative.


@dataclass(frozen=True, eq=False)
class PoseHypothesis:
    """B guesses of where a body stands in a scan.

    Attributes:
        similarity: [B, 4, 4], the body's frame to the scan's: scaled rotation and translation.
        q: [B, k].
    """

    similarity: Tensor
    q: Tensor

    def __getitem__(self, keep: Tensor) -> PoseHypothesis:
        return PoseHypothesis(self.similarity[keep], self.q[keep])

    def __len__(self) -> int:
        return len(self.q)

    @property
    def scale(self) -> Tensor:
        """[B] size in the scan over size of the body."""
        return torch.linalg.det(self.similarity[:, :3, :3]).pow(1 / 3)

    def exact(self) -> PoseHypothesis:
        """The guesses in float64, with rotations that are rotations to the last digit."""
        similarity = self.similarity.double()
        left, _, right = torch.linalg.svd(similarity[:, :3, :3])
        scale = torch.linalg.det(similarity[:, :3, :3]).pow(1 / 3)
        similarity[:, :3, :3] = scale[:, None, None] * (left @ right)
        return PoseHypothesis(similarity, self.q.double())

    def within_limits(self, body: ArticulatedBodyBase) -> PoseHypothesis:
        """The guesses with coordinates clamped to the body's limits."""
        low, high = body.limits.to(self.q).unbind(-1)
        return PoseHypothesis(self.similarity, self.q.clamp(low, high))

    def link_transforms(self, body: ArticulatedBodyBase) -> Tensor:
        """[B, L, 4, 4] from the links' frames to the scan's."""
        return self.similarity[:, None] @ body.link_poses(self.q)


def posed_points(
    transforms: Tensor, link: Tensor, points: Tensor, normals: Tensor
) -> tuple[Tensor, Tensor]:
    """Points and unit normals [..., N, 3] of samples on links at `transforms` [..., L, 4, 4]."""
    matrix = transforms[..., link, :3, :]
    rotated = (matrix[..., :3] @ torch.stack([points, normals], -1)).unbind(-1)
    positions, normal = rotated[0] + matrix[..., 3], rotated[1]
    return positions, normal / normal.norm(dim=-1, keepdim=True)


def plane_rows(
    body: ArticulatedBodyBase,
    guess: PoseHypothesis,
    link: Tensor,
    points: Tensor,
    positions: Tensor,
    normal: Tensor,
) -> Tensor:
    """d (normal . positions) / d (log scale, translation, rotation, q): [B, N, 7 + k].

    Samples `points` [N, 3] of `link` [N], sorted by link, stand at `positions` [B, N, 3]; `normal`
    [B, N, 3] is taken as constant.
    """
    motion = body.link_jacobian(guess.q)[:, :, :3].flatten(2, 3)
    own = normal @ guess.similarity[:, :3, :3]
    flat = torch.nn.functional.pad(points, (0, 1), value=1.0)
    outer = (own[..., :, None] * flat[:, None, :]).flatten(-2)
    ids, counts = link.unique_consecutive(return_counts=True)
    parts = zip(ids.tolist(), outer.split(counts.tolist(), 1), strict=True)
    along = torch.cat([part @ motion[:, i] for i, part in parts], 1)
    stretch = (normal * positions).sum(-1, keepdim=True)
    return torch.cat([stretch, normal, torch.linalg.cross(positions, normal), along], -1)


def step_hypothesis(guess: PoseHypothesis, step: Tensor) -> PoseHypothesis:
    """The guesses after `step` [B, 7 + k]."""
    update = torch.eye(4).to(step).repeat(len(step), 1, 1)
    update[:, :3, :3] = step[:, 0].exp()[:, None, None] * rotvec_to_matrix(step[:, 4:7])
    update[:, :3, 3] = step[:, 1:4]
    return PoseHypothesis(update @ guess.similarity, guess.q + step[:, 7:])


def solve_step(
    rows: Tensor,
    residual: Tensor,
    weight: Tensor,
    guess: PoseHypothesis,
    *,
    active: Tensor,
    deviation: float,
) -> Tensor:
    """The Gauss-Newton step [B, 7 + k] for `rows` [B, N, 7 + k], `residual` and `weight` [B, N].

    Coordinates not `active` [k] stay.
    A weak prior holds the scale near one: the areas of scan and body already agree.
    """
    free = torch.cat([torch.ones(7, dtype=torch.bool), active])
    weighted = weight[..., None] * rows
    hessian = weighted.mT @ rows
    gradient = (weighted * residual[..., None]).sum(-2)
    prior = weight.sum(-1) * (deviation / SCALE_DEVIATION) ** 2
    hessian[:, 0, 0] += prior
    gradient[:, 0] += prior * guess.scale.log()
    index = free.nonzero().squeeze(-1)
    block = hessian[:, index[:, None], index]
    ridge = 1e-5 * block.diagonal(dim1=-2, dim2=-1).amax(-1, keepdim=True) + 1e-12
    step = torch.zeros_like(gradient)
    step[:, index] = -torch.linalg.solve(
        block + torch.diag_embed(ridge.expand(-1, len(index))), gradient[:, index]
    )
    return step * (0.3 / step.abs().amax(-1, keepdim=True).clamp_min(0.3))
