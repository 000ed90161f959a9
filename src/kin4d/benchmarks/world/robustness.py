"""Robustness: the robot that an imaginer is told, spoiled in the ways of Kinema4D's table.

All that is told of the robot is spoiled alike; the first frame stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from kin4d.world.observation import Observation, with_robot_offset

DROPPED = 0.05
"""Share of the robot's pixels and of its tracked points."""

NOISE = 0.005
"""m: standard deviation along each axis, anew in every frame."""

SHIFT = 5
"""px, in a random direction along the picture's sides."""

TURN = 5.0
"""Degrees about the optical axis, either way."""

Spoiler = Callable[[Observation, np.random.Generator], Observation]


def drop_frames(situation: Observation, dice: np.random.Generator) -> Observation:
    """Pixels go missing; a tracked point that does is replaced by another."""
    gone = dice.random(situation.robot.mask.shape) < DROPPED
    count = situation.track.shape[1]
    kept = dice.random(count) >= DROPPED
    kept[0] = True
    instead = np.where(kept, np.arange(count), dice.choice(np.flatnonzero(kept), count))
    spoilt = _with_robot(situation, ~gone, track=situation.track[:, instead])
    return replace(spoilt, link=None if situation.link is None else situation.link[instead])


def jitter_robot(situation: Observation, dice: np.random.Generator) -> Observation:
    """Points are off by Gaussian noise."""
    robot = situation.robot
    xyz = robot.xyz + dice.normal(0, NOISE, robot.xyz.shape).astype(np.float32)
    track, cover = (
        points + dice.normal(0, NOISE, points.shape).astype(np.float32)
        for points in (situation.track, situation.cover)
    )
    return replace(situation, robot=replace(robot, xyz=xyz), track=track, cover=cover)


def shift_robot(situation: Observation, dice: np.random.Generator) -> Observation:
    """The robot is seen, and thought to be, some pixels away."""
    right, down = dice.permutation([SHIFT * dice.choice([-1, 1]), 0])
    matrix = np.array([[1, 0, right], [0, 1, down], [0, 0, 1.0]])
    return _warped(situation, matrix)


def rotate_camera(situation: Observation, dice: np.random.Generator) -> Observation:
    """The robot is turned about the middle of the picture."""
    angle = np.radians(TURN) * dice.choice([-1, 1])
    c, s = np.cos(angle), np.sin(angle)
    x, y = situation.camera.K[:2, 2]
    matrix = np.array([[c, -s, x - c * x + s * y], [s, c, y - s * x - c * y], [0, 0, 1]])
    return _warped(situation, matrix)


SPOILERS: Mapping[str, Spoiler] = {
    "dropout 5 %": drop_frames,
    f"noise {1e3 * NOISE:.0f} mm": jitter_robot,
    "shift 5 px": shift_robot,
    "rotation 5 degrees": rotate_camera,
}


def _warped(situation: Observation, matrix: np.ndarray) -> Observation:
    """A situation whose robot's pixels move by `matrix` [3, 3] (x, y, 1), and its points with them.

    A point keeps its depth and goes to the ray of its new pixel.
    """
    intrinsics = situation.camera.K
    return with_robot_offset(situation, np.linalg.inv(intrinsics) @ matrix @ intrinsics)


def _with_robot(situation: Observation, seen: np.ndarray, *, track: np.ndarray) -> Observation:
    """A situation whose robot is only `seen` [(T,) H, W] there."""
    robot = situation.robot
    seen = np.broadcast_to(seen, robot.mask.shape)
    return replace(
        situation,
        robot=replace(
            robot,
            rgb=np.where(seen[..., None], robot.rgb, 0).astype(np.uint8),
            xyz=np.where(seen[..., None], robot.xyz, np.nan).astype(np.float32),
            mask=np.where(seen, robot.mask, 0).astype(np.uint8),
        ),
        track=track,
    )
