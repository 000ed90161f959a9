"""Observations of recorded episodes: the first frame, and the motion of the episode's robot."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np

from kin4d.bodies.robot.registry import load_robot
from kin4d.bodies.robot.robot_body import RobotBody
from kin4d.episodes.episode import Episode
from kin4d.errors import InputError
from kin4d.kinematics.actions import integrate
from kin4d.kinematics.arms import ARMS, Arm, load_arm
from kin4d.kinematics.conventions import values_to_poses
from kin4d.kinematics.grippers import gripper_opening
from kin4d.render.pointmaps import MeshInstance
from kin4d.world.observation import Observation, make_observation


def episode_observation(episode: Episode, *, threads: int | None = 1) -> Observation:
    """The observation of an episode: its first frame, and its robot's motion."""
    video = episode.video
    actions = None
    if episode.actions is not None:
        gripper = episode.actions.gripper
        columns = [episode.actions.values] + ([] if gripper is None else [gripper[:, None]])
        actions = np.concatenate(columns, axis=1).astype(np.float32)
    return make_observation(
        video.rgb[0],
        video.xyz[0],
        episode_robot(episode),
        video.camera,
        fps=episode.fps,
        base=episode.base,
        language=episode.language,
        actions=actions,
        gripper_opening=episode_gripper_opening(episode),
        ee_tracking_error=episode_tracking_error(episode),
        threads=threads,
    )


def episode_robot(episode: Episode) -> MeshInstance:
    """Mesh and motion of an episode's robot."""
    if episode.joints is None:
        raise InputError(f"episode '{episode.name}' has no joint positions of its robot")
    return MeshInstance.of_body(episode_body(episode), episode.joints, name="robot")


def episode_gripper_opening(episode: Episode) -> np.ndarray | None:
    """[T] measured gripper opening, if there is a gripper."""
    joints = episode.joints
    return None if joints is None else gripper_opening(episode_body(episode), joints)


def episode_tracking_error(episode: Episode) -> np.ndarray | None:
    """[T, 3] m: commanded minus measured end-effector position, if actions are pose deltas."""
    actions, joints, arm = episode.actions, episode.joints, _task_arm(episode)
    if actions is None or joints is None or arm is None or actions.kind != "pose_delta":
        return None
    hand = arm.grasp_pose(joints)
    deltas = values_to_poses(actions.values, actions.rotation)
    commanded = integrate(deltas, hand[0], frame=actions.frame)
    return (commanded - hand)[:, :3, 3] @ episode.base[:3, :3]


def episode_body(episode: Episode) -> RobotBody:
    """The robot of an episode, at the base the episode was recorded with."""
    arm = _task_arm(episode)
    return _load_robot_once(episode.robot) if arm is None else arm.body


def _task_arm(episode: Episode) -> Arm | None:
    """The arm of a simulated task. Imported episodes of the same robot have another base."""
    if episode.robot not in ARMS:
        return None
    arm = load_arm(episode.robot)
    return arm if np.allclose(arm.body.root, episode.base, atol=1e-6) else None


@lru_cache(maxsize=8)
def _load_robot_once(name: str) -> RobotBody:
    return load_robot(name)


def random_episodes(
    indices: Sequence[int], count: int, seed: int, step: int
) -> Iterator[tuple[np.random.Generator, list[int]]]:
    """Random generator and `count` of the indices, for every step from `step` on."""
    for now in itertools.count(step):
        rng = np.random.default_rng([seed, now])
        yield rng, [int(item) for item in rng.choice(indices, count)]
