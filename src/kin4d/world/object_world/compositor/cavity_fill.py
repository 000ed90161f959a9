"""CavityFill: guesses the interior that becomes visible when a door or lid opens.

The interior was never observed; it is rendered as an upright box with walls in the colour of the
outside.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kin4d.world.object_world.compositor.lighting import Light, brightness
from kin4d.world.object_world.compositor.pixel_quads import dilate, surface_normals
from kin4d.world.object_world.upright_box import UprightBox
from kin4d.world.observation import Observation

_MAX_GAP = 0.03  # m between adjacent pixels of connected parts
_MIN_ADJACENT = 3  # adjacent pixels of connected parts
_MIN_PIXELS = 12  # of a parent part
_MIN_ASPECT = 0.25  # of a box; below it only one wall is visible
_MAX_ENTRY = 0.08  # m from the part's surface to the cavity: thickness of a lid
_MIN_COVERED = 0.5  # share of a side that a door or lid covers
_MIN_DEPTH = 0.01  # m of cavity behind the part


@dataclass(frozen=True, eq=False)
class CavityFill:
    """The interior visible in N pixels.

    Attributes:
        where: [H, W] bool: the pixels.
        depth: [N] m.
        colour: [N, 3] linear, unshadowed.
    """

    where: np.ndarray
    depth: np.ndarray
    colour: np.ndarray


def cavity_behind(
    part_mask: np.ndarray,
    parent: np.ndarray,
    linear: np.ndarray,
    observation: Observation,
    light: Light,
) -> CavityFill | None:
    """The cavity behind a part in its parent; None if the part closes none.

    Args:
        part_mask: [H, W] bool: mask of the part in the first frame.
        parent: Mask of its parent; see `parent_part`.
        linear: [H, W, 3] linear colours of the first frame, without shadows.
        observation: The first frame.
        light: Its light.
    """
    where = dilate(part_mask) & ~parent & np.isfinite(observation.xyz).all(-1)
    points = observation.to_base(observation.xyz[where].astype(np.float64))
    parent_points = observation.to_base(observation.xyz[parent].astype(np.float64))
    part_points = observation.to_base(observation.xyz[part_mask].astype(np.float64))
    box = UprightBox.of(parent_points)
    if box.aspect_ratio < _MIN_ASPECT:
        box = UprightBox.of(np.concatenate([parent_points, part_points]))
    camera_position = observation.to_base(np.zeros(3))
    direction = points - camera_position
    enter, leave, front, side = box.intersect_rays(camera_position, direction)
    distance = np.linalg.norm(direction, axis=1)
    covered = _covered_sides(box, part_points)[front]
    behind = covered & ((leave - 1) * distance > _MIN_DEPTH) & ((enter - 1) * distance < _MAX_ENTRY)
    if not behind.any():
        return None
    normal = box.axes[side]
    normal *= np.where((normal * direction).sum(1) > 0, -1.0, 1.0)[:, None]
    normal = normal @ observation.base_in_camera[:3, :3].T
    lit = brightness(surface_normals(observation.xyz, parent)[parent], observation, light)
    albedo = (linear[parent] / lit[:, None]).mean(0)
    inside = where.copy()
    inside[where] = behind
    return CavityFill(
        where=inside,
        depth=observation.xyz[inside][:, 2] * leave[behind],
        colour=albedo * brightness(normal[behind], observation, light)[:, None],
    )


def parent_part(
    part_mask: np.ndarray, others: list[np.ndarray], xyz: np.ndarray
) -> np.ndarray | None:
    """Mask of the static part with the longest common border; None for a separate object.

    Args:
        part_mask: [H, W] bool: mask of the part in the first frame.
        others: Masks of the static parts.
        xyz: [H, W, 3] m: the first frame.
    """
    height, width = part_mask.shape
    best, found = _MIN_ADJACENT, None
    for other in others:
        if other.sum() < _MIN_PIXELS:
            continue
        adjacent = 0
        for y, x in ((0, 1), (1, 0)):
            a, b = np.s_[: height - y, : width - x], np.s_[y:, x:]
            near = np.linalg.norm(xyz[a] - xyz[b], axis=-1) < _MAX_GAP
            adjacent += (near & ((part_mask[a] & other[b]) | (part_mask[b] & other[a]))).sum()
        if adjacent >= best:
            best, found = adjacent, other
    return found


def _covered_sides(box: UprightBox, points: np.ndarray) -> np.ndarray:
    """[3] bool: whether points [N, 3] cover most of the side across each axis of a box."""
    along = points @ box.axes.T
    size = np.maximum(box.high - box.low, 1e-9)
    overlap = np.minimum(along.max(0), box.high) - np.maximum(along.min(0), box.low)
    share = np.clip(overlap / size, 0.0, 1.0)
    return np.array([share[1] * share[2], share[0] * share[2], share[0] * share[1]]) > _MIN_COVERED
