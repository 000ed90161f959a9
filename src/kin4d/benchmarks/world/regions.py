"""Regions of a clip in which metrics are computed, and the trivial baselines."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kin4d.episodes.episode import ROBOT, Episode
from kin4d.episodes.part_tracks import FIRST
from kin4d.geometry.pointmap import PointmapVideo
from kin4d.world.observation import Observation

DIFFERS = 12
"""Levels of 255: where the truth is farther from the composite in any colour, something moved."""

MOVED = 2.0
"""Pixels: a part whose centre goes no farther than this counts as still."""

EVERY = 4
"""Of so many frames, one is evaluated where metrics are slow."""

_DEPTH_EPSILON = 0.005  # m: a robot this little behind the first frame's surface is still drawn
_LEAST = 12  # pixels that the first frame must show of a part


def copied(observation: Observation) -> PointmapVideo:
    """The first frame over and over: what a model must beat to be worth anything."""
    robot, frames = observation.robot, len(observation)
    return replace(
        robot,
        rgb=np.repeat(observation.image[None], frames, 0),
        xyz=np.repeat(observation.xyz[None], frames, 0),
        mask=np.repeat((robot.mask[:1] > 0).astype(np.uint8) * ROBOT, frames, 0),
    )


def composited(observation: Observation) -> PointmapVideo:
    """The exact robot over the first frame, wherever it is in front of what was there."""
    robot, video = observation.robot, copied(observation)
    shown = (robot.mask > 0) & ~(robot.xyz[..., 2] > video.xyz[..., 2] + _DEPTH_EPSILON)
    shown[0] = False  # the first frame is the first frame: its robot is in it already
    rgb, xyz = (
        np.where(shown[..., None], mine, theirs)
        for mine, theirs in ((robot.rgb, video.rgb), (robot.xyz, video.xyz))
    )
    mask = shown.astype(np.uint8) * ROBOT
    mask[0] = video.mask[0]
    return replace(video, rgb=rgb, xyz=xyz, mask=mask)


def moving_region(truth: PointmapVideo, composite: PointmapVideo) -> np.ndarray:
    """[T, H, W] bool: pixels without robot in which the composite is wrong by `DIFFERS`."""
    off = np.abs(truth.rgb.astype(np.int16) - composite.rgb).max(-1)
    return (off > DIFFERS) & (truth.mask != ROBOT)


def part_mask(episode: Episode, part: int) -> np.ndarray:
    """[T, H, W] bool: where a rigid part is seen."""
    assert episode.parts is not None
    return episode.parts.mask == part + FIRST


def part_path(episode: Episode, part: int) -> np.ndarray:
    """[T, 2] px (x, y): where the middle of what the first frame shows of a part goes.

    NaN if the first frame shows nothing of it. Hidden or not, the middle is somewhere.
    """
    video, parts = episode.video, episode.parts
    assert parts is not None
    seen = part_mask(episode, part)[0] & np.isfinite(video.xyz[0]).all(-1)
    if not seen.any():
        return np.full((len(video), 2), np.nan)
    centre = video.xyz[0][seen].mean(0, dtype=np.float64)
    centres = parts.motions[:, part, :3, :3] @ centre + parts.motions[:, part, :3, 3]
    return replace(video.camera, pose=np.eye(4)).project(centres)[0]


def moving_parts(episode: Episode) -> list[int]:
    """Numbers of the rigid parts that truly move and that the first frame shows."""
    if episode.parts is None:
        return []
    found = []
    for part in range(len(episode.parts.object_ids)):
        path = part_path(episode, part)
        if part_mask(episode, part)[0].sum() >= _LEAST and np.isfinite(path).all():
            far = np.linalg.norm(path - path[0], axis=-1).max()
            if far > MOVED:
                found.append(part)
    return found


def evaluated_frames(frames: int) -> np.ndarray:
    """Every fourth frame after the first, and the last."""
    return np.unique(np.append(np.arange(EVERY, frames, EVERY), frames - 1))
