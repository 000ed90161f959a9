"""Motion scores: true joints that a predicted body can follow, and predicted ones that are true.

A coordinate is taken where it moves its points farthest within its limits, an endless hinge by half
a turn. The other mechanism *makes* this motion if its best state, all coordinates free and
correspondences known, leaves less than 30 % of the displacement (rms over the surface).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kin4d.benchmarks.prior.comparison import Comparison
from kin4d.benchmarks.prior.mechanism import Mechanism, best_state

TOLERANCE = 0.3
"""Of the displacement."""

POINTS = 400
"""On the surface, about; see `Comparison.of`."""

_STILL = 1e-5  # of the size: rms displacement of a joint that moves nothing


@dataclass(frozen=True, eq=False, kw_only=True)
class MotionScores:
    """Hits of one object.

    Attributes:
        recalled: [true joints] bool: the prediction makes its full motion.
        leading: [true joints] the predicted coordinate that contributes most to it, -1 if none.
        correct: [predicted coordinates] bool: the truth makes its full motion.
        probability: [predicted coordinates] as stated; NaN if it is not.
        recalled_free: `recalled` with the prediction's limits ignored.
        correct_free: `correct` with the truth's limits ignored.
    """

    recalled: np.ndarray
    leading: np.ndarray
    correct: np.ndarray
    probability: np.ndarray
    recalled_free: np.ndarray
    correct_free: np.ndarray

    @classmethod
    def of(cls, comparison: Comparison) -> MotionScores:
        """Score one prediction. True joints that move no surface at all are not counted."""
        true, predicted = comparison.true, comparison.predicted
        weight, still = comparison.weight, _STILL * comparison.size
        recalled, leading = _hits(true, predicted, weight, still)
        correct, _ = _hits(predicted, true, weight, still)
        free, _ = _hits(true, predicted.unlimited(), weight, still)
        correct_free, _ = _hits(predicted, true.unlimited(), weight, still)
        moves = leading > -2
        return cls(
            recalled=recalled[moves],
            leading=leading[moves],
            correct=correct,
            probability=comparison.probability,
            # A search over wider limits may end in another minimum: what is reached within the
            # limits is reached without them.
            recalled_free=(free | recalled)[moves],
            correct_free=correct_free | correct,
        )


@dataclass(frozen=True, kw_only=True)
class Rates:
    """Shares of a set's joints.

    Attributes:
        recall: Of the true joints.
        precision: Of the predicted ones; NaN if there are none.
        f1: Of both; 0 if nothing is hit.
    """

    recall: float
    precision: float
    f1: float

    @classmethod
    def of(cls, recalled: np.ndarray, correct: np.ndarray) -> Rates:
        """From hits of all joints of a set."""
        recall = float(recalled.mean()) if len(recalled) else float("nan")
        precision = float(correct.mean()) if len(correct) else float("nan")
        total = recall + precision
        return cls(
            recall=recall,
            precision=precision,
            f1=2 * recall * precision / total if total > 0 else 0.0,
        )


def rates(scores: Sequence[MotionScores], *, free: bool = False) -> Rates:
    """Over all joints of a set; `free` ignores limits."""
    if free:
        return Rates.of(_joined(scores, "recalled_free"), _joined(scores, "correct_free"))
    return Rates.of(_joined(scores, "recalled"), _joined(scores, "correct"))


def _joined(scores: Sequence[MotionScores], name: str) -> np.ndarray:
    return np.concatenate([np.zeros(0, bool), *(getattr(one, name) for one in scores)])


def _hits(
    moving: Mechanism, follower: Mechanism, weight: np.ndarray, still: float
) -> tuple[np.ndarray, np.ndarray]:
    """[k] which full motions the follower makes, and its leading coordinate in each.

    That is -1 where it makes none, and -2 where the moving itself moves nothing.
    """
    count = len(moving.coordinates)
    hits, leading = np.zeros(count, bool), np.full(count, -1)
    for column in range(count):
        target = moving.full_motion(column)
        far = _rms(target - moving.points, weight)
        if far <= still:
            leading[column] = -2
            continue
        q, left = best_state(follower, target, weight)
        hits[column] = left < TOLERANCE * far
        if hits[column]:
            leading[column] = _leading(follower, q, target, weight)
    return hits, leading


def _leading(mechanism: Mechanism, q: np.ndarray, target: np.ndarray, weight: np.ndarray) -> int:
    """The coordinate without which a state is farthest from the target."""
    states = np.where(np.eye(len(q), dtype=bool), 0.0, q)
    left = [_rms(mechanism.moved(state) - target, weight) for state in states]
    return int(np.argmax(left))


def _rms(vectors: np.ndarray, weight: np.ndarray) -> float:
    return float(np.sqrt((weight * np.square(vectors).sum(1)).sum() / weight.sum()))
