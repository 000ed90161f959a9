"""HTML: pointmap videos side by side, as coloured points on one page that plays by itself."""

from __future__ import annotations

import html
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from kin4d.errors import InputError
from kin4d.export.html import fill_page, pack_arrays
from kin4d.files import write_bytes
from kin4d.geometry.pointmap import PointmapVideo
from kin4d.geometry.pointmap_layout import beside_each_other, pixel_spacing, world_points

_UNSEEN = 65535
_STEPS = 65534  # of a position along an axis of the box of all points
_MOST_POINTS = 12_000  # of one video in one frame


def pointmap_html(videos: Mapping[str, PointmapVideo], *, title: str | None = None) -> str:
    """A page that plays pointmap videos beside each other.

    Of large images every second pixel is shown, or every third, ... Positions are rounded to a
    65,534th of the box of all points.

    Args:
        videos: By name, in one world; of those that are shorter the last frame stays.
        title: Shown in the page; the names if not given.
    """
    if not videos:
        raise InputError("a page needs at least one pointmap video", value=0, allowed=">= 1")
    first = next(iter(videos.values()))
    shifts, box = beside_each_other(videos)
    frames = max(len(video) for video in videos.values())
    points, colors = [], []
    for video, shift in zip(videos.values(), shifts, strict=True):
        stride = _stride(video)
        rows = [min(frame, len(video) - 1) for frame in range(frames)]
        world = np.stack([world_points(video, row)[::stride, ::stride] for row in rows])
        points.append(world.reshape(frames, -1, 3) + shift)
        colors.append(video.rgb[rows][:, ::stride, ::stride].reshape(frames, -1, 3))
    every, color = np.concatenate(points, 1), np.concatenate(colors, 1)
    seen = np.asarray(np.isfinite(every).all(-1))
    if not seen.any():
        raise InputError("the pointmap videos see nothing", hint="check their camera")
    low, high = every[seen].min(0), every[seen].max(0)
    size = np.maximum(high - low, 1e-9)
    levels = np.where(seen[..., None], np.rint((every - low) / size * _STEPS), _UNSEEN)
    # As the camera looked, from somewhat higher: seen from their own camera, points are an image.
    away = np.array([0.0, 0.0, 0.25]) - first.camera.pose[:3, 2]
    distance = float(np.linalg.norm(first.camera.pose[:3, 3] + 0.5 * shifts[-1] - box.mean(0)))
    width = float(np.linalg.norm(shifts[-1]) * len(shifts) / max(len(shifts) - 1, 1))
    return fill_page(
        "clip.html",
        {
            "title": html.escape(" · ".join(videos) if title is None else title),
            **pack_arrays(
                {
                    "frames": frames,
                    "fps": first.fps,
                    "points": every.shape[1],
                    "spacing": max(_stride(v) * pixel_spacing(v) for v in videos.values()),
                    "low": box[0].tolist(),
                    "high": box[1].tolist(),
                    "restLow": low.tolist(),
                    "restHigh": (low + size).tolist(),
                    "away": max(0.6 * width, 1.2 * distance),
                    "turn": float(np.arctan2(away[1], away[0])),
                    "tilt": float(np.arctan2(away[2], np.linalg.norm(away[:2]))),
                },
                {
                    "dots": _changes(levels.astype(np.uint16)),
                    "dotColors": _changes(color),
                },
            ),
        },
    )


def write_pointmap_html(
    videos: Mapping[str, PointmapVideo], path: str | Path, *, title: str | None = None
) -> Path:
    """Write `pointmap_html` to a file."""
    return write_bytes(Path(path), pointmap_html(videos, title=title).encode())


def _changes(levels: np.ndarray) -> np.ndarray:
    """[T, N, 3] as differences from the frame before, which wrap around."""
    out = levels.copy()
    out[1:] -= levels[:-1]
    return out


def _stride(video: PointmapVideo) -> int:
    pixels = video.camera.width * video.camera.height
    return max(1, int(np.ceil(np.sqrt(pixels / _MOST_POINTS))))
