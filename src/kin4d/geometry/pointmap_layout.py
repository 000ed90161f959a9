"""Pointmap videos beside each other in one world."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kin4d.geometry.pointmap import PointmapVideo


def beside_each_other(videos: Mapping[str, PointmapVideo]) -> tuple[list[np.ndarray], np.ndarray]:
    """Shifts [3] (m) that put videos beside each other along the first camera's right, and the
    box [2, 3] of all of them."""
    boxes = np.array([_bounds(video) for video in videos.values()])
    box = np.stack([boxes[:, 0].min(0), boxes[:, 1].max(0)])
    right = np.array(next(iter(videos.values())).camera.pose[:3, 0], np.float64)
    right[2] = 0.0
    right = right / np.linalg.norm(right) if np.linalg.norm(right) > 1e-6 else np.eye(3)[0]
    apart = float(np.abs(right) @ np.ptp(box, axis=0)) * right
    shifts = [number * apart for number in range(len(videos))]
    ends = np.concatenate([box, box + shifts[-1]])
    return shifts, np.stack([ends.min(0), ends.max(0)])


def world_points(video: PointmapVideo, frame: int) -> np.ndarray:
    """[H, W, 3] float32: what a frame sees, in the world (m)."""
    pose = video.camera.pose
    return (video.xyz[frame] @ pose[:3, :3].T + pose[:3, 3]).astype(np.float32)


def pixel_spacing(video: PointmapVideo) -> float:
    """Metres between the points of neighbouring pixels, in the middle of what is seen."""
    depth = video.xyz[0, ..., 2]
    seen = depth[np.isfinite(depth)]
    return float(np.median(seen)) / float(video.camera.K[0, 0]) if len(seen) else 0.01


def _bounds(video: PointmapVideo) -> np.ndarray:
    """[2, 3] box of most of the points: a few that are far away do not count."""
    points = world_points(video, 0).reshape(-1, 3)
    points = points[np.isfinite(points).all(1)]
    if not len(points):
        return np.array([[-0.5, -0.5, 0.0], [0.5, 0.5, 1.0]])
    return np.quantile(points.astype(np.float64), [0.02, 0.98], axis=0)
