"""From probabilities of pieces and of pairs to parts: the likeliest cut of a tree of pieces.

Pieces are joined by average linkage on the probability that they share a joint. Each branch of that
tree is one part, or is divided further; what is left over stands still. The choice with the
largest sum of log odds, of pieces that move and of pairs that are one part, is found exactly from
the leaves up. Large pieces weigh more: a part that lacks a screw is better than one that lacks a
panel.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_LEAST = 0.1  # probability of moving below which a piece stands still, whatever its neighbours do
_SURE = 1e-3  # probabilities are taken to be this far from 0 and 1


@dataclass(frozen=True, kw_only=True)
class GroupingConfig:
    """What is added to log odds.

    Attributes:
        moves_offset: Of pieces that move.
        together_offset: Of pairs that are one part: the lesser probability of both directions is
            taken, which understates it.
    """

    moves_offset: float = 0.0
    together_offset: float = 1.0


def group_pieces(
    moves: np.ndarray,
    relation: np.ndarray,
    area: np.ndarray,
    config: GroupingConfig | None = None,
) -> list[np.ndarray]:
    """Pieces of each part, the largest part first.

    Args:
        moves: [N] probability that a piece moves.
        relation: [N, N] probability that piece i is moved by the parent joint of piece j.
        area: [N].
        config: What is added to log odds.
    """
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    config = config or GroupingConfig()
    odds = _log_odds(moves) + config.moves_offset
    moving = np.flatnonzero(odds > np.log(_LEAST / (1 - _LEAST)))
    weight = np.sqrt(area[moving] / max(area.sum(), 1e-30)) + 1e-6
    single = weight * odds[moving]
    both = np.minimum(relation, relation.T)[np.ix_(moving, moving)]
    pair = weight[:, None] * weight * (_log_odds(both) + config.together_offset)
    branches = [np.array([leaf]) for leaf in range(len(moving))]
    best = [max(0.0, float(value)) for value in single]
    parts = [[leaf] if value > 0 else [] for leaf, value in zip(branches, single, strict=True)]
    distance = 1.0 - both
    np.fill_diagonal(distance, 0.0)
    joins = linkage(squareform(distance, checks=False), "average") if len(moving) > 1 else []
    for one, other in (join[:2].astype(int) for join in joins):
        branch = np.concatenate([branches[one], branches[other]])
        inner = pair[np.ix_(branch, branch)]
        whole = float(single[branch].sum() + (inner.sum() - np.trace(inner)) / 2)
        divided = best[one] + best[other]
        branches.append(branch)
        best.append(max(whole, divided))
        parts.append([branch] if whole > divided else parts[one] + parts[other])
    groups = [moving[np.sort(part)] for part in (parts[-1] if parts else [])]
    return sorted(groups, key=lambda group: (-area[group].sum(), group[0]))


def _log_odds(probability: np.ndarray) -> np.ndarray:
    bounded = np.clip(probability, _SURE, 1 - _SURE)
    return np.log(bounded / (1 - bounded))
