"""Contact sheets: several objects of a category at rest and at both ends of their range."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from kin4d.objects.procedural.assembly import ArticulatedObject
from kin4d.objects.procedural.categories import make_object

if TYPE_CHECKING:
    from PIL.Image import Image

    from kin4d.geometry.camera import Camera

ROWS = ("rest", "lower end", "upper end")
_VIEW = (0.8, -1.5, 0.75)


def procedural_preview(
    category: str, *, seeds: tuple[int, ...] = (0, 1, 2, 3, 4, 5), tile: int = 200
) -> Image:
    """An image with one column per seed and one row per state, see `ROWS`.

    Args:
        category: Which kind of object.
        seeds: One object each.
        tile: Width and height of each view, pixels.
    """
    return preview_objects([make_object(category, seed) for seed in seeds], tile=tile)


def preview_objects(objects: Sequence[ArticulatedObject], *, tile: int = 200) -> Image:
    """The same for any objects: one column each."""
    from PIL import Image as image

    sheet = image.new("RGB", (tile * len(objects), tile * len(ROWS)))
    for column, obj in enumerate(objects):
        for row, view in enumerate(procedural_views(obj, tile)):
            sheet.paste(image.fromarray(view), (column * tile, row * tile))
    return sheet


def procedural_views(obj: ArticulatedObject, tile: int) -> np.ndarray:
    """[3, tile, tile, 3] uint8: the object in the states of `ROWS`.

    All three share one camera, so that motion can be compared, unless a state would be small in it.
    """
    from kin4d.bodies.body import bake
    from kin4d.render.pointmaps import render_clip

    states = np.stack([obj.q0, obj.limits[:, 0], obj.limits[:, 1]])
    body = obj.body()
    seen = obj.vertices(states)
    common = _camera(seen.reshape(-1, 3), tile)
    out = np.empty((len(states), tile, tile, 3), np.uint8)
    for i, vertices in enumerate(seen):
        across = np.ptp(common.project(vertices)[0], axis=0).max()
        camera = common if across > 0.35 * tile else _camera(vertices, tile)
        still = bake(body, states[i : i + 1])
        out[i] = render_clip(still, camera, threads=1).rgb[0]
    return out


def _camera(points: np.ndarray, tile: int) -> Camera:
    """A camera whose square image is just filled by `points` [N, 3]."""
    from kin4d.geometry.camera import Camera

    bounds = np.stack([points.min(0), points.max(0)])
    wide = Camera.framing(bounds, direction=_VIEW, width=tile, height=tile, fov=28.0)
    pixels = wide.project(points)[0]
    low, high = pixels.min(0), pixels.max(0)
    zoom = 0.88 * tile / (high - low).max()
    K = wide.K.copy()
    K[:2] *= zoom
    K[:2, 2] += (tile - 1) / 2 - zoom * (low + high) / 2
    return Camera(K, wide.pose, tile, tile)
