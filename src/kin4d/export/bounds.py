"""Bounds of point sets, fast enough to be computed for every frame while it is written."""

from __future__ import annotations

import numpy as np

# Points reduced side by side: long rows let numpy use vector instructions, columns of 3 do not.
_BLOCK = 256


def column_bounds(points: np.ndarray) -> np.ndarray:
    """[2, C] lowest and highest value of each column of contiguous `points` [N >= 1, C]."""
    count, width = points.shape
    whole = count - count % _BLOCK
    bounds = []
    for reduce in (np.minimum.reduce, np.maximum.reduce):
        pieces = [points[whole:]]
        if whole:
            rows = points[:whole].reshape(-1, _BLOCK * width)
            pieces.append(reduce(rows, axis=0).reshape(-1, width))
        bounds.append(reduce(np.concatenate(pieces), axis=0))
    return np.stack(bounds)
