"""Squares: what the first frame shows of a part, cut into small squares in space."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import distance_transform_edt, gaussian_filter

from kin4d.world.observation import Observation

FINER = 2
"""Squares along each side of a pixel."""
_ROUND = 0.6  # pixels over which outlines are evened
_BENT = 0.02  # m between neighbours that still are one surface


def surface_normals(xyz: np.ndarray, cut: np.ndarray) -> np.ndarray:
    """[H, W, 3] unit normals of a part's surface, towards the camera; where it is not, zero.

    Of the two neighbours along each side, the one that is nearer in space counts.

    Args:
        xyz: [H, W, 3] m, camera frame.
        cut: [H, W] bool: where the part is.
    """
    points = np.where(cut[..., None], xyz, np.nan).astype(np.float64)
    slopes = []
    for axis in (0, 1):
        step = np.diff(points, axis=axis)
        gap = np.full_like(np.take(points, [0], axis), np.nan)
        before, after = np.concatenate([gap, step], axis), np.concatenate([step, gap], axis)
        far = [np.nan_to_num(np.linalg.norm(one, axis=-1), nan=np.inf) for one in (before, after)]
        nearer = np.where((far[0] <= far[1])[..., None], before, after)
        slopes.append(np.where((np.minimum(*far) < _BENT)[..., None], nearer, np.nan))
    normal = np.cross(slopes[0], slopes[1])
    size = np.linalg.norm(normal, axis=-1, keepdims=True)
    facing = -points / np.linalg.norm(points, axis=-1, keepdims=True)
    normal = np.where(size > 1e-12, normal / size, facing)
    normal *= np.where((normal * points).sum(-1, keepdims=True) > 0, -1.0, 1.0)
    return np.nan_to_num(normal)


def pixel_quads(
    cut: np.ndarray, normals: np.ndarray, situation: Observation
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Vertices [V, 3] m, faces [F, 3], and the pixel [F] each is from: finer, with an even outline.

    Corners lie where the planes of the pixels around them are, on average.
    """
    camera = situation.camera.resized(
        FINER * situation.camera.width, FINER * situation.camera.height
    )
    fine = cut.repeat(FINER, 0).repeat(FINER, 1)
    even = gaussian_filter(fine.astype(np.float32), _ROUND * FINER) > 0.5
    even = even if even.any() else fine
    row, column = np.asarray(
        distance_transform_edt(~cut, return_distances=False, return_indices=True)
    )
    pixel = np.ravel_multi_index((row, column), cut.shape).repeat(FINER, 0).repeat(FINER, 1)
    plane = (normals * situation.xyz).sum(-1).ravel()
    rays = camera.rays()
    slant = (normals.reshape(-1, 3)[pixel] * rays).sum(-1)
    flat = situation.xyz[..., 2].ravel()[pixel]
    depth = np.where(slant < -0.05, plane[pixel] / np.minimum(slant, -0.05), flat)
    depth = np.clip(depth, flat - _BENT / 2, flat + _BENT / 2)
    around, total = np.zeros(np.add(even.shape, 1)), np.zeros(np.add(even.shape, 1))
    for y in (0, 1):
        for x in (0, 1):
            view = np.s_[y : y + even.shape[0], x : x + even.shape[1]]
            around[view] += even
            total[view] += np.where(even, depth, 0.0)
    used = around > 0
    index = np.full(used.shape, -1)
    index[used] = np.arange(used.sum())
    v, u = np.nonzero(used)
    corner = np.stack([u - 0.5, v - 0.5, np.ones(len(u))], -1) @ np.linalg.inv(camera.K).T
    vertices = corner * (total[used] / around[used])[:, None]
    a, b = index[:-1, :-1][even], index[:-1, 1:][even]
    c, d = index[1:, :-1][even], index[1:, 1:][even]
    faces = np.stack([np.stack([a, b, d], -1), np.stack([a, d, c], -1)], 1).reshape(-1, 3)
    return vertices, faces, pixel[even].repeat(2)


def clean_colours(linear: np.ndarray, cut: np.ndarray) -> np.ndarray:
    """[H, W, 3]: a picture in which a part's edges, mixed with what is beyond, are like its middle.

    Args:
        linear: [H, W, 3] colours.
        cut: [H, W] bool: where the part is.
    """
    wide = np.pad(cut, 1)
    inner = cut & wide[:-2, 1:-1] & wide[2:, 1:-1] & wide[1:-1, :-2] & wide[1:-1, 2:]
    total, count = np.zeros_like(linear), np.zeros(cut.shape)
    height, width = cut.shape
    told = np.pad(np.where(inner[..., None], linear, 0.0), ((1, 1), (1, 1), (0, 0)))
    known = np.pad(inner, 1)
    for y in range(3):
        for x in range(3):
            view = np.s_[y : y + height, x : x + width]
            total, count = total + told[view], count + known[view]
    mean = total / np.maximum(count, 1)[..., None]
    return np.where((cut & ~inner & (count > 0))[..., None], mean, linear)


def dilate(mask: np.ndarray) -> np.ndarray:
    """A mask [H, W] and all pixels beside it."""
    wide = np.pad(mask, 1)
    rows = wide[:-2] | wide[1:-1] | wide[2:]
    return rows[:, :-2] | rows[:, 1:-1] | rows[:, 2:]
