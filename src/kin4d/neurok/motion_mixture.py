"""MotionMixture: predicted distribution of a part's motion over candidate axes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from kin4d.neurok.twists import TWIST

LEAST_GAIN = 0.02
"""Twist that every part may do in every direction."""

_ASIDE = 0.05  # twist across an axis that still counts as along it
_SAME = 0.985  # cosine between twists of one axis offered twice


@dataclass(frozen=True, eq=False)
class MotionMixture:
    """How M parts may move, along C axes.

    Attributes:
        shape: [M] the shape each is part of.
        token: [M] the token that claims it.
        twists: [M, C, 6] of length one.
        likely: [M, C + 1] logarithms of probabilities; the last is to move anywhere.
        middle: [M, C] how far along each axis on average.
        spread: [M, C] and the standard deviation.
        free: [M, 6] standard deviations of twists that go anywhere, in the axes of the box.
    """

    shape: Tensor
    token: Tensor
    twists: Tensor
    log_prob: Tensor
    mean: Tensor
    std: Tensor
    free: Tensor

    def nll(self, twist: Tensor) -> Tensor:
        """[M] negative logarithm of the density of twists [M, 6], but for a constant."""
        along = (self.twists @ twist[..., None]).squeeze(-1)
        square = twist.square().sum(-1, keepdim=True) - along.square()
        # Linear from afar: a part that hangs on another moves along no axis of its own.
        aside = (square.clamp(min=0) / _ASIDE**2 + 1).sqrt() - 1
        axes = _log_normal((along - self.mean) / self.std, self.std) - aside
        axes = axes - (TWIST - 1) * math.log(_ASIDE)
        free = _log_normal(twist / self.free, self.free).sum(-1, keepdim=True)
        return -torch.logsumexp(self.log_prob + torch.cat([axes, free], -1), -1)

    @torch.no_grad()
    def most_likely(self) -> tuple[Tensor, Tensor]:
        """[M] the axis each part is expected to go along, and how far; axes that are offered twice
        count together. A narrow axis may be likely just because parts often stay: it does not
        count for more than how far it goes."""
        far = (self.mean.square() + self.std.square()).sqrt()
        expected = self.log_prob[:, :-1].exp() * far
        alike = (self.twists @ self.twists.mT).abs() > _SAME
        total = (alike.to(expected.dtype) @ expected[..., None]).squeeze(-1)
        best = torch.where(total > 0.99 * total.amax(1, keepdim=True), expected, -1.0).argmax(1)
        return best, total.amax(1)

    @torch.no_grad()
    def principal(self) -> tuple[Tensor, Tensor, Tensor]:
        """Orthonormal rows [M, 6, 6], gains and means [M, 6]: the likeliest axis first, then what
        is left of the spread, widest first."""
        best, expected = self.most_likely()
        row = torch.arange(len(best), device=best.device)
        covariance = self._covariance()
        # Parts that rather go anywhere have no axis: their widest direction comes first.
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
        return frames, gains.clamp(min=LEAST_GAIN), F.pad(mean[:, None], (0, TWIST - 1))

    def _covariance(self) -> Tensor:
        """[M, 6, 6] mean square of twists, about no motion."""
        prob = self.log_prob.exp()
        square = prob[:, :-1] * (self.mean.square() + self.std.square())
        anywhere = prob[:, -1:] * self.free.square() + LEAST_GAIN**2
        return self.twists.mT @ (self.twists * square[..., None]) + torch.diag_embed(anywhere)


def _log_normal(away: Tensor, std: Tensor) -> Tensor:
    """Logarithm of the density of a normal variable `away` standard deviations off; linear in it
    from afar: a single wild motion must not blow up the spread."""
    return -F.huber_loss(away, torch.zeros_like(away), reduction="none", delta=3.0) - std.log()
