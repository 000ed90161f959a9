"""Stage: the first frame cut into layers, and the layers moved. No network, no blur.

Behind everything is the backdrop: the first frame without its robot and without what will move.
Each moving part is a sheet of small squares, one per pixel, carried through space. The robot is
drawn exactly. Whatever is nearest to the camera is seen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kin4d.render.render_scene import to_linear
from kin4d.render.shading import to_srgb
from kin4d.world.object_world.compositor.cavity_fill import cavity_behind, parent_part
from kin4d.world.object_world.compositor.lighting import FLAT, Shadows, relight
from kin4d.world.object_world.compositor.part_surfels import PartSurfels
from kin4d.world.object_world.compositor.pixel_quads import dilate
from kin4d.world.observation import Observation

_STILL = 0.001  # m that a part is away from its place and still counts as there
_HAIR = 0.003  # m: parts that move less are held to stand still


@dataclass(frozen=True, eq=False, kw_only=True)
class CompositeFrame:
    """One frame as the stage shows it.

    Attributes:
        rgb: [H, W, 3] uint8.
        xyz: [H, W, 3] float32 m, camera frame.
        robot: [H, W] bool: where the robot is seen.
        moved: [H, W] bool: where a moving part is seen.
        guessed: [H, W] bool: where the backdrop shows what the first frame did not.
        shadow: [H, W] float32 from 0 to 1: where shadows of robot and parts fall on the table.
    """

    rgb: np.ndarray
    xyz: np.ndarray
    robot: np.ndarray
    moved: np.ndarray
    guessed: np.ndarray
    shadow: np.ndarray


class Compositor:
    """A situation and the parts that will move in it.

    Args:
        situation: What is known.
        part: [H, W] int: the part each pixel of the first frame shows, -1 for none.
        moving: Numbers of the parts that will move; all others stay in the backdrop.
    """

    def __init__(self, situation: Observation, part: np.ndarray, moving: np.ndarray) -> None:
        self.situation = situation
        known = np.isfinite(situation.xyz).all(-1)
        robot = situation.robot.mask[0] > 0
        cuts = [known & ~robot & (part == number) for number in moving]
        hole = np.any([robot, *cuts], axis=0)
        # Pixels at an edge are mixed with what is beyond it.
        clean = known & ~dilate(hole)
        self.hole = ~clean
        self._points = [situation.xyz[cut].astype(np.float64) for cut in cuts]
        self._shadows = Shadows(situation, part >= 0)
        standing = situation.xyz[known & ~robot & (part >= 0)].astype(np.float64)
        self.light = self._shadows.find(
            situation.to_base(np.concatenate([situation.cover[0], standing]))
        )
        self._robot = relight(situation, self.light)
        staying = np.setdiff1d(part[part >= 0], moving)
        still = [known & ~robot & (part == number) for number in staying]
        hosts = [parent_part(cut, still, situation.xyz) for cut in cuts]
        self._sheet = PartSurfels.of(cuts, hosts, situation, self.light) if cuts else None
        self.first_shadow = self._cast(0, np.tile(np.eye(4), (len(cuts), 1, 1)))
        linear = to_linear(situation.image)
        lit = linear / (1 - self.light.power * self.first_shadow * self._shadows.table)[..., None]
        filled = pyramid_inpaint(
            np.concatenate([lit, situation.xyz[..., 2:]], axis=-1).astype(np.float32), clean
        )
        depth = np.where(self.hole, filled[..., 3], situation.xyz[..., 2])
        self._first, self._around = lit, [dilate(cut) & ~robot & known for cut in cuts]
        self._lit = np.where(self.hole[..., None], filled[..., :3], lit)
        for cut, host in zip(cuts, hosts, strict=True):
            if host is None:
                continue
            hollow = cavity_behind(cut, host, lit, situation, self.light)
            if hollow is not None:
                depth[hollow.where], self._lit[hollow.where] = hollow.depth, hollow.colour
        self.xyz = (depth[..., None] * situation.camera.rays()).astype(np.float32)
        self._table = np.abs(situation.to_base(self.xyz)[..., 2]) < FLAT

    def show(self, frame: int, poses: np.ndarray) -> CompositeFrame:
        """One frame.

        Args:
            frame: Its number.
            poses: [P, 4, 4] motions of the moving parts since the first frame, camera frame.
        """
        robot, xyz, lit, hole = self.situation.robot, self.xyz.copy(), self._lit, self.hole
        shadow = self._cast(frame, poses) * self._table
        gone = np.array([self._gone(k, pose) for k, pose in enumerate(poses)], bool)
        if not gone.all():  # what has not moved yet is as it was, to the pixel
            same = np.any([self._around[k] for k in np.flatnonzero(~gone)], axis=0)
            for k in np.flatnonzero(gone):
                same &= ~self._around[k]
            lit, hole = np.where(same[..., None], self._first, lit), hole & ~same
            xyz[same] = self.situation.xyz[same]
        rgb = to_srgb(lit * (1 - self.light.power * shadow)[..., None])
        moved = np.zeros(self.hole.shape, bool)
        if self._sheet is not None and gone.any():
            parts = self._sheet.draw(poses, xyz[..., 2], gone)
            moved = parts.seen
            rgb = np.rint((1 - parts.cover) * rgb + parts.rgb).astype(np.uint8)
            xyz[moved] = parts.xyz[moved]
        mine = (robot.mask[frame] > 0) & ~(robot.xyz[frame, ..., 2] > xyz[..., 2])
        rgb[mine], xyz[mine] = self._robot[frame][mine], robot.xyz[frame][mine]
        moved &= ~mine
        guessed = hole & ~mine & ~moved
        return CompositeFrame(
            rgb=rgb, xyz=xyz, robot=mine, moved=moved, guessed=guessed, shadow=shadow
        )

    def _gone(self, number: int, pose: np.ndarray) -> bool:
        """Whether a moving part is elsewhere than in the first frame."""
        points = self._points[number]
        away = points @ pose[:3, :3].T + pose[:3, 3] - points
        return bool(np.square(away).sum(-1).max() > _STILL**2)

    def _cast(self, frame: int, poses: np.ndarray) -> np.ndarray:
        """[H, W] from 0 to 1: the shadow of robot and moving parts, if the light is known."""
        if self.light.power == 0:
            return np.zeros(self.hole.shape, np.float32)
        moved = [
            points @ pose[:3, :3].T + pose[:3, 3]
            for points, pose in zip(self._points, poses, strict=True)
        ]
        points = np.concatenate([self.situation.cover[frame], *moved])
        return self._shadows.cast(self.situation.to_base(points), self.light.key[None])[0]


def parts_that_moved(xyz: np.ndarray, part: np.ndarray, motions: np.ndarray) -> np.ndarray:
    """[N] numbers of the parts that move by more than a hair at any time.

    Args:
        xyz: [H, W, 3] m: the first frame.
        part: [H, W] int: the part each pixel shows, -1 for none.
        motions: [T, P, 4, 4] in the same frame.
    """
    moving = []
    for number in range(motions.shape[1]):
        points = xyz[(part == number) & np.isfinite(xyz).all(-1)]
        if len(points):
            carried = np.einsum("tij,nj->tni", motions[:, number, :3, :3], points)
            carried += motions[:, number, None, :3, 3]
            if np.linalg.norm(carried - points, axis=-1).max() > _HAIR:
                moving.append(number)
    return np.array(moving, int)


def pyramid_inpaint(picture: np.ndarray, known: np.ndarray) -> np.ndarray:
    """[H, W, C] float32: a picture whose unknown pixels follow from those around them, smoothly.

    Pixels are averaged in ever larger squares until all is known, and then handed down again.
    """
    if known.all():
        return picture
    values = np.where(known[..., None], picture, 0.0)
    if not known.any() or min(known.shape) < 2:
        mean = values.sum((0, 1)) / max(known.sum(), 1)
        return np.where(known[..., None], picture, mean).astype(np.float32)
    height, width = -(-known.shape[0] // 2), -(-known.shape[1] // 2)
    pad = ((0, 2 * height - known.shape[0]), (0, 2 * width - known.shape[1]))
    counts = np.pad(known, pad).reshape(height, 2, width, 2).sum((1, 3))
    sums = np.pad(values, (*pad, (0, 0))).reshape(height, 2, width, 2, -1).sum((1, 3))
    coarse = pyramid_inpaint(
        (sums / np.maximum(counts, 1)[..., None]).astype(np.float32), counts > 0
    )
    finer = _smooth(coarse.repeat(2, 0).repeat(2, 1))[: known.shape[0], : known.shape[1]]
    return np.where(known[..., None], picture, finer).astype(np.float32)


def _smooth(picture: np.ndarray) -> np.ndarray:
    """A picture softened by (1, 2, 1) / 4 along both sides."""
    for axis in (0, 1):
        ends = [(1, 1) if one == axis else (0, 0) for one in range(3)]
        wide = np.pad(picture, ends, mode="edge")
        before, here, after = (
            np.take(wide, range(k, k + picture.shape[axis]), axis) for k in range(3)
        )
        picture = (before + 2 * here + after) / 4
    return picture
