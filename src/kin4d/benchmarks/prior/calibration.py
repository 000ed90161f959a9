"""Calibration: whether the stated probabilities of joints are true, and what they are good for.

A joint is *right* if the truth makes its full motion (`MotionScores.correct`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kin4d.benchmarks.prior.motion_scores import MotionScores, Rates, rates

BINS = 10


def calibration_error(scores: Sequence[MotionScores]) -> float:
    """Expected calibration error over ten bins of equal width; NaN if nothing is stated.

    The mean over joints of |share that is right - mean probability| in the bin of each.
    """
    probability = np.concatenate([np.zeros(0), *(one.probability for one in scores)])
    right = np.concatenate([np.zeros(0, bool), *(one.correct for one in scores)])
    known = np.isfinite(probability)
    probability, right = probability[known], right[known]
    if not len(right):
        return float("nan")
    place = np.minimum((probability * BINS).astype(np.int64), BINS - 1)
    gap = np.bincount(place, right - probability, BINS)
    return float(np.abs(gap).sum() / len(right))


def f1_of_surest_joints(scores: Sequence[MotionScores], share: float) -> float:
    """F1 when only a share of all predicted joints is kept, the surest ones.

    A true joint stays recalled as long as the coordinate that contributes most to its motion is
    kept. NaN if nothing is stated.
    """
    probability = np.concatenate([np.zeros(0), *(one.probability for one in scores)])
    if not len(probability) or not np.isfinite(probability).all():
        return float("nan")
    order = np.argsort(-probability, kind="stable")
    kept = np.zeros(len(probability), bool)
    kept[order[: round(share * len(order))]] = True
    correct = np.concatenate([one.correct for one in scores])
    start, recalled = 0, []
    for one in scores:
        own = np.append(kept[start : start + len(one.correct)], False)
        recalled.append(one.recalled & own[one.leading])
        start += len(one.correct)
    return Rates.of(np.concatenate(recalled), correct[kept]).f1


def f1_of_surest_objects(
    scores: Sequence[MotionScores], confidence: Sequence[float | None], share: float
) -> float:
    """F1 over a share of the objects, the surest ones.

    An object is as sure as the mean probability of its joints; where none is stated, as the body's
    confidence. An object without joints comes last. NaN if neither is stated anywhere.
    """
    sure = []
    for one, whole in zip(scores, confidence, strict=True):
        stated = one.probability[np.isfinite(one.probability)]
        value = stated.mean() if len(stated) else whole
        sure.append(-1.0 if value is None or not len(one.correct) else float(value))
    if max(sure, default=-1.0) < 0:
        return float("nan")
    order = np.argsort(-np.array(sure), kind="stable")
    return rates([scores[i] for i in order[: max(1, round(share * len(order)))]]).f1
