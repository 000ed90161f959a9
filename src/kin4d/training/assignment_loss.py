"""Assignment loss: classify points into parts whose numbering is arbitrary."""

from __future__ import annotations

import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor
from torch.nn import functional as F


def assignment_loss(weights: Tensor, part: Tensor) -> Tensor:
    """Cross-entropy of token weights [B, N, 1 + T] against parts [B, N], up to a permutation.

    Each part is matched to a token of its own, those with the largest weights first (Hungarian
    matching). Part 0 never moves; its token is column 0, the background. Shapes without known parts
    are ignored; a part counts by the square root of its number of points.
    """
    known = (part >= 0).all(1)
    if not known.any():
        return weights.sum() * 0.0
    log_weights, part = weights[known].clamp(min=1e-8).log(), part[known]
    member = F.one_hot(part, int(part.max()) + 1).to(log_weights.dtype)
    size = member.sum(1)
    scores = (member.mT @ log_weights.detach()) / size.clamp(min=1)[..., None]
    token = torch.zeros_like(size, dtype=torch.int64)
    for row, (score, count) in enumerate(zip(scores.cpu().numpy(), size.tolist(), strict=True)):
        parts = [i for i in range(1, len(count)) if count[i]]
        matched, chosen = linear_sum_assignment(score[parts, 1:], maximize=True)
        for index, column in zip(matched, chosen, strict=True):
            token[row, parts[index]] = column + 1
    wanted = token.gather(1, part)
    # Parts without a token (more parts than tokens) are left out: they are not background.
    counts = (member * size.clamp(min=1)[:, None] ** -0.5).sum(-1) * ((part == 0) | (wanted > 0))
    missed = -log_weights.gather(-1, wanted[..., None]).squeeze(-1)
    return (missed * counts).sum() / counts.sum()
