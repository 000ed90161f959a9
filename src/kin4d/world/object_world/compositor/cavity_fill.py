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


@dataclass(frozen=True, kw_only=True)
class CavityConfig:
    """When a moving part is taken for a door or lid that closes a cavity of its parent.

    Attributes:
        max_gap: m between adjacent pixels of connected parts.
        min_adjacent: Adjacent pixels of connected parts.
        min_pixels: Pixels of a parent.
        min_aspect: Aspect ratio of the parent's box below which only one of its walls is visible.
        max_entry: m from the part's surface to the cavity: the thickness of a lid.
        min_covered: Share of a side of the box that a door or lid covers.
        min_depth: m of cavity behind the part.
    """

    max_gap: float = 0.03
    min_adjacent: int = 3
    min_pixels: int = 12
    min_aspect: float = 0.25
    max_entry: float = 0.08
    min_covered: float = 0.5
    min_depth: float = 0.01


CAVITY = CavityConfig()


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
    config: CavityConfig = CAVITY,
) -> CavityFill | None:
    """The cavity behind a part in its parent; None if the part closes none.

    Args:
        part_mask: [H, W] bool: mask of the part in the first frame.
        parent: Mask of its parent; see `parent_part`.
        linear: [H, W, 3] linear colours of the first frame, without shadows.
        observation: The first frame.
        light: Its light.
        config: What counts as a cavity.
    """
    where = dilate(part_mask) & ~parent & np.isfinite(observation.xyz).all(-1)
    points = observation.to_support(observation.xyz[where].astype(np.float64))
    parent_points = observation.to_support(observation.xyz[parent].astype(np.float64))
    part_points = observation.to_support(observation.xyz[part_mask].astype(np.float64))
    box = UprightBox.of(parent_points)
    if box.aspect_ratio < config.min_aspect:
        box = UprightBox.of(np.concatenate([parent_points, part_points]))
    camera_position = observation.to_support(np.zeros(3))
    direction = points - camera_position
    enter, leave, front, side = box.intersect_rays(camera_position, direction)
    distance = np.linalg.norm(direction, axis=1)
    covered = (_covered_shares(box, part_points) > config.min_covered)[front]
    deep = (leave - 1) * distance > config.min_depth
    behind = covered & deep & ((enter - 1) * distance < config.max_entry)
    if not behind.any():
        return None
    normal = box.axes[side]
    normal *= np.where((normal * direction).sum(1) > 0, -1.0, 1.0)[:, None]
    normal = normal @ observation.support_in_camera[:3, :3].T
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
    part_mask: np.ndarray,
    others: list[np.ndarray],
    xyz: np.ndarray,
    config: CavityConfig = CAVITY,
) -> np.ndarray | None:
    """Mask of the static part with the longest common border; None for a separate object.

    Args:
        part_mask: [H, W] bool: mask of the part in the first frame.
        others: Masks of the static parts.
        xyz: [H, W, 3] m: the first frame.
        config: What counts as connected.
    """
    height, width = part_mask.shape
    best, found = config.min_adjacent, None
    for other in others:
        if other.sum() < config.min_pixels:
            continue
        adjacent = 0
        for y, x in ((0, 1), (1, 0)):
            a, b = np.s_[: height - y, : width - x], np.s_[y:, x:]
            near = np.linalg.norm(xyz[a] - xyz[b], axis=-1) < config.max_gap
            adjacent += (near & ((part_mask[a] & other[b]) | (part_mask[b] & other[a]))).sum()
        if adjacent >= best:
            best, found = adjacent, other
    return found


def _covered_shares(box: UprightBox, points: np.ndarray) -> np.ndarray:
    """[3] share of the side across each axis of a box that points [N, 3] cover."""
    along = points @ box.axes.T
    size = np.maximum(box.high - box.low, 1e-9)
    overlap = np.minimum(along.max(0), box.high) - np.maximum(along.min(0), box.low)
    share = np.clip(overlap / size, 0.0, 1.0)
    return np.array([share[1] * share[2], share[0] * share[2], share[0] * share[1]])
