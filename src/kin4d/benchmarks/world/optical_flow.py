"""Optical flow: from part motions for the truth, from block matching for imagined clips."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kin4d.benchmarks.world.regions import evaluated_frames
from kin4d.episodes.episode import ROBOT, Episode
from kin4d.episodes.part_tracks import FIRST
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


def part_flow(episode: Episode, frame: int, *, step: int = STEP) -> tuple[np.ndarray, np.ndarray]:
    """Where each pixel of `frame - step` has truly gone by `frame`, if it shows a part.

    Returns:
        [H, W, 2] px (x, y), and [H, W] bool: where it is known and the robot is not in front.
    """
    parts, video = episode.parts, episode.video
    assert parts is not None
    before = max(frame - step, 0)
    shown = parts.mask[before] >= FIRST
    flow = np.zeros((*shown.shape, 2))
    rows, columns = np.nonzero(shown)
    part = parts.mask[before][shown].astype(int) - FIRST
    since = parts.motions[frame] @ np.linalg.inv(parts.motions[before])
    points = video.xyz[before][shown].astype(np.float64)
    moved = (since[part, :3, :3] @ points[..., None])[..., 0] + since[part, :3, 3]
    pixels = replace(video.camera, pose=np.eye(4)).project(moved)[0]
    flow[shown] = pixels - np.stack([columns, rows], -1)
    size = (video.camera.width - 1, video.camera.height - 1)
    x, y = np.clip(np.nan_to_num(np.rint(pixels)), 0, size).astype(int).T
    known = np.isfinite(pixels).all(-1) & (video.mask[frame][y, x] != ROBOT)
    seen = np.zeros(shown.shape, bool)
    seen[shown] = known
    return np.where(seen[..., None], flow, 0.0), seen


def flow_cosine(episode: Episode, predicted: PointmapVideo, where: np.ndarray) -> float:
    """Cosine between true and predicted flow, over a region [T, H, W].

    All evaluated frames together are one long vector: pixels that move farther count more, and what
    should move but does not lowers it. NaN if nothing in the region truly moves.
    """
    both = mine = true = 0.0
    for frame in (int(one) for one in evaluated_frames(len(episode))):
        flow, seen = part_flow(episode, frame)
        seen &= where[max(frame - STEP, 0)]
        if seen.any():
            a, b = flow[seen], pixel_flow(predicted, frame)[seen]
            both += float((a * b).sum())
            true += float(np.square(a).sum())
            mine += float(np.square(b).sum())
    if true < 1:
        return float("nan")
    return both / float(np.sqrt(true * mine)) if mine else 0.0
