"""GIFs of truth, imagined colours and imagined geometry side by side."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from kin4d.benchmarks.world.baselines import ImagineFn
from kin4d.benchmarks.world.metrics import WorldMetrics
from kin4d.export.video import write_video
from kin4d.geometry.pointmap import PointmapVideo

_GAP = 2  # px between images


def write_gifs(
    folder: Path, all_metrics: Mapping[int, WorldMetrics], imagine: ImagineFn, *, scale: int = 2
) -> list[Path]:
    """Write ``world_N.gif``, truth | imagined | XYZ, every second frame, for each episode number N.

    Args:
        folder: Where to.
        all_metrics: By the number of their episode, chosen before anything was imagined.
        imagine: Asked for the second and third image.
        scale: How many times larger than the clips.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for number, metrics in all_metrics.items():
        frames = side_by_side_images(metrics.episode.video, imagine(metrics.observation))
        large = frames[::2].repeat(scale, 1).repeat(scale, 2)
        file = folder / f"world_{number}.gif"
        files.append(write_video(large, file, fps=metrics.episode.fps / 2))
    return files


def side_by_side_images(truth: PointmapVideo, predicted: PointmapVideo) -> np.ndarray:
    """[T, H, 3 W + gaps, 3] uint8: truth | imagined | imagined XYZ."""
    gap = np.full((len(truth), truth.camera.height, _GAP, 3), 255, np.uint8)
    shown = point_colours(predicted.xyz, truth.xyz[0])
    return np.concatenate([truth.rgb, gap, predicted.rgb, gap, shown], axis=2)


def point_colours(xyz: np.ndarray, first: np.ndarray) -> np.ndarray:
    """[T, H, W, 3] uint8: x, y and z as red, green and blue; black where nothing is known.

    Args:
        xyz: [T, H, W, 3] m.
        first: [H, W, 3] m: the frame whose near and far end, 2 % off, span the colours.
    """
    low, high = np.nanpercentile(first.reshape(-1, 3), (2, 98), axis=0)
    share = np.clip((xyz - low) / np.maximum(high - low, 1e-6), 0, 1)
    return np.nan_to_num(share * 255).astype(np.uint8)
