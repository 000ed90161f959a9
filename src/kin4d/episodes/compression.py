"""Codec: frames as few bytes, read back quickly, with nothing lost but what is stated.

Frames are stored as their change from the frame before, byte by byte, deflated: a background that
stands still is stored once. XYZ is 16-bit fixed point between the nearest and farthest point of
the clip. Where every point lies on the ray of its pixel, as it does in all that a pinhole camera
sees, depth alone is stored and XYZ follows exactly; its error is at most half a step of
(far - near) / 65534, sixty times less than that of float16 and half the size of float32.
"""

from __future__ import annotations

import math
import zlib
from typing import Any

import numpy as np

from kin4d.errors import InputError
from kin4d.geometry.camera import Camera
from kin4d.reading import Budget, reading

_LEVELS = 65534  # 0 is kept for "nothing seen"
# How far from its pixel's ray a point may lie, per metre of depth: about a hundredth of a pixel.
_ON_RAY = 1e-5


def encode_frames(frames: np.ndarray) -> np.ndarray:
    """[n] uint8: `frames` [T, ...] of any unsigned type, without loss."""
    frames = np.ascontiguousarray(frames, frames.dtype.newbyteorder("<"))
    change = frames.copy()
    change[1:] -= frames[:-1]  # wraps around, and so does the sum that undoes it
    planes = change.reshape(-1).view(np.uint8).reshape(-1, frames.dtype.itemsize).T
    return np.frombuffer(zlib.compress(planes.tobytes(), 6), np.uint8)


def decode_frames(code: np.ndarray, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Frames [T, ...] that `encode_frames` encoded."""
    kind = np.dtype(dtype).newbyteorder("<")
    size = kind.itemsize * math.prod(shape)
    with reading("an array", "row of frames"):
        Budget("an array", size=len(code)).spend(3 * size, f"frames of shape {shape}")
        # No more than is wanted, whatever the bytes would expand to.
        data = zlib.decompressobj().decompress(code.tobytes(), max(size, 1) + 1)
    if len(data) != size:
        raise InputError("stored frames have another size", value=len(data), allowed=f"{shape}")
    planes = np.frombuffer(data, np.uint8).reshape(kind.itemsize, -1)
    frames = np.array(planes.T, order="C").view(kind).reshape(shape)
    for frame in range(1, len(frames)):  # seven times as fast as numpy's accumulate
        frames[frame] += frames[frame - 1]
    return frames.astype(dtype, copy=False)


def encode_points(xyz: np.ndarray, camera: Camera) -> tuple[np.ndarray, dict[str, Any]]:
    """Levels of `xyz` [T, H, W, 3] m as uint16, and what turns them back into metres.

    Levels are [T, H, W] of depth, or [T, H, W, 3] if some points are not on their pixel's ray.
    """
    seen = np.isfinite(xyz).all(-1)
    depth = xyz[..., 2]
    off = np.abs(xyz - depth[..., None] * camera.rays().astype(np.float32))[seen]
    on_rays = bool((off <= _ON_RAY * depth[seen][:, None]).all())
    values = depth[..., None] if on_rays else xyz
    points = values[seen].astype(np.float64)
    low = points.min(0) if len(points) else np.zeros(values.shape[-1])
    step = float(max((points - low).max(initial=0.0) / _LEVELS, 1e-12))
    levels = np.zeros(values.shape, np.uint16)
    levels[seen] = np.rint((points - low) / step) + 1
    scale = {"form": "depth" if on_rays else "xyz", "low": low.tolist(), "step": step}
    return (levels[..., 0] if on_rays else levels), scale


def decode_points(levels: np.ndarray, scale: dict[str, Any], camera: Camera) -> np.ndarray:
    """XYZ [T, H, W, 3] float32 m that `encode_points` encoded; NaN where nothing was seen."""
    metres = levels.astype(np.float32)
    metres -= 1
    metres *= np.float32(scale["step"])
    metres += np.array(scale["low"], np.float32)
    if scale["form"] == "depth":
        metres[levels == 0] = np.nan
        return metres[..., None] * camera.rays().astype(np.float32)
    metres[levels[..., 0] == 0] = np.nan
    return metres
