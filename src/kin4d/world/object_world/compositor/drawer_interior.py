"""Trays: what comes out behind the front of a drawer. Nobody saw it before."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kin4d.world.object_world.upright_box import UprightBox
from kin4d.world.observation import Observation

_DEEP = 0.85  # of what holds it
_WITHIN = 0.94  # of the front's width
_TALL = 0.75  # of the front's height
_HANDLES = (8, 92)  # per cent of the front's points that are not handles
_NEAR = 0.25  # of the holder's depth: a front is no farther from its side
# Floor, back and two sides, as corners (along, across, up) of a unit box whose front is at 0.
_SIDES = (
    ((0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)),
    ((1, 0, 0), (1, 1, 0), (1, 1, 1), (1, 0, 1)),
    ((0, 0, 0), (1, 0, 0), (1, 0, 1), (0, 0, 1)),
    ((0, 1, 0), (1, 1, 0), (1, 1, 1), (0, 1, 1)),
)


@dataclass(frozen=True, eq=False)
class DrawerInterior:
    """An open box of triangles, camera frame.

    Attributes:
        vertices: [16, 3] m.
        faces: [8, 3].
        normals: [8, 3] unit vectors.
    """

    vertices: np.ndarray
    faces: np.ndarray
    normals: np.ndarray


def drawer_interior_behind(
    cut: np.ndarray, host: np.ndarray, situation: Observation
) -> DrawerInterior | None:
    """The tray behind a front, within what holds it; None if the part is no upright front.

    Args:
        cut: [H, W] bool: where the first frame shows the part.
        host: The same of what holds it.
        situation: The first frame.
    """
    front, holder = (
        situation.to_base(situation.xyz[mask].astype(np.float64)) for mask in (cut, host)
    )
    box = UprightBox.of(holder)
    along = front @ box.axes.T
    low, high = np.percentile(along, _HANDLES, axis=0)
    size = np.maximum(box.high - box.low, 1e-9)
    middle = np.median(along, axis=0)
    outside = np.abs(np.stack([middle - box.low, middle - box.high]) / size)
    side, axis = np.unravel_index(outside[:, :2].argmin(), (2, 2))
    if outside[side, axis] > _NEAR or outside[:, 2].min() < outside[side, axis]:
        return None
    across = 1 - axis
    start, way = middle[axis], _DEEP * size[axis] * (1 if side == 0 else -1)
    rim = 0.5 * (1 - _WITHIN) * (high[across] - low[across])
    corners = np.array(_SIDES, np.float64).reshape(-1, 3)
    placed = np.empty_like(corners)
    placed[:, axis] = start + way * corners[:, 0]
    placed[:, across] = low[across] + rim + _WITHIN * (high - low)[across] * corners[:, 1]
    placed[:, 2] = low[2] + _TALL * (high - low)[2] * corners[:, 2]
    vertices = placed @ box.axes @ situation.base[:3, :3].T + situation.base[:3, 3]
    first = 4 * np.arange(len(_SIDES))[:, None]
    faces = np.concatenate([first + np.array(half) for half in ((0, 1, 2), (0, 2, 3))])
    a, b, c = vertices[faces].transpose(1, 0, 2)
    normals = np.cross(b - a, c - a)
    length = np.linalg.norm(normals, axis=-1, keepdims=True)
    if length.min() < 1e-9:
        return None
    return DrawerInterior(vertices, faces, normals / length)
