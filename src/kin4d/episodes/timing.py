"""Timing: which recorded frames stand for an episode, and what was commanded between them.

Images are not blended: the frame nearest in time to each of `frames` evenly spaced instants is
taken, first and last included, and joints and masks are those of the frames taken. Fewer than two
frames are refused. From two up to fewer than requested, frames are repeated and the episode is
flagged "stretched". Frames unevenly spaced in time are taken by their times; a gap of more than
`MAX_GAP` usual steps is refused, because what happened in it was not recorded.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kin4d.episodes.episode import FRAMES, Episode
from kin4d.errors import InputError
from kin4d.kinematics.actions import Actions, differentiate, integrate
from kin4d.kinematics.conventions import poses_to_values, values_to_poses
from kin4d.kinematics.resample import resampled_fps

STRETCHED = "stretched"
MAX_GAP = 8.0
"""Longest step between recorded frames, in usual (median) steps."""


def uniform_frames(times: np.ndarray, frames: int = FRAMES) -> np.ndarray:
    """[frames] int64: which of the frames recorded at `times` [T] (s) stand for the clip."""
    times = check_times(times)
    if frames < 2:
        raise InputError("an episode cannot have so few frames", value=frames, allowed=">= 2")
    wanted = np.linspace(times[0], times[-1], frames)
    after = np.searchsorted(times, wanted).clip(1, len(times) - 1)
    # Midway between two frames the earlier is taken, with room for rounding.
    nearer = times[after] - wanted < (wanted - times[after - 1]) * (1 - 1e-9)
    return np.where(nearer, after, after - 1)


def check_times(times: np.ndarray) -> np.ndarray:
    """`times` [T] (s) as float64, or an `InputError` saying why no episode can be made of them."""
    times = np.asarray(times, np.float64)
    if times.ndim != 1 or len(times) < 2:
        raise InputError("too few frames for an episode", value=times.size, allowed="at least 2")
    steps = np.diff(times)
    if not np.isfinite(steps).all() or steps.min() <= 0:
        at = int(np.flatnonzero(~(steps > 0))[0]) if not (steps > 0).all() else 0
        raise InputError(
            f"frame times do not grow: frame {at + 1} is not after frame {at}",
            value=times[at : at + 2].tolist(),
            allowed="seconds, in order",
        )
    usual, longest = float(np.median(steps)), int(steps.argmax())
    if steps[longest] > MAX_GAP * usual:
        raise InputError(
            f"frames are missing between {times[longest]:.3f} s and {times[longest + 1]:.3f} s",
            value=f"a gap of {steps[longest]:.3f} s",
            allowed=f"at most {MAX_GAP:g} times the usual {usual:.3f} s",
            hint="cut the recording at the gap",
        )
    return times


def rows_at(times: np.ndarray, motion: Actions) -> np.ndarray:
    """[T] which row of a motion, which starts at time 0, each of `times` [T] (s) falls on."""
    rows = np.rint(times * motion.fps).astype(int)
    # A frame or two of slack: recorders do not stop everything at the same instant.
    slack = 2 * motion.fps * float(np.median(np.diff(times))) if len(times) > 1 else 0.0
    if rows[-1] > len(motion) - 1 + slack:
        raise InputError(
            "the video is longer than the motion",
            value=f"{times[-1]:.2f} s of video, {len(motion) / motion.fps:.2f} s of motion",
            hint="check that they belong together, and their frame rates",
        )
    return rows.clip(max=len(motion) - 1)


def pick_actions(actions: Actions, index: np.ndarray, *, fps: float) -> Actions:
    """The actions that lead through frames `index` [n] (not decreasing) alone, at another rate.

    Absolute actions are those of the frames; changes add up over the frames left out, and are none
    where a frame is repeated.
    """
    gripper = None if actions.gripper is None else actions.gripper[index]
    if not actions.is_delta:
        return replace(actions, values=actions.values[index], gripper=gripper, fps=fps)
    if actions.kind == "joint_delta":
        values = np.diff(actions.values.cumsum(0)[index], axis=0, prepend=0.0)
    else:
        start = np.eye(4)
        deltas = values_to_poses(actions.values, actions.rotation)
        poses = integrate(deltas, start, frame=actions.frame)[index]
        between = differentiate(poses, start, frame=actions.frame)
        values = poses_to_values(between, actions.rotation)
    return replace(actions, values=values, gripper=gripper, fps=fps)


def shift_actions(actions: Actions, by: int) -> Actions:
    """Actions one row later (`by` 1) or earlier (-1): sources differ in whether row t holds the
    command given in frame t or the one that led to it. At the end that opens, absolute actions are
    repeated and changes are none."""
    rows = (np.arange(len(actions)) - by).clip(0, len(actions) - 1)
    values = actions.values[rows]
    if actions.is_delta:
        still = np.zeros(values.shape[1])
        if actions.is_pose:
            still = poses_to_values(np.eye(4)[None], actions.rotation)[0]
        values[0 if by > 0 else -1] = still
    gripper = None if actions.gripper is None else actions.gripper[rows]
    return replace(actions, values=values, gripper=gripper)


def resample_episode(episode: Episode, frames: int = FRAMES) -> Episode:
    """`episode` in `frames` frames by the rule of this module; itself if it has as many."""
    count = len(episode)
    if count == frames:
        return episode
    index = uniform_frames(np.arange(count) / episode.fps, frames)
    return pick_frames(episode, index, fps=resampled_fps(episode.fps, count, frames))


def pick_frames(episode: Episode, index: np.ndarray, *, fps: float) -> Episode:
    """The episode of frames `index` [n], which do not decrease, played at `fps`."""
    video, actions = episode.video, episode.actions
    flags = episode.flags
    if len(np.unique(index)) < len(index) and STRETCHED not in flags:
        flags = (*flags, STRETCHED)
    return replace(
        episode,
        video=replace(
            video, rgb=video.rgb[index], xyz=video.xyz[index], mask=video.mask[index], fps=fps
        ),
        joints=None if episode.joints is None else episode.joints[index],
        actions=None if actions is None else pick_actions(actions, index, fps=fps),
        parts=None if episode.parts is None else episode.parts.pick(index),
        flags=flags,
    )
