"""Training batches of each network, made from stored episodes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from kin4d.bodies.robot.registry import load_robot
from kin4d.bodies.robot.robot_body import RobotBody
from kin4d.episodes.concat import EpisodeSource
from kin4d.episodes.episode import ROBOT, Episode
from kin4d.episodes.part_tracks import FIRST, PartTracks
from kin4d.errors import InputError
from kin4d.kinematics.actions import integrate
from kin4d.kinematics.arms import ARMS, load_arm
from kin4d.kinematics.conventions import values_to_poses
from kin4d.kinematics.grippers import gripper_coordinates, gripper_opening
from kin4d.render.pointmaps import MeshInstance
from kin4d.world.object_world.compositor.compositor import Compositor, parts_that_moved
from kin4d.world.object_world.depth import DepthBatch, depth_input
from kin4d.world.object_world.dynamics_sample import DynamicsSample, make_dynamics_sample
from kin4d.world.object_world.refinement import RefineBatch, refine_input
from kin4d.world.object_world.segmentation import SegBatch, frame_features
from kin4d.world.observation import Observation, make_observation, track_surface


def episode_robot(episode: Episode) -> MeshInstance:
    """Mesh and motion of an episode's robot."""
    if episode.joints is None:
        raise InputError(f"episode '{episode.name}' has no joint positions of its robot")
    return MeshInstance.of_body(_body(episode.robot), episode.joints, name="robot")


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
        gripper_opening=_gripper_opening(episode),
        ee_tracking_error=_ee_tracking_error(episode),
        threads=threads,
    )


def episode_dynamics_sample(
    episode: Episode, *, measured_gripper: bool = True
) -> DynamicsSample | None:
    """Training sample of the dynamics network from an episode; None if it shows no part.

    The episode needs part tracks, which only simulated ones have.

    Args:
        episode: The episode.
        measured_gripper: Whether finger joints are the measured or the commanded ones. Commanded
            fingers pass through grasped objects, as in actions that were never executed.
    """
    parts, video = _parts(episode), episode.video
    to_base = np.linalg.inv(episode.base)
    from_camera = to_base @ video.camera.pose
    robot = episode_robot(episode if measured_gripper else _with_commanded_fingers(episode))
    visible = np.isfinite(video.xyz[0]).all(-1) & (parts.mask[0] != ROBOT)
    return make_dynamics_sample(
        robot_points=_transform(to_base, track_surface(robot)),
        xyz=_transform(from_camera, video.xyz[0][visible].astype(np.float64)),
        part=np.maximum(parts.mask[0][visible].astype(int) - FIRST, -1),
        motions=from_camera @ parts.motions @ np.linalg.inv(from_camera),
        seconds=1 / episode.fps,
        gripper_opening=_gripper_opening(episode) if measured_gripper else None,
        ee_tracking_error=_ee_tracking_error(episode) if measured_gripper else None,
        scene="" if episode.seed is None else f"{episode.task}/{episode.robot}/{episode.seed}",
        seed=episode.seed or 0,
    )


def episode_seg_batch(episode: Episode) -> tuple[Tensor, Tensor]:
    """Segmenter input of an episode's first frame [8, H, W]; its part labels [H, W] from 1 on."""
    parts, video = _parts(episode), episode.video
    to_base = np.linalg.inv(episode.base) @ video.camera.pose
    robot = parts.mask[0] == ROBOT
    part = np.maximum(parts.mask[0].astype(np.int64) - FIRST + 1, 0)
    view = frame_features(video.rgb[0], _transform(to_base, video.xyz[0]), robot)
    return view, torch.from_numpy(part)


def episode_depth_batch(episode: Episode) -> tuple[Tensor, Tensor]:
    """Depth-network input of an episode's first frame [9, H, W], and its log depth [H, W]."""
    video = episode.video
    base = video.camera.world_to_camera @ episode.base
    robot = np.where(episode.robot_mask[0][..., None], video.xyz[0], np.nan)
    view = depth_input(video.rgb[0], robot, video.camera, base)
    return view, torch.from_numpy(np.log(video.xyz[0][..., 2]))


def episode_refine_batch(episode: Episode, frames: Sequence[int]) -> RefineBatch:
    """Refinement inputs of an episode: frames composited with the true motion of the parts."""
    parts, video = _parts(episode), episode.video
    actor, times = episode_robot(episode), [*frames]
    assert actor.transforms is not None
    actor = replace(actor, frames=len(times) + 1, transforms=actor.transforms[[0, *times]])
    observation = make_observation(
        video.rgb[0],
        video.xyz[0],
        actor,
        video.camera,
        fps=episode.fps,
        base=episode.base,
        threads=1,
    )
    part = np.maximum(parts.mask[0].astype(int) - FIRST, -1)
    moving = parts_that_moved(video.xyz[0], part, parts.motions)
    compositor = Compositor(observation, part, moving)
    composites = [compositor.render(k, parts.motions[t][moving]) for k, t in enumerate(times, 1)]
    depth = np.log(video.xyz[times][..., 2] / np.stack([item.xyz[..., 2] for item in composites]))
    return RefineBatch(
        torch.stack([refine_input(observation, item) for item in composites]),
        torch.from_numpy(video.rgb[times].astype(np.float32) / 127.5 - 1).permute(0, 3, 1, 2),
        torch.from_numpy(depth.astype(np.float32)),
        torch.from_numpy(video.mask[times] == ROBOT),
    )


def segmentation_batches(
    store: EpisodeSource,
    indices: Sequence[int],
    *,
    batch: int,
    seed: int,
    step: int = 0,
    augment: bool = True,
) -> Iterator[SegBatch]:
    """Endless batches of first frames; a batch depends on seed and step alone.

    Args:
        store: The episodes.
        indices: Which of them.
        batch: Frames per batch.
        seed: Seed of the choice.
        step: First step.
        augment: Whether half of the frames are mirrored, and half recoloured.
    """
    for rng, chosen in chosen_episodes(indices, batch, seed, step):
        pairs = [episode_seg_batch(store.episode(n)) for n in chosen]
        if augment:
            pairs = [_augment(view, part, rng) for view, part in pairs]
        yield SegBatch(*(torch.stack(column) for column in zip(*pairs, strict=True)))


def _augment(view: Tensor, part: Tensor, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    if rng.random() < 0.5:
        view, part = view.flip(-1), part.flip(-1)
    if rng.random() < 0.5:
        order, gain = rng.permutation(3), rng.uniform(0.6, 1.2)
        rgb = (gain * (view[:3][order] + 1) - 1).clamp(-1, 1)
        view = torch.cat([rgb, view[3:]])
    return view, part


def depth_batches(
    store: EpisodeSource, indices: Sequence[int], *, batch: int, seed: int, step: int = 0
) -> Iterator[DepthBatch]:
    """Endless batches of first frames and depths; a batch depends on seed and step alone."""
    for _, chosen in chosen_episodes(indices, batch, seed, step):
        pairs = [episode_depth_batch(store.episode(n)) for n in chosen]
        yield DepthBatch(*(torch.stack(column) for column in zip(*pairs, strict=True)))


def refine_batches(
    store: EpisodeSource,
    indices: Sequence[int],
    *,
    episodes: int,
    frames: int,
    seed: int,
    step: int = 0,
) -> Iterator[RefineBatch]:
    """Endless batches of frames of episodes; a batch depends on seed and step alone."""
    for rng, chosen in chosen_episodes(indices, episodes, seed, step):
        batches = []
        for number in chosen:
            episode = store.episode(number)
            times = rng.choice(np.arange(1, len(episode)), frames, replace=False)
            batches.append(episode_refine_batch(episode, [int(item) for item in times]))
        yield RefineBatch(
            *(
                torch.cat([getattr(item, field.name) for item in batches])
                for field in fields(RefineBatch)
            )
        )


def chosen_episodes(
    indices: Sequence[int], count: int, seed: int, step: int
) -> Iterator[tuple[np.random.Generator, list[int]]]:
    """Random generator and `count` of the indices, for every step from `step` on."""
    for now in itertools.count(step):
        rng = np.random.default_rng([seed, now])
        yield rng, [int(item) for item in rng.choice(indices, count)]


def _gripper_opening(episode: Episode) -> np.ndarray | None:
    """[T] measured gripper opening, if there is a gripper."""
    return None if episode.joints is None else gripper_opening(_body(episode.robot), episode.joints)


def _ee_tracking_error(episode: Episode) -> np.ndarray | None:
    """[T, 3] m: commanded minus measured end-effector position, if actions are pose deltas."""
    actions, joints = episode.actions, episode.joints
    if actions is None or joints is None or episode.robot not in ARMS:
        return None
    if actions.kind != "pose_delta":
        return None
    hand = load_arm(episode.robot).grasp_pose(joints)
    deltas = values_to_poses(actions.values, actions.rotation)
    commanded = integrate(deltas, hand[0], frame=actions.frame)
    return (commanded - hand)[:, :3, 3] @ episode.base[:3, :3]


def _with_commanded_fingers(episode: Episode) -> Episode:
    """The episode with its finger joints as commanded."""
    actions, joints = episode.actions, episode.joints
    if actions is None or actions.gripper is None or joints is None:
        return episode
    columns, commanded = gripper_coordinates(
        _body(episode.robot), actions.gripper, link=None, unit=actions.gripper_unit
    )
    joints = joints.copy()
    joints[:, columns] = commanded.numpy()
    return replace(episode, joints=joints)


def _parts(episode: Episode) -> PartTracks:
    if episode.parts is None:
        raise InputError(f"episode '{episode.name}' has no part tracks")
    return episode.parts


def _transform(motion: np.ndarray, points: np.ndarray) -> np.ndarray:
    return points @ motion[:3, :3].T + motion[:3, 3]


@lru_cache(maxsize=8)
def _body(name: str) -> RobotBody:
    return load_arm(name).body if name in ARMS else load_robot(name)
