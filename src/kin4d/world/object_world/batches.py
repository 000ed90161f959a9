"""Training batches of each network, made from stored episodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace

import numpy as np
import torch
from torch import Tensor

from kin4d.episodes.concat import EpisodeSource
from kin4d.episodes.episode import ROBOT, Episode
from kin4d.episodes.part_tracks import FIRST, PartTracks
from kin4d.errors import InputError
from kin4d.kinematics.grippers import gripper_coordinates
from kin4d.world.episode_observation import (
    episode_body,
    episode_gripper_opening,
    episode_robot,
    episode_tracking_error,
    random_episodes,
)
from kin4d.world.object_world.compositor.compositor import Compositor, parts_that_moved
from kin4d.world.object_world.depth import DepthBatch, depth_input
from kin4d.world.object_world.dynamics_sample import DynamicsSample, make_dynamics_sample
from kin4d.world.object_world.refinement import RefineBatch, refine_input
from kin4d.world.object_world.segmentation import SegBatch, frame_features
from kin4d.world.observation import make_observation, track_surface


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
        gripper_opening=episode_gripper_opening(episode) if measured_gripper else None,
        ee_tracking_error=episode_tracking_error(episode) if measured_gripper else None,
        scene="" if episode.seed is None else f"{episode.task}/{episode.robot}/{episode.seed}",
        seed=episode.seed or 0,
    )


def episode_seg_example(episode: Episode) -> tuple[Tensor, Tensor]:
    """Segmenter input of an episode's first frame [8, H, W]; its part labels [H, W] from 1 on."""
    parts, video = _parts(episode), episode.video
    to_base = np.linalg.inv(episode.base) @ video.camera.pose
    robot = parts.mask[0] == ROBOT
    part = np.maximum(parts.mask[0].astype(np.int64) - FIRST + 1, 0)
    view = frame_features(video.rgb[0], _transform(to_base, video.xyz[0]), robot)
    return view, torch.from_numpy(part)


def episode_depth_example(episode: Episode) -> tuple[Tensor, Tensor]:
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
    for rng, chosen in random_episodes(indices, batch, seed, step):
        pairs = [episode_seg_example(store.episode(n)) for n in chosen]
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
    for _, chosen in random_episodes(indices, batch, seed, step):
        pairs = [episode_depth_example(store.episode(n)) for n in chosen]
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
    for rng, chosen in random_episodes(indices, episodes, seed, step):
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


def _with_commanded_fingers(episode: Episode) -> Episode:
    """The episode with its finger joints as commanded."""
    actions, joints = episode.actions, episode.joints
    if actions is None or actions.gripper is None or joints is None:
        return episode
    columns, commanded = gripper_coordinates(
        episode_body(episode), actions.gripper, link=None, unit=actions.gripper_unit
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
