"""Particulate's protocol (arXiv 2512.11798), with the penalty for parts that nothing matches.

What is computed, for 20,000 points of the surface (100,000 in the original; the boxes of parts
hardly depend on it), the object's box centred and its longest side scaled to 1:

- Parts, the static one included, are matched one to one by the least total distance between their
  centroids in the given state (Hungarian assignment).
- Five states: every joint goes from where it is (0) to the end of its range that takes it farthest
  (1), an endless hinge by half a turn; truth and prediction by their own joints. Here the given
  state is a random one, where the original starts from rest.
- gIoU of two parts is that of the axis-aligned boxes of their points in that state. Its mean over
  the predicted parts and its mean over the true ones are averaged; a part without a match counts
  -1. (The original turns boxes with their parts after the first state and takes the enclosing
  box at rest.)
- Box IoU likewise, with 0 for a part without a match: the original's "mIoU".
- Label IoU: shared points of matched parts over the points of either, averaged the same way, 0
  without a match. It does not depend on the state.
- Chamfer: mean squared distance of all points to the other mechanism's, both ways, summed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial import KDTree

from kin4d.benchmarks.prior.comparison import Comparison

POINTS = 20_000
STATES = 5

_FLAT = 1e-6  # added to the sides of boxes: sheets have a volume too


@dataclass(frozen=True, kw_only=True)
class ParticulateScores:
    """Of one object; shares with penalty, lengths in boxes.

    Attributes:
        giou_given: In the given state.
        giou_open: Fully open.
        giou_mean: Mean over the five states.
        iou_given: IoU of part boxes in the given state.
        iou_open: Fully open.
        label_iou: Of point labels.
        chamfer_open: Overall, fully open, squared lengths.
    """

    giou_given: float
    giou_open: float
    giou_mean: float
    iou_given: float
    iou_open: float
    label_iou: float
    chamfer_open: float

    @classmethod
    def of(cls, comparison: Comparison) -> ParticulateScores:
        """Score one prediction; points should be `POINTS` by area."""
        true, predicted, size = comparison.true, comparison.predicted, comparison.size
        rows = match_parts(true.points, predicted.link, true.link)
        label = _averaged(rows, _label_iou(predicted.link, true.link), 0.0)
        ends = predicted.open_state(), true.open_state()
        giou, iou, chamfer = [], [], 0.0
        for share in np.linspace(0, 1, STATES):
            moved = predicted.moved(share * ends[0]) / size, true.moved(share * ends[1]) / size
            boxes = _boxes(moved[0], predicted.link), _boxes(moved[1], true.link)
            plain, general = _box_iou(*boxes)
            giou.append(_averaged(rows, general, -1.0))
            iou.append(_averaged(rows, plain, 0.0))
            if share == 1:
                chamfer = _chamfer(*moved)
        return cls(
            giou_given=giou[0],
            giou_open=giou[-1],
            giou_mean=float(np.mean(giou)),
            iou_given=iou[0],
            iou_open=iou[-1],
            label_iou=label,
            chamfer_open=chamfer,
        )


def match_parts(
    points: np.ndarray, first: np.ndarray, second: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of labels in `first` and in `second` [P], matched by distance between centroids."""
    centers = [
        np.stack([points[label == one].mean(0) for one in np.unique(label)])
        for label in (first, second)
    ]
    far = np.linalg.norm(centers[0][:, None] - centers[1], axis=-1)
    rows, columns = linear_sum_assignment(far)
    return rows, columns


def _averaged(rows: tuple[np.ndarray, np.ndarray], table: np.ndarray, missing: float) -> float:
    """Mean over rows and mean over columns of a table [A, B] at matches, averaged."""
    found = float(table[rows].sum())
    means = [(found + missing * (count - len(rows[0]))) / count for count in table.shape]
    return sum(means) / 2


def _label_iou(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """[A, B] shared points over all points of two labels."""
    a, b = (np.unique(label, return_inverse=True)[1] for label in (first, second))
    both = np.zeros((a.max() + 1, b.max() + 1))
    np.add.at(both, (a, b), 1)
    return both / (both.sum(1)[:, None] + both.sum(0) - both)


def _boxes(points: np.ndarray, label: np.ndarray) -> np.ndarray:
    """[A, 2, 3] lower and upper corners of the points of every label."""
    parts = [points[label == one] for one in np.unique(label)]
    return np.stack([[part.min(0) - _FLAT, part.max(0) + _FLAT] for part in parts])


def _box_iou(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """IoU and generalised IoU [A, B] of boxes [A, 2, 3] and [B, 2, 3]."""
    a, b = first[:, None], second[None]
    overlap = np.minimum(a[..., 1, :], b[..., 1, :]) - np.maximum(a[..., 0, :], b[..., 0, :])
    shared = overlap.clip(min=0).prod(-1)
    around = np.maximum(a[..., 1, :], b[..., 1, :]) - np.minimum(a[..., 0, :], b[..., 0, :])
    hull = around.prod(-1)
    volume = [np.ptp(boxes, axis=1).prod(-1) for boxes in (first, second)]
    union = volume[0][:, None] + volume[1] - shared
    return shared / union, shared / union - (hull - union) / hull


def _chamfer(a: np.ndarray, b: np.ndarray) -> float:
    there, back = KDTree(b).query(a)[0], KDTree(a).query(b)[0]
    return float(np.square(there).mean() + np.square(back).mean())
