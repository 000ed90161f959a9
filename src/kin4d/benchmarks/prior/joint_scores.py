"""Joint scores: type, axis and range of predicted parts, each against the true part it overlaps.

Parts that move are matched one to one by the IoU of what their joints carry, so that nested parts
count; pairs below 0.25 are none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from kin4d.benchmarks.prior.comparison import Comparison

LEAST_IOU = 0.25


@dataclass(frozen=True, eq=False, kw_only=True)
class JointScores:
    """Matched joints of one object.

    Attributes:
        true: How many joints there are in truth.
        same_type: [M] bool: hinges taken for hinges, slides for slides.
        axis: [M] deg between axes, whichever way they point.
        position: [M] distance between the axes of two hinges, in boxes: from the place of the true
            one that is nearest to its part's centroid. NaN for slides.
        range: [M] |span - true span| / true span, spans of hinges up to a full turn; NaN where
            types differ.
    """

    true: int
    same_type: np.ndarray
    axis: np.ndarray
    position: np.ndarray
    range: np.ndarray

    @classmethod
    def of(cls, comparison: Comparison) -> JointScores:
        """Score one prediction."""
        true, predicted, weight = comparison.true, comparison.predicted, comparison.weight
        carried = [one.joints.carried[one.link].astype(np.float64) for one in (true, predicted)]
        shared = (weight[:, None] * carried[0]).T @ carried[1]
        area = [weight @ one for one in carried]
        iou = shared / np.maximum(area[0][:, None] + area[1] - shared, 1e-30)
        rows, columns = linear_sum_assignment(-iou)
        good = iou[rows, columns] >= LEAST_IOU
        rows, columns = rows[good], columns[good]
        a, b = true.joints, predicted.joints
        cosine = np.abs(np.einsum("mi,mi->m", a.axis[rows], b.axis[columns])).clip(max=1)
        same = a.slides[rows] == b.slides[columns]
        position = np.full(len(rows), np.nan)
        for i, (row, column) in enumerate(zip(rows, columns, strict=True)):
            if same[i] and not a.slides[row]:
                own = carried[0][:, row] > 0
                center = np.average(true.points[own], axis=0, weights=weight[own])
                place = a.pivot[row] + (center - a.pivot[row]) @ a.axis[row] * a.axis[row]
                arm = place - b.pivot[column]
                off = arm - arm @ b.axis[column] * b.axis[column]
                position[i] = np.linalg.norm(off) / comparison.size
        spans = [
            np.minimum(
                np.abs(one.factor) * np.ptp(one.limits, axis=1),
                np.where(one.slides, np.inf, 2 * np.pi),
            )
            for one in (a, b)
        ]
        off = np.abs(spans[1][columns] - spans[0][rows]) / np.maximum(spans[0][rows], 1e-9)
        return cls(
            true=len(a),
            same_type=same,
            axis=np.degrees(np.arccos(cosine)),
            position=position,
            range=np.where(same, off, np.nan),
        )


def joint_summary(scores: Sequence[JointScores]) -> dict[str, float]:
    """Over all matched joints of a set: share matched, types right, medians of errors."""
    columns = {
        name: np.concatenate([np.zeros(0), *(getattr(one, name) for one in scores)])
        for name in ("same_type", "axis", "position", "range")
    }
    total = sum(one.true for one in scores)
    return {
        "matched": len(columns["axis"]) / total if total else float("nan"),
        "type": float(columns["same_type"].mean()) if len(columns["axis"]) else float("nan"),
        "axis (deg)": _median(columns["axis"]),
        "position": _median(columns["position"]),
        "range": _median(columns["range"]),
    }


def _median(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if len(known) else float("nan")
