"""Toy clips: a grey table, a bar that slides over it, and a block that it pushes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from kin4d.world.diffusion.batch import VideoBatch, codec_videos
from kin4d.world.diffusion.codec import PcaCodec, fit_pca
from kin4d.world.diffusion.config import DiffusionConfig
from kin4d.world.diffusion.control import hash_words

FRAMES, HEIGHT, WIDTH = 9, 16, 32
TOY = {
    "frames": FRAMES,
    "height": HEIGHT,
    "width": WIDTH,
    "latent_channels": 16,
    "layers": 2,
    "heads": 2,
    "head_dim": 16,
    "ffn": 64,
    "robot_patch": 2,
    "robot_width": 16,
    "text_dim": 16,
    "frequencies": 32,
    "actions": 3,
}


def make_clips(seeds: list[int], *, truth: bool = True) -> VideoBatch:
    """Clips in which the bar moves right from column 2, and a block from column 12 before it."""
    rows, columns = np.mgrid[:HEIGHT, :WIDTH].astype(np.float32)
    table = np.stack([columns / WIDTH - 0.5, rows / HEIGHT - 0.5, 1.5 - rows / HEIGHT], -1)
    shape = (len(seeds), FRAMES, HEIGHT, WIDTH)
    rgb, xyz = np.full((*shape, 3), 128, np.uint8), np.broadcast_to(table, (*shape, 3)).copy()
    robot_rgb, robot_xyz = np.zeros_like(rgb), np.full_like(xyz, np.nan)
    mask, loss_weight = np.zeros(shape, np.uint8), np.ones(shape, np.float32)
    actions = np.zeros((len(seeds), FRAMES, 3), np.float32)
    for b, seed in enumerate(seeds):
        speed = 1 + seed % 3
        for t in range(FRAMES):
            bar, block = 2 + speed * t, max(12, 5 + speed * t)
            for left, right, colour, is_robot in (
                (block, block + 4, (200, 40, 40), False),
                (bar, bar + 3, (30, 30, 200), True),
            ):
                where = np.s_[b, t, 4:12, left:right]
                rgb[where] = colour
                xyz[where][..., 2] -= 0.1
                if is_robot:
                    robot_rgb[where], robot_xyz[where], mask[where] = colour, xyz[where], 1
                elif block > 12:
                    loss_weight[where] = 5
            actions[b, t] = bar / WIDTH, 0, speed
    return VideoBatch(
        first_rgb=rgb[:, 0],
        first_xyz=xyz[:, 0],
        robot_rgb=robot_rgb,
        robot_xyz=robot_xyz,
        robot_mask=mask,
        rgb=rgb if truth else None,
        xyz=xyz if truth else None,
        loss_weight=loss_weight if truth else None,
        actions=actions,
        words=hash_words([f"push at speed {seed % 3}" for seed in seeds]),
    )


@pytest.fixture
def clips() -> Callable[..., VideoBatch]:
    return make_clips


@pytest.fixture
def toy() -> Callable[..., DiffusionConfig]:
    return lambda **changes: DiffusionConfig(**{**TOY, **changes})


@pytest.fixture(scope="session")
def pca() -> PcaCodec:
    """Fitted to toy clips."""
    return fit_pca(codec_videos(make_clips([0, 1, 2])), 16)
