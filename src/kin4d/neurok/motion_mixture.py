"""MotionMixture: the predicted distribution of a part's twist.

A mixture of one normal component along each candidate axis, and one component for motion in any
direction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from kin4d.neurok.twists import TWIST

MIN_STD = 0.02
"""Standard deviation of a twist, at least, in every direction."""
ACROSS_STD = 0.05
"""Standard deviation of a twist across the axis of its component."""
SAME_AXIS_COS = 0.985
"""Cosine between twists above which two candidates are the same axis."""


@dataclass(frozen=True, eq=False)
class MotionMixture:
    """Distributions of the twists of M parts over C candidate axes.

    Attributes:
        shape: [M] index of the part's shape in the batch.
        token: [M] index of the part's token.
        twists: [M, C, 6] candidate axes, as twists of length one.
        log_prob: [M, C + 1] log probabilities of the components; the last is motion in any
            direction.
        mean: [M, C] mean motion along each axis.
        std: [M, C] its standard deviation.
        free: [M, 6] standard deviations of motion in any direction, in the axes of the box.
    """

    shape: Tensor
    token: Tensor
    twists: Tensor
    log_prob: Tensor
    mean: Tensor
    std: Tensor
    free: Tensor

    def nll(self, twist: Tensor) -> Tensor:
        """[M] negative log likelihood of twists [M, 6], up to a constant."""
        along = (self.twists @ twist[..., None]).squeeze(-1)
        square = twist.square().sum(-1, keepdim=True) - along.square()
        # Linear for large deviations: a part that a moving parent carries leaves its own axis.
        across = (square.clamp(min=0) / ACROSS_STD**2 + 1).sqrt() - 1
        axes = _log_normal((along - self.mean) / self.std, self.std) - across
        axes = axes - (TWIST - 1) * math.log(ACROSS_STD)
        free = _log_normal(twist / self.free, self.free).sum(-1, keepdim=True)
        return -torch.logsumexp(self.log_prob + torch.cat([axes, free], -1), -1)

    @torch.no_grad()
    def most_likely(self) -> tuple[Tensor, Tensor]:
        """[M] the axis of each part with the largest expected motion, and that motion.

        Candidates of the same axis are added. Probability alone would favour axes of small motion,
        since parts are often at rest.
        """
        motion = (self.mean.square() + self.std.square()).sqrt()
        expected = self.log_prob[:, :-1].exp() * motion
        alike = (self.twists @ self.twists.mT).abs() > SAME_AXIS_COS
        total = (alike.to(expected.dtype) @ expected[..., None]).squeeze(-1)
        best = torch.where(total > 0.99 * total.amax(1, keepdim=True), expected, -1.0).argmax(1)
        return best, total.amax(1)

    @torch.no_grad()
    def principal(self) -> tuple[Tensor, Tensor, Tensor]:
        """Orthonormal rows [M, 6, 6] with standard deviations and means [M, 6]: the most likely
        axis, then the principal axes of the rest, widest first."""
        best, expected = self.most_likely()
        row = torch.arange(len(best), device=best.device)
        covariance = self._covariance()
        # Parts without a likely axis: the direction of largest variance comes first.
        loose = self.log_prob[:, -1].exp() * self.free.norm(dim=-1) > expected
        widest = torch.linalg.eigh(covariance)[1][..., -1]
        first = torch.where(loose[:, None], widest, self.twists[row, best])
        wide = (first[:, None] @ covariance @ first[..., None]).flatten().sqrt()
        across = torch.eye(TWIST, dtype=first.dtype, device=first.device)
        across = across - first[..., None] * first[:, None]
        values, vectors = torch.linalg.eigh(across @ covariance @ across)
        frames = torch.cat([first[:, None], vectors[..., 1:].flip(-1).mT], 1)
        gain = torch.where(loose, wide, self.std[row, best])
        gains = torch.cat([gain[:, None], values[:, 1:].flip(-1).clamp(min=0).sqrt()], -1)
        mean = torch.where(loose, 0.0, self.mean[row, best] / gain)
        return frames, gains.clamp(min=MIN_STD), F.pad(mean[:, None], (0, TWIST - 1))

    def _covariance(self) -> Tensor:
        """[M, 6, 6] second moment of the twists, about zero."""
        prob = self.log_prob.exp()
        square = prob[:, :-1] * (self.mean.square() + self.std.square())
        free = prob[:, -1:] * self.free.square() + MIN_STD**2
        return self.twists.mT @ (self.twists * square[..., None]) + torch.diag_embed(free)


def _log_normal(away: Tensor, std: Tensor) -> Tensor:
    """Log density of a normal variable `away` standard deviations from its mean, up to a constant.

    Linear beyond 3 (Huber), so that single outliers do not inflate the standard deviation.
    """
    return -F.huber_loss(away, torch.zeros_like(away), reduction="none", delta=3.0) - std.log()
