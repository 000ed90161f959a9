"""Contact sheets: several objects of a category at rest and at both ends of their range."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kin4d.data.articulated.assembly import ArticulatedObject
from kin4d.data.articulated.categories import make_object

if TYPE_CHECKING:
    from PIL.Image import Image

ROWS = ("rest", "lower end", "upper end")
_VIEW = (0.8, -1.5, 0.75)
_TIGHTER = 0.82


def contact_sheet(
    category: str, *, seeds: tuple[int, ...] = (0, 1, 2, 3, 4, 5), tile: int = 200
) -> Image:
    """A picture with one column per seed and one row per state, see `ROWS`.

    Args:
        category: Which kind of object.
        seeds: One object each.
        tile: Width and height of each view, pixels.
    """
    from PIL import Image as image

    sheet = image.new("RGB", (tile * len(seeds), tile * len(ROWS)))
    for column, seed in enumerate(seeds):
        for row, picture in enumerate(views(make_object(category, seed), tile)):
            sheet.paste(image.fromarray(picture), (column * tile, row * tile))
    return sheet


def views(obj: ArticulatedObject, tile: int) -> np.ndarray:
    """[3, tile, tile, 3] uint8: the object in the states of `ROWS`.

    All three share one camera, so that motion can be compared, unless a state would be small in it.
    """
    from kin4d.bodies.body import play
    from kin4d.geometry.camera import Camera
    from kin4d.render.pointmaps import render_clip

    states = np.stack([obj.q0, obj.limits[:, 0], obj.limits[:, 1]])
    clip = play(obj.body(), states)
    common = clip.bounds
    out = np.empty((len(states), tile, tile, 3), np.uint8)
    for i in range(len(states)):
        own = np.stack([clip.vertices[i].min(0), clip.vertices[i].max(0)]).astype(np.float64)
        small = np.linalg.norm(own[1] - own[0]) < 0.4 * np.linalg.norm(common[1] - common[0])
        bounds = own if small else common
        # The camera frames the box's circumscribed sphere; objects are well inside of that.
        bounds = bounds.mean(0) + _TIGHTER * (bounds - bounds.mean(0))
        camera = Camera.framing(bounds, direction=_VIEW, width=tile, height=tile, fov=28.0)
        still = play(obj.body(), states[i : i + 1])
        out[i] = render_clip(still, camera, threads=1).rgb[0]
    return out
