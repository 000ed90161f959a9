"""Lessons: episodes as a world model takes them."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from kin4d.bodies.robot import RobotBody
from kin4d.bodies.robot_names import load_robot
from kin4d.data.episodes.episode import ROBOT, Episode
from kin4d.data.episodes.parts import FIRST
from kin4d.data.tasks.arm import ARMS, load_arm
from kin4d.errors import InputError
from kin4d.render.pointmaps import Actor
from kin4d.world.rigid.lesson import Lesson, lesson_of
from kin4d.world.situation import Situation, observe, track_surface


def robot_of(episode: Episode) -> Actor:
    """The robot of an episode, as it moved."""
    if episode.joints is None:
        raise InputError(f"episode '{episode.name}' does not know its robot's joints")
    return Actor.of_body(_body(episode.robot), episode.joints, name="robot")


def situation_of(episode: Episode, *, threads: int | None = 1) -> Situation:
    """What is known before an episode happens: its first frame, and its robot's motion."""
    video = episode.video
    actions = None
    if episode.actions is not None:
        gripper = episode.actions.gripper
        columns = [episode.actions.values] + ([] if gripper is None else [gripper[:, None]])
        actions = np.concatenate(columns, axis=1).astype(np.float32)
    return observe(
        video.rgb[0],
        video.xyz[0],
        robot_of(episode),
        video.camera,
        fps=episode.fps,
        base=episode.base,
        language=episode.language,
        actions=actions,
        threads=threads,
    )


def lesson_from(episode: Episode) -> Lesson | None:
    """What a mover learns from an episode; None if nothing in it could move.

    Only episodes whose parts a simulator knew can teach that.
    """
    parts, video = episode.parts, episode.video
    if parts is None:
        raise InputError(f"episode '{episode.name}' does not know its rigid parts")
    to_base = np.linalg.inv(episode.base)
    from_camera = to_base @ video.camera.pose
    seen = np.isfinite(video.xyz[0]).all(-1) & (parts.mask[0] != ROBOT)
    return lesson_of(
        track=_carry(to_base, track_surface(robot_of(episode))),
        xyz=_carry(from_camera, video.xyz[0][seen].astype(np.float64)),
        part=np.maximum(parts.mask[0][seen].astype(int) - FIRST, -1),
        motions=from_camera @ parts.motions @ np.linalg.inv(from_camera),
        seconds=1 / episode.fps,
        seed=episode.seed or 0,
    )


def _carry(motion: np.ndarray, points: np.ndarray) -> np.ndarray:
    return points @ motion[:3, :3].T + motion[:3, 3]


@lru_cache(maxsize=8)
def _body(name: str) -> RobotBody:
    return load_arm(name).body if name in ARMS else load_robot(name)
