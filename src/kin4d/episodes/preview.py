"""Contact sheets of episodes for human eyes, and figures of a store of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from kin4d.episodes.episode import Episode
from kin4d.episodes.splits import episode_split
from kin4d.episodes.store import EpisodeStore

_TINTS = np.array(
    [(0, 0, 0), (255, 90, 60), (70, 160, 255), (90, 210, 110), (250, 200, 60), (190, 120, 240)]
)
_SUCCESS = {True: (60, 190, 90), False: (220, 60, 60), None: (150, 150, 150)}
_BAR = 3  # px on the left edge: green for success, red for failure, grey if unknown


def episode_preview(episodes: Sequence[Episode], *, shown: int = 4, tile: int = 160) -> np.ndarray:
    """[n h, (shown + 2) tile, 3] uint8: a row per episode.

    Colour in `shown` frames from first to last, then the last frame's bodies tinted, and its depth
    from near (bright) to far (dark); where there is none, stripes.

    Args:
        episodes: n of them.
        shown: How many frames.
        tile: Width of each image, pixels.
    """
    return np.concatenate([_row(episode, shown, tile) for episode in episodes])


def _row(episode: Episode, shown: int, tile: int) -> np.ndarray:
    from PIL import Image

    video, camera = episode.video, episode.video.camera
    index = np.linspace(0, len(video) - 1, shown).round().astype(int)
    tint = _TINTS[np.where(video.mask[-1] == 0, 0, 1 + (video.mask[-1] - 1) % (len(_TINTS) - 1))]
    mixed = np.where((video.mask[-1] > 0)[..., None], 0.4 * video.rgb[-1] + 0.6 * tint, 0)
    bodies = np.where((video.mask[-1] > 0)[..., None], mixed, 0.5 * video.rgb[-1])
    row = np.concatenate([*video.rgb[index], bodies.astype(np.uint8), _depth(video.xyz)], axis=1)
    height = round(tile * camera.height / camera.width)
    image = Image.fromarray(row).resize(((shown + 2) * tile, height), Image.Resampling.BOX)
    row = np.array(image)
    row[:, :_BAR] = _SUCCESS[episode.success]
    return row


def _depth(xyz: np.ndarray) -> np.ndarray:
    """[H, W, 3] uint8: the last frame's depth, on the scale of the whole clip."""
    z = xyz[..., 2]
    seen = np.isfinite(z)
    low, high = np.percentile(z[seen], [1, 99]) if seen.any() else (0.0, 1.0)
    grey = 230 - 200 * ((z[-1] - low) / max(high - low, 1e-9)).clip(0, 1)
    stripes = np.where(np.indices(grey.shape).sum(0) // 2 % 2, 60, 90)
    return (
        np.where(seen[-1], np.nan_to_num(grey), stripes)[..., None].repeat(3, -1).astype(np.uint8)
    )


def episode_statistics(store: EpisodeStore) -> dict[str, Any]:
    """Counts of a store: episodes and frames, by task, robot, split and more; rejects by reason."""
    lines = store.lines
    return {
        "episodes": len(store),
        "dropped": len(store.dropped),
        "shards": len(store.shards),
        "frames": sum(line["frames"] for line in lines),
        "bytes": store.size,
        "reasons": dict(store.reasons),
        "sources": dict(Counter(line["source"] for line in lines)),
        "tasks": dict(Counter(line["task"] or "unknown" for line in lines)),
        "robots": dict(Counter(line["robot"] for line in lines)),
        "success": dict(Counter(str(line["success"]) for line in lines)),
        "flags": dict(Counter(flag for line in lines for flag in line["flags"])),
        "splits": dict(Counter(episode_split(line) for line in lines)),
        "licences": dict(Counter(line["licence"] for line in lines)),
    }
