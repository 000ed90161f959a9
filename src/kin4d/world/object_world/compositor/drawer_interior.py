"""DrawerInterior: guesses the open box behind a drawer front, which was never observed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kin4d.world.object_world.upright_box import UprightBox
from kin4d.world.observation import Observation

# Floor, back and two sides, as corners (along, across, up) of a unit box whose front is at 0.
_SIDES = (
    ((0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)),
    ((1, 0, 0), (1, 1, 0), (1, 1, 1), (1, 0, 1)),
    ((0, 0, 0), (1, 0, 0), (1, 0, 1), (0, 0, 1)),
    ((0, 1, 0), (1, 1, 0), (1, 1, 1), (0, 1, 1)),
)


@dataclass(frozen=True, kw_only=True)
class DrawerConfig:
    """Assumed proportions of a drawer, by which its unobserved box is drawn.

    Attributes:
        depth: Of the cabinet's depth.
        width: Of the front's width.
        height: Of the front's height.
        percentiles: Of the front's points that bound it: handles stand out.
        max_offset: Distance between the front and a side of the cabinet, in cabinet depths, above
            which a part is not a drawer front.
    """

    depth: float = 0.85
    width: float = 0.94
    height: float = 0.75
    percentiles: tuple[float, float] = (8, 92)
    max_offset: float = 0.25


DRAWER = DrawerConfig()


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
    part_mask: np.ndarray,
    parent: np.ndarray,
    observation: Observation,
    config: DrawerConfig = DRAWER,
) -> DrawerInterior | None:
    """The interior behind a drawer front, within its cabinet; None if it is not vertical.

    Args:
        part_mask: [H, W] bool: mask of the front in the first frame.
        parent: Mask of the cabinet.
        observation: The first frame.
        config: Assumed proportions.
    """
    front, cabinet = (
        observation.to_support(observation.xyz[mask].astype(np.float64))
        for mask in (part_mask, parent)
    )
    box = UprightBox.of(cabinet)
    along = front @ box.axes.T
    low, high = np.percentile(along, config.percentiles, axis=0)
    size = np.maximum(box.high - box.low, 1e-9)
    centre = np.median(along, axis=0)
    outside = np.abs(np.stack([centre - box.low, centre - box.high]) / size)
    side, axis = np.unravel_index(outside[:, :2].argmin(), (2, 2))
    if outside[side, axis] > config.max_offset or outside[:, 2].min() < outside[side, axis]:
        return None
    across = 1 - axis
    start, direction = centre[axis], config.depth * size[axis] * (1 if side == 0 else -1)
    margin = 0.5 * (1 - config.width) * (high[across] - low[across])
    corners = np.array(_SIDES, np.float64).reshape(-1, 3)
    positions = np.empty_like(corners)
    positions[:, axis] = start + direction * corners[:, 0]
    positions[:, across] = (
        low[across] + margin + config.width * (high - low)[across] * corners[:, 1]
    )
    positions[:, 2] = low[2] + config.height * (high - low)[2] * corners[:, 2]
    vertices = (
        positions @ box.axes @ observation.support_in_camera[:3, :3].T
        + observation.support_in_camera[:3, 3]
    )
    first = 4 * np.arange(len(_SIDES))[:, None]
    faces = np.concatenate([first + np.array(half) for half in ((0, 1, 2), (0, 2, 3))])
    a, b, c = vertices[faces].transpose(1, 0, 2)
    normals = np.cross(b - a, c - a)
    length = np.linalg.norm(normals, axis=-1, keepdims=True)
    if length.min() < 1e-9:
        return None
    return DrawerInterior(vertices, faces, normals / length)
