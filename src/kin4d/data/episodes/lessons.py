"""Lessons: episodes as a world model takes them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from kin4d.bodies.robot import RobotBody
from kin4d.bodies.robot_names import load_robot
from kin4d.data.episodes.episode import ROBOT, Episode
from kin4d.data.episodes.joined import Episodes
from kin4d.data.episodes.parts import FIRST, Parts
from kin4d.data.tasks.arm import ARMS, load_arm
from kin4d.errors import InputError
from kin4d.motion.actions import integrate
from kin4d.motion.conventions import values_to_poses
from kin4d.motion.gripper import gripper_coordinates, gripper_opening
from kin4d.render.pointmaps import Actor
from kin4d.world.rigid.gauge import Depths, gauge_view
from kin4d.world.rigid.lesson import Lesson, lesson_of
from kin4d.world.rigid.painter import Canvases, painter_view
from kin4d.world.rigid.seer import Views, first_view
from kin4d.world.rigid.stage import Stage, moving_parts
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
        opening=_opening(episode),
        lag=_lag(episode),
        threads=threads,
    )


def lesson_from(episode: Episode, *, measured: bool = True) -> Lesson | None:
    """What a mover learns from an episode; None if nothing in it could move.

    Only episodes whose parts a simulator knew can teach that.

    Args:
        episode: Of a robot that does something.
        measured: Whether the fingers are where they were, or where they were told to go, through
            whatever they hold: all that is known of actions that were never carried out.
    """
    parts, video = _parts(episode), episode.video
    to_base = np.linalg.inv(episode.base)
    from_camera = to_base @ video.camera.pose
    robot = robot_of(episode if measured else _as_told(episode))
    seen = np.isfinite(video.xyz[0]).all(-1) & (parts.mask[0] != ROBOT)
    return lesson_of(
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


def view_from(episode: Episode) -> tuple[Tensor, Tensor]:
    """What a seer learns from an episode: its first view [8, H, W], and parts [H, W] from 1 on."""
    parts, video = _parts(episode), episode.video
    to_base = np.linalg.inv(episode.base) @ video.camera.pose
    robot = parts.mask[0] == ROBOT
    part = np.maximum(parts.mask[0].astype(np.int64) - FIRST + 1, 0)
    view = first_view(video.rgb[0], _carry(to_base, video.xyz[0]), robot)
    return view, torch.from_numpy(part)


def depth_from(episode: Episode) -> tuple[Tensor, Tensor]:
    """What a gauge learns from an episode: its view [9, H, W], and logarithms of depth [H, W]."""
    video = episode.video
    base = video.camera.world_to_camera @ episode.base
    robot = np.where(episode.robot_mask[0][..., None], video.xyz[0], np.nan)
    view = gauge_view(video.rgb[0], robot, video.camera, base)
    return view, torch.from_numpy(np.log(video.xyz[0][..., 2]))


def canvases_from(episode: Episode, frames: Sequence[int]) -> Canvases:
    """What a painter learns from an episode: staged frames whose parts move as they truly did."""
    parts, video = _parts(episode), episode.video
    actor, times = robot_of(episode), [0, *frames]
    assert actor.transforms is not None
    actor = replace(actor, frames=len(times), transforms=actor.transforms[times])
    situation = observe(
        video.rgb[0],
        video.xyz[0],
        actor,
        video.camera,
        fps=episode.fps,
        base=episode.base,
        threads=1,
    )
    part = np.maximum(parts.mask[0].astype(int) - FIRST, -1)
    moving = moving_parts(video.xyz[0], part, parts.motions)
    stage = Stage(situation, part, moving)
    staged = [stage.show(k, parts.motions[t][moving]) for k, t in enumerate(frames, 1)]
    true = [*frames]
    depth = np.log(video.xyz[true][..., 2] / np.stack([one.xyz[..., 2] for one in staged]))
    return Canvases(
        torch.stack([painter_view(situation, one) for one in staged]),
        torch.from_numpy(video.rgb[true].astype(np.float32) / 127.5 - 1).permute(0, 3, 1, 2),
        torch.from_numpy(depth.astype(np.float32)),
        torch.from_numpy(video.mask[true] == ROBOT),
    )


def views(
    store: Episodes,
    numbers: Sequence[int],
    *,
    batch: int,
    seed: int,
    step: int = 0,
    varied: bool = True,
) -> Iterator[Views]:
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
    for dice, some in chosen(numbers, batch, seed, step):
        pairs = [view_from(store.episode(n)) for n in some]
        if varied:
            pairs = [_varied(view, part, dice) for view, part in pairs]
        yield Views(*(torch.stack(column) for column in zip(*pairs, strict=True)))


def _varied(view: Tensor, part: Tensor, dice: np.random.Generator) -> tuple[Tensor, Tensor]:
    if dice.random() < 0.5:
        view, part = view.flip(-1), part.flip(-1)
    if dice.random() < 0.5:
        order, light = dice.permutation(3), dice.uniform(0.6, 1.2)
        rgb = (light * (view[:3][order] + 1) - 1).clamp(-1, 1)
        view = torch.cat([rgb, view[3:]])
    return view, part


def depths(
    store: Episodes, numbers: Sequence[int], *, batch: int, seed: int, step: int = 0
) -> Iterator[Depths]:
    """First views and their depths, without end; a batch depends on seed and step alone."""
    for _, some in chosen(numbers, batch, seed, step):
        found = [depth_from(store.episode(n)) for n in some]
        yield Depths(*(torch.stack(column) for column in zip(*found, strict=True)))


def canvases(
    store: Episodes,
    numbers: Sequence[int],
    *,
    episodes: int,
    frames: int,
    seed: int,
    step: int = 0,
) -> Iterator[Canvases]:
    """Some frames of some episodes, without end; a batch depends on seed and step alone."""
    for dice, some in chosen(numbers, episodes, seed, step):
        made = []
        for number in some:
            episode = store.episode(number)
            times = dice.choice(np.arange(1, len(episode)), frames, replace=False)
            made.append(canvases_from(episode, [int(one) for one in times]))
        yield Canvases(
            *(torch.cat([getattr(one, field.name) for one in made]) for field in fields(Canvases))
        )


def chosen(
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


def _parts(episode: Episode) -> Parts:
    if episode.parts is None:
        raise InputError(f"episode '{episode.name}' does not know its rigid parts")
    return episode.parts


def _carry(motion: np.ndarray, points: np.ndarray) -> np.ndarray:
    return points @ motion[:3, :3].T + motion[:3, 3]


@lru_cache(maxsize=8)
def _body(name: str) -> RobotBody:
    return load_arm(name).body if name in ARMS else load_robot(name)
