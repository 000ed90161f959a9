"""Turn the visible pixels of a part into small quads in 3D; normals and edge colours."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import distance_transform_edt, gaussian_filter

from kin4d.geometry.camera import Camera
from kin4d.world.observation import Observation

_SMALL_IMAGE = 160  # rows up to which a pixel is coarse enough to be divided
_EDGE_ROWS = 100  # rows of an image for each pixel of an edge
_OUTLINE_BLUR = 0.6  # pixels: smoothing of outlines
_MAX_STEP = 0.02  # m between adjacent pixels of one surface


def quads_per_pixel(camera: Camera) -> int:
    """Quads along each side of a pixel: two in small images, one in large ones."""
    return 2 if camera.height <= _SMALL_IMAGE else 1


def surface_normals(xyz: np.ndarray, part_mask: np.ndarray) -> np.ndarray:
    """[H, W, 3] unit normals of a part's surface, towards the camera; zero elsewhere.

    Of the two neighbours along each axis, the one nearer in space is used.

    Args:
        xyz: [H, W, 3] m, camera frame.
        part_mask: [H, W] bool: mask of the part.
    """
    points = np.where(part_mask[..., None], xyz, np.nan).astype(np.float64)
    slopes = []
    for axis in (0, 1):
        step = np.diff(points, axis=axis)
        gap = np.full_like(np.take(points, [0], axis), np.nan)
        before, after = np.concatenate([gap, step], axis), np.concatenate([step, gap], axis)
        distance = [
            np.nan_to_num(np.linalg.norm(step, axis=-1), nan=np.inf) for step in (before, after)
        ]
        nearer = np.where((distance[0] <= distance[1])[..., None], before, after)
        slopes.append(np.where((np.minimum(*distance) < _MAX_STEP)[..., None], nearer, np.nan))
    normal = np.cross(slopes[0], slopes[1])
    size = np.linalg.norm(normal, axis=-1, keepdims=True)
    facing = -points / np.linalg.norm(points, axis=-1, keepdims=True)
    normal = np.where(size > 1e-12, normal / size, facing)
    normal *= np.where((normal * points).sum(-1, keepdims=True) > 0, -1.0, 1.0)
    return np.nan_to_num(normal)


def pixel_quads(
    part_mask: np.ndarray, normals: np.ndarray, observation: Observation
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Vertices [V, 3] m, faces [F, 3], and the source pixel [F] of each, with a smooth outline.

    Corners lie at the mean depth of the tangent planes of the pixels around them.
    """
    camera, each = observation.camera, quads_per_pixel(observation.camera)
    camera = camera.resized(each * camera.width, each * camera.height)
    fine = part_mask.repeat(each, 0).repeat(each, 1)
    smooth = gaussian_filter(fine.astype(np.float32), _OUTLINE_BLUR * each) > 0.5
    smooth = smooth if smooth.any() else fine
    row, column = np.asarray(
        distance_transform_edt(~part_mask, return_distances=False, return_indices=True)
    )
    pixel = np.ravel_multi_index((row, column), part_mask.shape).repeat(each, 0).repeat(each, 1)
    plane = (normals * observation.xyz).sum(-1).ravel()
    rays = camera.rays()
    cosine = (normals.reshape(-1, 3)[pixel] * rays).sum(-1)
    pixel_depth = observation.xyz[..., 2].ravel()[pixel]
    depth = np.where(cosine < -0.05, plane[pixel] / np.minimum(cosine, -0.05), pixel_depth)
    depth = np.clip(depth, pixel_depth - _MAX_STEP / 2, pixel_depth + _MAX_STEP / 2)
    count, total = np.zeros(np.add(smooth.shape, 1)), np.zeros(np.add(smooth.shape, 1))
    for y in (0, 1):
        for x in (0, 1):
            view = np.s_[y : y + smooth.shape[0], x : x + smooth.shape[1]]
            count[view] += smooth
            total[view] += np.where(smooth, depth, 0.0)
    used = count > 0
    index = np.full(used.shape, -1)
    index[used] = np.arange(used.sum())
    v, u = np.nonzero(used)
    corner = np.stack([u - 0.5, v - 0.5, np.ones(len(u))], -1) @ np.linalg.inv(camera.K).T
    vertices = corner * (total[used] / count[used])[:, None]
    a, b = index[:-1, :-1][smooth], index[:-1, 1:][smooth]
    c, d = index[1:, :-1][smooth], index[1:, 1:][smooth]
    faces = np.stack([np.stack([a, b, d], -1), np.stack([a, d, c], -1)], 1).reshape(-1, 3)
    return vertices, faces, pixel[smooth].repeat(2)


def clean_colours(linear: np.ndarray, part_mask: np.ndarray) -> np.ndarray:
    """[H, W, 3]: an image in which a part's edge pixels take the colour of its inner pixels.

    Args:
        linear: [H, W, 3] colours.
        part_mask: [H, W] bool: mask of the part.
    """
    wide = np.pad(part_mask, 1)
    inner = part_mask & wide[:-2, 1:-1] & wide[2:, 1:-1] & wide[1:-1, :-2] & wide[1:-1, 2:]
    total, count = np.zeros_like(linear), np.zeros(part_mask.shape)
    height, width = part_mask.shape
    inner_colours = np.pad(np.where(inner[..., None], linear, 0.0), ((1, 1), (1, 1), (0, 0)))
    known = np.pad(inner, 1)
    for y in range(3):
        for x in range(3):
            view = np.s_[y : y + height, x : x + width]
            total, count = total + inner_colours[view], count + known[view]
    mean = total / np.maximum(count, 1)[..., None]
    return np.where((part_mask & ~inner & (count > 0))[..., None], mean, linear)


def edge_width(camera: Camera) -> int:
    """Pixels along an outline that may show both sides: one in small images, more in large ones.

    Masks come from a small image, and large ones are often softer than their pixels.
    """
    return max(1, round(camera.height / _EDGE_ROWS))


def dilate(mask: np.ndarray, pixels: int = 1) -> np.ndarray:
    """A mask [H, W] grown by some pixels."""
    for _ in range(pixels):
        wide = np.pad(mask, 1)
        rows = wide[:-2] | wide[1:-1] | wide[2:]
        mask = rows[:, :-2] | rows[:, 1:-1] | rows[:, 2:]
    return mask
