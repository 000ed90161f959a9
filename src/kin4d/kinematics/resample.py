"""Resampling in time: any number of frames to any other, spread evenly over the same duration."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from kin4d.bodies.body import Body
from kin4d.errors import InputError
from kin4d.kinematics.actions import Actions, differentiate, integrate
from kin4d.kinematics.conventions import poses_to_values, values_to_poses

Motion = TypeVar("Motion", Actions, Tensor, np.ndarray)


def resample(motion: Motion, frames: int = 49, *, body: Body | None = None) -> Motion:
    """`motion` in `frames` frames: linear in joints and positions, slerp in rotations.

    Absolute motions keep their first and last frame; deltas keep where they lead.

    Args:
        motion: Actions, or coordinates [T, k].
        frames: How many frames to make.
        body: Given, joints without limits take the shorter direction instead of a jump at pi.
    """
    if frames < 1:
        raise InputError("cannot resample to so few frames", value=frames, allowed="at least 1")
    if isinstance(motion, Actions):
        return _actions(motion, frames, body)
    if isinstance(motion, Tensor):
        return torch.from_numpy(_linear(_unwrap(motion.numpy(), body), frames)).to(motion.dtype)
    return _linear(_unwrap(motion, body), frames)


def resampled_fps(fps: float, before: int, after: int) -> float:
    """Frames per second after `before` frames become `after` between the same two ends."""
    return fps * (after - 1) / (before - 1) if min(before, after) > 1 else fps


def _actions(actions: Actions, frames: int, body: Body | None) -> Actions:
    before = len(actions)
    gripper = None if actions.gripper is None else _linear(actions.gripper[:, None], frames)[:, 0]
    if actions.is_delta:
        fps = actions.fps * frames / before
    else:
        fps = resampled_fps(actions.fps, before, frames)
    if actions.kind == "joint":
        values = _linear(_unwrap(actions.values, body, actions.names), frames)
    elif actions.kind == "joint_delta":
        values = np.diff(_linear(_cumulated(actions.values), frames + 1), axis=0)
    elif actions.kind == "pose":
        poses = values_to_poses(actions.values, actions.rotation)
        values = poses_to_values(_slerp(poses, frames), actions.rotation)
    else:
        deltas = values_to_poses(actions.values, actions.rotation)
        start = np.eye(4)
        path = np.concatenate([start[None], integrate(deltas, start, frame=actions.frame)])
        path = _slerp(path, frames + 1)
        deltas = differentiate(path[1:], path[0], frame=actions.frame)
        values = poses_to_values(deltas, actions.rotation)
    return replace(actions, values=values, gripper=gripper, fps=fps)


def _cumulated(deltas: np.ndarray) -> np.ndarray:
    return np.concatenate([np.zeros_like(deltas[:1]), deltas.cumsum(0)])


def _times(before: int, after: int) -> np.ndarray:
    return np.linspace(0, before - 1, after)


def _linear(values: np.ndarray, frames: int) -> np.ndarray:
    if values.ndim != 2 or len(values) == 0:
        raise InputError("a motion is [T >= 1, k] numbers", value=values.shape)
    times, known = _times(len(values), frames), np.arange(len(values))
    return np.stack([np.interp(times, known, column) for column in values.T], 1)


def _slerp(poses: np.ndarray, frames: int) -> np.ndarray:
    from scipy.spatial.transform import Rotation, Slerp

    out = np.tile(np.eye(4), (frames, 1, 1))
    out[:, :3, 3] = _linear(poses[:, :3, 3], frames)
    if len(poses) == 1:
        out[:, :3, :3] = poses[0, :3, :3]
    else:
        rotations = Slerp(np.arange(len(poses)), Rotation.from_matrix(poses[:, :3, :3]))
        out[:, :3, :3] = rotations(_times(len(poses), frames)).as_matrix()
    return out


def _unwrap(
    values: np.ndarray, body: Body | None, names: tuple[str, ...] | None = None
) -> np.ndarray:
    """Undo wraps at pi of the body's joints that have no limits."""
    values = np.asarray(values, np.float64)
    if body is None or values.ndim != 2:
        return values
    names = names or body.coordinates
    endless = {
        name
        for name, limits in zip(body.coordinates, body.limits, strict=True)
        if torch.isinf(limits).all()
    }
    columns = [i for i, name in enumerate(names[: values.shape[1]]) if name in endless]
    values = values.copy()
    values[:, columns] = np.unwrap(values[:, columns], axis=0)
    return values
