"""Flow: how a video's pixels move, by block matching, for the truth and for what is told alike."""

from __future__ import annotations

import numpy as np

from kin4d.data.episodes.episode import ROBOT
from kin4d.evaluate.world.regions import judged_frames
from kin4d.geometry.pointmap import PointmapVideo

STEP = 4
"""Frames between the two that are matched."""

_REACH, _BLOCK = 8, 5  # px that are searched, and side of a block
_EASY = 0.5  # levels per px: a farther match must be better by so much


def pixel_flow(video: PointmapVideo, frame: int, *, step: int = STEP) -> np.ndarray:
    """[H, W, 2] px (x, y): where each pixel of `frame - step` has gone by `frame`.

    The best match of the block around it, by colour; pixels of the robot match nothing.
    """
    from scipy.ndimage import uniform_filter

    before, after = (video.rgb[t].astype(np.float32) for t in (max(frame - step, 0), frame))
    height, width = before.shape[:2]
    wide = np.pad(after, ((_REACH, _REACH), (_REACH, _REACH), (0, 0)), mode="edge")
    hidden = np.pad(video.mask[frame] == ROBOT, _REACH, constant_values=False)
    best = np.full((height, width), np.inf, np.float32)
    flow = np.zeros((height, width, 2), np.float32)
    for down in range(-_REACH, _REACH + 1):
        for right in range(-_REACH, _REACH + 1):
            top, left = _REACH + down, _REACH + right
            view = np.s_[top : top + height, left : left + width]
            off = np.abs(wide[view] - before).mean(-1)
            off[hidden[view]] = 255.0
            misfit = uniform_filter(off, _BLOCK, mode="nearest") + _EASY * np.hypot(right, down)
            better = misfit < best
            best[better], flow[better] = misfit[better], (right, down)
    return flow


def flow_cosine(truth: PointmapVideo, told: PointmapVideo, where: np.ndarray) -> float:
    """Cosine between how things truly move and how they are told to, over a region [T, H, W].

    All judged frames together are one long vector: pixels that move farther count more, and what
    should move but does not lowers it. NaN if nothing in the region truly moves.
    """
    both = mine = true = 0.0
    for frame in judged_frames(len(truth)):
        # The region says what is seen there now; flow is known where that was before.
        seen = where[max(frame - STEP, 0)] & (truth.mask[max(frame - STEP, 0)] != ROBOT)
        if seen.any():
            a, b = (pixel_flow(video, int(frame))[seen] for video in (truth, told))
            both += float((a * b).sum())
            true += float(np.square(a).sum())
            mine += float(np.square(b).sum())
    if not true:
        return float("nan")
    return both / np.sqrt(true * mine) if mine else 0.0
