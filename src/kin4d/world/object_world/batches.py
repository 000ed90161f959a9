"""Lessons: episodes as a world model takes them."""

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
    """The robot of an episode, as it moved."""
    if episode.joints is None:
        raise InputError(f"episode '{episode.name}' does not know its robot's joints")
    return MeshInstance.of_body(_body(episode.robot), episode.joints, name="robot")


def episode_observation(episode: Episode, *, threads: int | None = 1) -> Observation:
    """What is known before an episode happens: its first frame, and its robot's motion."""
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
        opening=_opening(episode),
        lag=_lag(episode),
        threads=threads,
    )


def episode_dynamics_sample(episode: Episode, *, measured: bool = True) -> DynamicsSample | None:
    """What a dynamics model learns from an episode; None if nothing in it could move.

    Only episodes whose parts a simulator knew can teach that.

    Args:
        episode: Of a robot that does something.
        measured: Whether the fingers are where they were, or where they were told to go, through
            whatever they hold: all that is known of actions that were never carried out.
    """
    parts, video = _parts(episode), episode.video
    to_base = np.linalg.inv(episode.base)
    from_camera = to_base @ video.camera.pose
    robot = episode_robot(episode if measured else _as_told(episode))
    seen = np.isfinite(video.xyz[0]).all(-1) & (parts.mask[0] != ROBOT)
    return make_dynamics_sample(
        track=_carry(to_base, track_surface(robot)),
        xyz=_carry(from_camera, video.xyz[0][seen].astype(np.float64)),
        part=np.maximum(parts.mask[0][seen].astype(int) - FIRST, -1),
        motions=from_camera @ parts.motions @ np.linalg.inv(from_camera),
        seconds=1 / episode.fps,
        opening=_opening(episode) if measured else None,
        lag=_lag(episode) if measured else None,
        scene="" if episode.seed is None else f"{episode.task}/{episode.robot}/{episode.seed}",
        seed=episode.seed or 0,
    )


def episode_seg_batch(episode: Episode) -> tuple[Tensor, Tensor]:
    """Segmenter input of an episode's first frame [8, H, W]; its part labels [H, W] from 1 on."""
    parts, video = _parts(episode), episode.video
    to_base = np.linalg.inv(episode.base) @ video.camera.pose
    robot = parts.mask[0] == ROBOT
    part = np.maximum(parts.mask[0].astype(np.int64) - FIRST + 1, 0)
    view = frame_features(video.rgb[0], _carry(to_base, video.xyz[0]), robot)
    return view, torch.from_numpy(part)


def episode_depth_batch(episode: Episode) -> tuple[Tensor, Tensor]:
    """Depth-network input of an episode's first frame [9, H, W], and its log depth [H, W]."""
    video = episode.video
    base = video.camera.world_to_camera @ episode.base
    robot = np.where(episode.robot_mask[0][..., None], video.xyz[0], np.nan)
    view = depth_input(video.rgb[0], robot, video.camera, base)
    return view, torch.from_numpy(np.log(video.xyz[0][..., 2]))


def episode_refine_batch(episode: Episode, frames: Sequence[int]) -> RefineBatch:
    """What a refiner learns from an episode: staged frames whose parts move as they truly did."""
    parts, video = _parts(episode), episode.video
    actor, times = episode_robot(episode), [0, *frames]
    assert actor.transforms is not None
    actor = replace(actor, frames=len(times), transforms=actor.transforms[times])
    situation = make_observation(
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
    stage = Compositor(situation, part, moving)
    staged = [stage.show(k, parts.motions[t][moving]) for k, t in enumerate(frames, 1)]
    true = [*frames]
    depth = np.log(video.xyz[true][..., 2] / np.stack([one.xyz[..., 2] for one in staged]))
    return RefineBatch(
        torch.stack([refine_input(situation, one) for one in staged]),
        torch.from_numpy(video.rgb[true].astype(np.float32) / 127.5 - 1).permute(0, 3, 1, 2),
        torch.from_numpy(depth.astype(np.float32)),
        torch.from_numpy(video.mask[true] == ROBOT),
    )


def segmentation_batches(
    store: EpisodeSource,
    numbers: Sequence[int],
    *,
    batch: int,
    seed: int,
    step: int = 0,
    varied: bool = True,
) -> Iterator[SegBatch]:
    """First views of episodes of a store, without end; a batch depends on seed and step alone.

    Args:
        store: Of episodes.
        numbers: Of those that are shown.
        batch: Views at once.
        seed: Of the choice.
        step: To begin with.
        varied: Whether some are mirrored and some in other colours. What is left and right of the
            robot, or red, is no less a part.
    """
    for dice, some in chosen_episodes(numbers, batch, seed, step):
        pairs = [episode_seg_batch(store.episode(n)) for n in some]
        if varied:
            pairs = [_varied(view, part, dice) for view, part in pairs]
        yield SegBatch(*(torch.stack(column) for column in zip(*pairs, strict=True)))


def _varied(view: Tensor, part: Tensor, dice: np.random.Generator) -> tuple[Tensor, Tensor]:
    if dice.random() < 0.5:
        view, part = view.flip(-1), part.flip(-1)
    if dice.random() < 0.5:
        order, light = dice.permutation(3), dice.uniform(0.6, 1.2)
        rgb = (light * (view[:3][order] + 1) - 1).clamp(-1, 1)
        view = torch.cat([rgb, view[3:]])
    return view, part


def depth_batches(
    store: EpisodeSource, numbers: Sequence[int], *, batch: int, seed: int, step: int = 0
) -> Iterator[DepthBatch]:
    """First views and their depths, without end; a batch depends on seed and step alone."""
    for _, some in chosen_episodes(numbers, batch, seed, step):
        found = [episode_depth_batch(store.episode(n)) for n in some]
        yield DepthBatch(*(torch.stack(column) for column in zip(*found, strict=True)))


def refine_batches(
    store: EpisodeSource,
    numbers: Sequence[int],
    *,
    episodes: int,
    frames: int,
    seed: int,
    step: int = 0,
) -> Iterator[RefineBatch]:
    """Some frames of some episodes, without end; a batch depends on seed and step alone."""
    for dice, some in chosen_episodes(numbers, episodes, seed, step):
        made = []
        for number in some:
            episode = store.episode(number)
            times = dice.choice(np.arange(1, len(episode)), frames, replace=False)
            made.append(episode_refine_batch(episode, [int(one) for one in times]))
        yield RefineBatch(
            *(
                torch.cat([getattr(one, field.name) for one in made])
                for field in fields(RefineBatch)
            )
        )


def chosen_episodes(
    numbers: Sequence[int], count: int, seed: int, step: int
) -> Iterator[tuple[np.random.Generator, list[int]]]:
    """Dice and some of the numbers for every step from `step` on."""
    for now in itertools.count(step):
        dice = np.random.default_rng([seed, now])
        yield dice, [int(one) for one in dice.choice(numbers, count)]


def _opening(episode: Episode) -> np.ndarray | None:
    """[T] how open the gripper was, if there is one."""
    return None if episode.joints is None else gripper_opening(_body(episode.robot), episode.joints)


def _lag(episode: Episode) -> np.ndarray | None:
    """[T, 3] m: how far the hand was behind its actions, if they say where it should have been."""
    actions, joints = episode.actions, episode.joints
    if actions is None or joints is None or episode.robot not in ARMS:
        return None
    if actions.kind != "pose_delta":
        return None
    hand = load_arm(episode.robot).grasp_pose(joints)
    deltas = values_to_poses(actions.values, actions.rotation)
    told = integrate(deltas, hand[0], frame=actions.frame)
    return (told - hand)[:, :3, 3] @ episode.base[:3, :3]


def _as_told(episode: Episode) -> Episode:
    """The episode with its fingers where its actions want them."""
    actions, joints = episode.actions, episode.joints
    if actions is None or actions.gripper is None or joints is None:
        return episode
    columns, told = gripper_coordinates(
        _body(episode.robot), actions.gripper, link=None, unit=actions.gripper_unit
    )
    joints = joints.copy()
    joints[:, columns] = told.numpy()
    return replace(episode, joints=joints)


def _parts(episode: Episode) -> PartTracks:
    if episode.parts is None:
        raise InputError(f"episode '{episode.name}' does not know its rigid parts")
    return episode.parts


def _carry(motion: np.ndarray, points: np.ndarray) -> np.ndarray:
    return points @ motion[:3, :3].T + motion[:3, 3]


@lru_cache(maxsize=8)
def _body(name: str) -> RobotBody:
    return load_arm(name).body if name in ARMS else load_robot(name)
