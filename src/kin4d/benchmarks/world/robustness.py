"""Robustness: perturbations of the given robot, as in Kinema4D's table.

All inputs about the robot are perturbed alike; the first frame stays as it is.
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
"""px, in a random direction along the image's sides."""

TURN = 5.0
"""Degrees about the optical axis, in either direction."""

Perturbation = Callable[[Observation, np.random.Generator], Observation]


def drop_frames(observation: Observation, rng: np.random.Generator) -> Observation:
    """Pixels go missing; a tracked point that does is replaced by another."""
    gone = rng.random(observation.robot.mask.shape) < DROPPED
    count = observation.robot_points.shape[1]
    kept = rng.random(count) >= DROPPED
    kept[0] = True
    instead = np.where(kept, np.arange(count), rng.choice(np.flatnonzero(kept), count))
    perturbed = _with_robot(observation, ~gone, robot_points=observation.robot_points[:, instead])
    return replace(perturbed, link=None if observation.link is None else observation.link[instead])


def jitter_robot(observation: Observation, rng: np.random.Generator) -> Observation:
    """Points are off by Gaussian noise."""
    robot = observation.robot
    xyz = robot.xyz + rng.normal(0, NOISE, robot.xyz.shape).astype(np.float32)
    robot_points, robot_dense_points = (
        points + rng.normal(0, NOISE, points.shape).astype(np.float32)
        for points in (observation.robot_points, observation.robot_dense_points)
    )
    return replace(
        observation,
        robot=replace(robot, xyz=xyz),
        robot_points=robot_points,
        robot_dense_points=robot_dense_points,
    )


def shift_robot(observation: Observation, rng: np.random.Generator) -> Observation:
    """The robot is seen, and thought to be, some pixels away."""
    right, down = rng.permutation([SHIFT * rng.choice([-1, 1]), 0])
    matrix = np.array([[1, 0, right], [0, 1, down], [0, 0, 1.0]])
    return _warped(observation, matrix)


def rotate_camera(observation: Observation, rng: np.random.Generator) -> Observation:
    """The robot is rotated about the middle of the image."""
    angle = np.radians(TURN) * rng.choice([-1, 1])
    c, s = np.cos(angle), np.sin(angle)
    x, y = observation.camera.K[:2, 2]
    matrix = np.array([[c, -s, x - c * x + s * y], [s, c, y - s * x - c * y], [0, 0, 1]])
    return _warped(observation, matrix)


PERTURBATIONS: Mapping[str, Perturbation] = {
    "dropout 5 %": drop_frames,
    f"noise {1e3 * NOISE:.0f} mm": jitter_robot,
    "shift 5 px": shift_robot,
    "rotation 5 degrees": rotate_camera,
}


def _warped(observation: Observation, matrix: np.ndarray) -> Observation:
    """An observation whose robot's pixels and points move by `matrix` [3, 3] of (x, y, 1).

    A point keeps its depth and goes to the ray of its new pixel.
    """
    intrinsics = observation.camera.K
    return with_robot_offset(observation, np.linalg.inv(intrinsics) @ matrix @ intrinsics)


def _with_robot(
    observation: Observation, seen: np.ndarray, *, robot_points: np.ndarray
) -> Observation:
    """An observation whose robot is only `seen` [(T,) H, W] there."""
    robot = observation.robot
    seen = np.broadcast_to(seen, robot.mask.shape)
    return replace(
        observation,
        robot=replace(
            robot,
            rgb=np.where(seen[..., None], robot.rgb, 0).astype(np.uint8),
            xyz=np.where(seen[..., None], robot.xyz, np.nan).astype(np.float32),
            mask=np.where(seen, robot.mask, 0).astype(np.uint8),
        ),
        robot_points=robot_points,
    )
