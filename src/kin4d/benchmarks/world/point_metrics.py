"""Point metrics: Chamfer distances and F-score between imagined and true geometry.

Of each evaluated frame the points that are seen are compared as sets, with the measures of
`kin4d.geometry.distance`. The temporal versions compare how pixels' points changed since the frame
before, as sets of vectors.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kin4d.benchmarks.world.regions import evaluated_frames
from kin4d.geometry.distance import nearest_distances

NEAR = 0.01
"""m: threshold of the F-score."""


class PointError(NamedTuple):
    """Means over frames.

    Attributes:
        cd_l1: m.
        cd_l2: m².
        f_score: At `NEAR`.
    """

    cd_l1: float
    cd_l2: float
    f_score: float


def point_error(truth: np.ndarray, predicted: np.ndarray, where: np.ndarray) -> PointError:
    """Of points [T, H, W, 3] m inside a region [T, H, W]; NaN if it is empty.

    Inside a region smaller than the image, the points of the region's pixels are compared.
    """
    return _mean(
        _compared(truth[t][where[t]], predicted[t][where[t]]) for t in evaluated_frames(len(truth))
    )


def temporal_point_error(truth: np.ndarray, predicted: np.ndarray, where: np.ndarray) -> PointError:
    """The same of changes since the frame before."""
    return _mean(
        _compared((truth[t] - truth[t - 1])[where[t]], (predicted[t] - predicted[t - 1])[where[t]])
        for t in evaluated_frames(len(truth))
    )


def _compared(a: np.ndarray, b: np.ndarray) -> PointError | None:
    a, b = (points[np.isfinite(points).all(-1)] for points in (a, b))
    if not len(a) or not len(b):
        return None
    # Thousands of still pixels are one and the same vector: it is looked up once.
    (some_a, many_a), (some_b, many_b) = (_gathered(points) for points in (a, b))
    there, back = nearest_distances(some_a, some_b)
    ways = ((there, many_a / len(a)), (back, many_b / len(b)))
    near = [float(((far <= NEAR) * share).sum()) for far, share in ways]
    return PointError(
        sum(float((far * share).sum()) for far, share in ways) / 2,
        sum(float((far**2 * share).sum()) for far, share in ways) / 2,
        2 * near[0] * near[1] / sum(near) if sum(near) else 0.0,
    )


def _gathered(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points with those at the origin made one, and how many each stands for."""
    still = (points == 0).all(-1)
    if not still.any():
        return points, np.ones(len(points))
    return np.concatenate([points[~still], np.zeros((1, 3), points.dtype)]), np.append(
        np.ones(int((~still).sum())), still.sum()
    )


def _mean(found) -> PointError:
    rows = [one for one in found if one is not None]
    if not rows:
        return PointError(float("nan"), float("nan"), float("nan"))
    return PointError(*(float(value) for value in np.mean(rows, axis=0)))
