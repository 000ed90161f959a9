"""Disagreement: where samples of one future differ from each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kin4d.geometry.pointmap import PointmapVideo

_FULL = 64.0  # levels of 255 of standard deviation that are shown brightest
_HEAT = np.array([[15, 10, 40], [120, 28, 109], [237, 105, 37], [252, 255, 164]], np.float64)


def disagreement(samples: Sequence[PointmapVideo]) -> np.ndarray:
    """[T, H, W] float32: standard deviation of the colours of samples, levels of 255."""
    total = np.zeros(samples[0].rgb.shape, np.float32)
    square = np.zeros_like(total)
    for sample in samples:
        colors = sample.rgb.astype(np.float32)
        total += colors
        square += colors**2
    mean = total / len(samples)
    return np.sqrt(np.maximum(square / len(samples) - mean**2, 0)).mean(-1)


def disagreement_video(samples: Sequence[PointmapVideo]) -> PointmapVideo:
    """The first sample, coloured by disagreement: dark where all agree, yellow where they do not.

    Args:
        samples: At least two, of one size and length.
    """
    level = np.clip(disagreement(samples) / _FULL, 0, 1) * (len(_HEAT) - 1)
    low = np.minimum(level.astype(np.int64), len(_HEAT) - 2)
    share = (level - low)[..., None]
    heat = (1 - share) * _HEAT[low] + share * _HEAT[low + 1]
    return replace(samples[0], rgb=heat.astype(np.uint8))
