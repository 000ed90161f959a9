"""Compositor: renders frames from layers of the first frame, without a network.

The background is the first frame without robot and moving parts, inpainted. Each moving part is a
set of small quads, transformed by its motion. The robot is rendered from its model. The layer
nearest to the camera is visible.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np

from kin4d.render.render_scene import to_linear
from kin4d.render.shading import to_srgb
from kin4d.world.object_world.compositor.cavity_fill import cavity_behind, parent_part
from kin4d.world.object_world.compositor.lighting import TABLE_TOLERANCE, Shadows, relight
from kin4d.world.object_world.compositor.part_surfels import PartSurfels
from kin4d.world.object_world.compositor.pixel_quads import dilate, edge_width
from kin4d.world.observation import Observation

_STATIC = 0.001  # m of motion below which a part counts as not moved yet
_MIN_MOTION = 0.003  # m: parts that move less at all times are static


@dataclass(frozen=True, eq=False, kw_only=True)
class CompositeFrame:
    """One composited frame.

    Attributes:
        rgb: [H, W, 3] uint8.
        xyz: [H, W, 3] float32 m, camera frame.
        robot: [H, W] bool: where the robot is visible.
        moved: [H, W] bool: where a moving part is visible.
        guessed: [H, W] bool: inpainted background.
        shadow: [H, W] float32 from 0 to 1: shadow of robot and parts on the table.
    """

    rgb: np.ndarray
    xyz: np.ndarray
    robot: np.ndarray
    moved: np.ndarray
    guessed: np.ndarray
    shadow: np.ndarray


class Compositor:
    """Renders frames of an observation whose parts move.

    Args:
        observation: The first frame and the robot.
        part: [H, W] int: part of each pixel of the first frame, -1 for none.
        moving: Ids of the parts that move; all others stay in the background.
    """

    def __init__(self, observation: Observation, part: np.ndarray, moving: np.ndarray) -> None:
        self.observation = observation
        known = np.isfinite(observation.xyz).all(-1)
        robot = observation.robot.mask[0] > 0
        part_masks = [known & ~robot & (part == part_id) for part_id in moving]
        hole = np.any([robot, *part_masks], axis=0)
        # Edge pixels are mixed with the surface behind.
        edge = edge_width(observation.camera)
        self.hole = dilate(hole, edge)
        self._points = [observation.xyz[mask].astype(np.float64) for mask in part_masks]
        self._shadows = Shadows(observation, part >= 0)
        object_points = observation.xyz[known & ~robot & (part >= 0)].astype(np.float64)
        self.light = self._shadows.estimate_light(
            observation.to_support(
                np.concatenate([observation.robot_dense_points[0], object_points])
            )
        )
        self._robot_rgb = relight(observation, self.light)
        static_ids = np.setdiff1d(part[part >= 0], moving)
        static_masks = [known & ~robot & (part == part_id) for part_id in static_ids]
        parents = [parent_part(mask, static_masks, observation.xyz) for mask in part_masks]
        self._surfels = (
            PartSurfels.of(part_masks, parents, observation, self.light) if part_masks else None
        )
        self.first_shadow = self._cast_shadow(0, np.tile(np.eye(4), (len(part_masks), 1, 1)))
        linear = to_linear(observation.image)
        shade = self.light.shadow_strength * self.first_shadow * self._shadows.table
        unshadowed = linear / (1 - shade)[..., None]
        colour = pyramid_inpaint(unshadowed.astype(np.float32), ~self.hole)
        depth = observation.xyz[..., 2]
        behind = pyramid_inpaint(depth[..., None], known & ~self.hole)[..., 0]
        # Elsewhere, depth that was not measured stays unknown, and hides nothing.
        depth = np.where(self.hole, behind, depth)
        self._first_unshadowed = unshadowed
        self._near_part = [dilate(mask, edge) & ~robot & known for mask in part_masks]
        self._unshadowed = np.where(self.hole[..., None], colour, unshadowed)
        for part_mask, parent in zip(part_masks, parents, strict=True):
            if parent is None:
                continue
            cavity = cavity_behind(part_mask, parent, unshadowed, observation, self.light)
            if cavity is not None:
                depth[cavity.where], self._unshadowed[cavity.where] = cavity.depth, cavity.colour
        self.xyz = (depth[..., None] * observation.camera.rays()).astype(np.float32)
        self._table = np.abs(observation.to_support(self.xyz)[..., 2]) < TABLE_TOLERANCE

    def with_observation(self, observation: Observation) -> Compositor:
        """The same first frame and parts with other frames of the robot."""
        other = copy.copy(self)
        other.observation, other._robot_rgb = observation, relight(observation, self.light)
        return other

    def render(self, frame: int, poses: np.ndarray) -> CompositeFrame:
        """Render one frame.

        Args:
            frame: Its index.
            poses: [P, 4, 4] motions of the moving parts since the first frame, camera frame.
        """
        robot, xyz = self.observation.robot, self.xyz.copy()
        unshadowed, hole = self._unshadowed, self.hole
        shadow = self._cast_shadow(frame, poses) * self._table
        has_moved = np.array([self._has_moved(k, pose) for k, pose in enumerate(poses)], bool)
        if not has_moved.all():  # parts that have not moved yet keep their pixels
            unchanged = np.any([self._near_part[k] for k in np.flatnonzero(~has_moved)], axis=0)
            for k in np.flatnonzero(has_moved):
                unchanged &= ~self._near_part[k]
            unshadowed = np.where(unchanged[..., None], self._first_unshadowed, unshadowed)
            hole = hole & ~unchanged
            xyz[unchanged] = self.observation.xyz[unchanged]
        rgb = self._background(unshadowed, shadow)
        moved = np.zeros(self.hole.shape, bool)
        if self._surfels is not None and has_moved.any():
            parts = self._surfels.render(poses, xyz[..., 2], has_moved)
            moved = parts.visible
            on = parts.coverage[..., 0] > 0
            rgb[on] = np.rint((1 - parts.coverage[on]) * rgb[on] + parts.rgb[on]).astype(np.uint8)
            xyz[moved] = parts.xyz[moved]
        on_robot = (robot.mask[frame] > 0) & ~(robot.xyz[frame, ..., 2] > xyz[..., 2])
        rgb[on_robot], xyz[on_robot] = self._robot_rgb[frame][on_robot], robot.xyz[frame][on_robot]
        moved &= ~on_robot
        guessed = hole & ~on_robot & ~moved
        return CompositeFrame(
            rgb=rgb, xyz=xyz, robot=on_robot, moved=moved, guessed=guessed, shadow=shadow
        )

    def _background(self, unshadowed: np.ndarray, shadow: np.ndarray) -> np.ndarray:
        """[H, W, 3] uint8: linear colours in the shadow of a frame."""
        return to_srgb(unshadowed * (1 - self.light.shadow_strength * shadow)[..., None])

    def _has_moved(self, moving_index: int, pose: np.ndarray) -> bool:
        """Whether a moving part is away from its position in the first frame."""
        points = self._points[moving_index]
        motion = points @ pose[:3, :3].T + pose[:3, 3] - points
        return bool(np.square(motion).sum(-1).max() > _STATIC**2)

    def _cast_shadow(self, frame: int, poses: np.ndarray) -> np.ndarray:
        """[H, W] from 0 to 1: shadow of robot and moving parts, if the light is known."""
        if self.light.shadow_strength == 0:
            return np.zeros(self.hole.shape, np.float32)
        moved = [
            points @ pose[:3, :3].T + pose[:3, 3]
            for points, pose in zip(self._points, poses, strict=True)
        ]
        points = np.concatenate([self.observation.robot_dense_points[frame], *moved])
        return self._shadows.cast(self.observation.to_support(points), self.light.direction[None])[
            0
        ]


def parts_that_moved(xyz: np.ndarray, part: np.ndarray, motions: np.ndarray) -> np.ndarray:
    """[N] ids of the parts that move by more than `_MIN_MOTION` at any time.

    Args:
        xyz: [H, W, 3] m: the first frame.
        part: [H, W] int: part of each pixel, -1 for none.
        motions: [T, P, 4, 4] in the same coordinate frame.
    """
    moving = []
    for part_id in range(motions.shape[1]):
        points = xyz[(part == part_id) & np.isfinite(xyz).all(-1)]
        if len(points):
            transformed = np.einsum("tij,nj->tni", motions[:, part_id, :3, :3], points)
            transformed += motions[:, part_id, None, :3, 3]
            if np.linalg.norm(transformed - points, axis=-1).max() > _MIN_MOTION:
                moving.append(part_id)
    return np.array(moving, int)


def pyramid_inpaint(image: np.ndarray, known: np.ndarray) -> np.ndarray:
    """[H, W, C] float32: an image with its unknown pixels filled smoothly.

    Known pixels are averaged in an image pyramid until all are known, then upsampled again.
    """
    if known.all():
        return image
    values = np.where(known[..., None], image, 0.0)
    if not known.any() or min(known.shape) < 2:
        mean = values.sum((0, 1)) / max(known.sum(), 1)
        return np.where(known[..., None], image, mean).astype(np.float32)
    height, width = -(-known.shape[0] // 2), -(-known.shape[1] // 2)
    pad = ((0, 2 * height - known.shape[0]), (0, 2 * width - known.shape[1]))
    counts = np.pad(known, pad).reshape(height, 2, width, 2).sum((1, 3))
    sums = np.pad(values, (*pad, (0, 0))).reshape(height, 2, width, 2, -1).sum((1, 3))
    coarse = pyramid_inpaint(
        (sums / np.maximum(counts, 1)[..., None]).astype(np.float32), counts > 0
    )
    upsampled = _smooth(coarse.repeat(2, 0).repeat(2, 1))[: known.shape[0], : known.shape[1]]
    return np.where(known[..., None], image, upsampled).astype(np.float32)


def _smooth(image: np.ndarray) -> np.ndarray:
    """An image filtered by (1, 2, 1) / 4 along both axes."""
    for axis in (0, 1):
        pad = [(1, 1) if k == axis else (0, 0) for k in range(3)]
        wide = np.pad(image, pad, mode="edge")
        before, here, after = (
            np.take(wide, range(k, k + image.shape[axis]), axis) for k in range(3)
        )
        image = (before + 2 * here + after) / 4
    return image
