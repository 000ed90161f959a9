"""Preview: a pointmap video as frames to look at, colour beside depth."""

from __future__ import annotations

import numpy as np

from kin4d.geometry.pointmap import PointmapVideo


def depth_range(video: PointmapVideo) -> tuple[float, float]:
    """Depths (m) that `color_and_depth` draws white and black: all but the outermost 1 %."""
    low, high = np.nanpercentile(video.xyz[..., 2], (1, 99))
    return float(low), float(high)


def color_and_depth(video: PointmapVideo, *, width: int = 384) -> np.ndarray:
    """[T, H', W', 3] uint8: colour on the left, depth on the right; near is white.

    Args:
        video: What to show.
        width: Pixels of each half at least; smaller videos are enlarged by a whole factor.
    """
    low, high = depth_range(video)
    near = np.nan_to_num(np.clip((high - video.xyz[..., 2]) / max(high - low, 1e-6), 0, 1))
    grey = np.repeat((255 * near).astype(np.uint8)[..., None], 3, -1)
    scale = max(1, width // video.camera.width)
    return np.concatenate([video.rgb, grey], axis=2).repeat(scale, 1).repeat(scale, 2)
