"""Small episodes in which a motley block slides past the shipped arm, to test metrics with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from made_episode import made_episode

from kin4d.episodes.episode import ROBOT, Episode
from kin4d.episodes.part_tracks import FIRST, PartTracks

FRAMES, DEPTH = 9, 1.0
TOP, LEFT, HEIGHT, WIDTH = 20, 4, 8, 10


def pushed_block(number: int = 0, /, *, speed: float = 2.0, **changes: Any) -> Episode:
    """A block 1 m away, in front of a wall, goes `speed` pixels to the right per frame.

    The arm moves as in episode `number` of `made_episode`.
    """
    episode = made_episode(number, frames=FRAMES)
    video = episode.video
    rgb, xyz, mask = video.rgb.copy(), video.xyz.copy(), video.mask.copy()
    rgb[mask == 0] = (90, 110, 100)
    cells = np.random.default_rng(0).integers(20, 236, (HEIGHT // 2, WIDTH // 2, 3))
    look = cells.repeat(2, 0).repeat(2, 1)
    motions = np.tile(np.eye(4), (FRAMES, 1, 1, 1))
    parts = np.where(mask > 0, ROBOT, 0).astype(np.uint8)
    for t in range(FRAMES):
        left = LEFT + round(speed * t)
        block = np.s_[t, TOP : TOP + HEIGHT, left : left + WIDTH]
        seen = mask[block] == 0
        rgb[block][seen] = look[seen]
        xyz[block][seen] = (DEPTH * video.camera.rays()).astype(np.float32)[block[1:]][seen]
        mask[block][seen] = parts[block][seen] = FIRST
        motions[t, 0, 0, 3] = (left - LEFT) * DEPTH / video.camera.K[0, 0]
    moved = replace(video, rgb=rgb, xyz=xyz, mask=mask, names=("kin4d_arm", "block"))
    truth = PartTracks(mask=parts, motions=motions, object_ids=(FIRST,))
    return replace(episode, video=moved, parts=truth, **changes)
