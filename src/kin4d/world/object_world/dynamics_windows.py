"""Windows: short segments of samples, which the dynamics network is trained on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import torch
from torch import Tensor

from kin4d.errors import InputError
from kin4d.world.object_world.dynamics_sample import CONTACT_RANGE, OUT_OF_RANGE, DynamicsSample

_MIN_MOTION = 0.004  # m in a window above which the part moves
_DIVERGED = 0.015  # m between the same part in two episodes that diverge
_ERROR_DROPOUT = 0.25  # share of windows without end-effector tracking error
_STATIC, _MOVING, _NEAR_STATIC = 0, 1, 2  # of a part in a window


@dataclass(frozen=True, eq=False)
class Windows:
    """B windows of L steps, each of one part.

    Attributes:
        robot: [B, L + 1, N, 3] m.
        part: [B, M, 3] m: the part's points in the first frame of its episode.
        poses: [B, L + 2, 3, 4]: their poses; the first is of the frame before the window.
        others: [B, L + 1, S, 3] m: everything else.
        seconds: [B] seconds between frames.
        proprioception: [B, L + 1, 4]; see `DynamicsSample`.
    """

    robot: Tensor
    part: Tensor
    poses: Tensor
    others: Tensor
    seconds: Tensor
    proprioception: Tensor

    @property
    def length(self) -> int:
        """Steps L."""
        return self.robot.shape[1] - 1


def sample_windows(
    samples: Sequence[DynamicsSample], *, batch: int, length: int, seed: int, step: int = 0
) -> Iterator[Windows]:
    """Endless batches of windows, rotated and mirrored at random.

    Of eight windows, in three the part moves, two are any, in one the robot is close and the part
    does not move, and two are of episodes of one scene that diverge there: a success and a near
    miss. The batch of a step depends on the seed and the step alone.
    """
    kinds_per_sample = [_window_kinds(sample, length) for sample in samples]
    moving, near_static, every = (
        _window_starts(kinds_per_sample, kinds)
        for kinds in ((_MOVING,), (_NEAR_STATIC,), (_STATIC, _MOVING, _NEAR_STATIC))
    )
    if not len(every):
        raise InputError(
            "no part in these episodes is seen long enough to learn its motion",
            allowed=f"episodes of more than {length} frames",
            hint="ask for shorter windows (--window-frames), or make longer episodes",
        )
    diverging, other = _diverging_pairs(samples, length), 0
    while True:
        rng = np.random.default_rng([seed, step])
        items = []
        for slot in range(batch):
            role = slot % 8
            if role < 6 or not diverging:
                kinds = (moving, every, near_static, moving, every, moving, near_static, moving)
                wanted = kinds[role] if len(kinds[role]) else every
                chosen, start, part = wanted[rng.integers(len(wanted))]
            elif role == 6:
                (chosen, other), start, part = diverging[rng.integers(len(diverging))]
            else:
                chosen = other
            items.append(_window(samples[chosen], int(start), int(part), length, rng))
        yield Windows(*(torch.from_numpy(np.stack(column)) for column in zip(*items, strict=True)))
        step += 1


def _window_starts(kinds_per_sample: Sequence[np.ndarray], kinds: tuple[int, ...]) -> np.ndarray:
    """[N, 3] sample, frame and part of all windows of some kinds."""
    starts = [np.argwhere(np.isin(each, kinds)) for each in kinds_per_sample]
    sample_ids = np.repeat(np.arange(len(kinds_per_sample)), [len(each) for each in starts])
    return np.column_stack([sample_ids, np.concatenate(starts)])


def _window_kinds(sample: DynamicsSample, length: int) -> np.ndarray:
    """[T - L, P] kind of the window that starts at each frame, for each part."""
    # A subset of the points is enough.
    points, robot = sample.parts[:, ::4], sample.robot_points[:, ::2]
    part_points = sample.part_points(points)
    moved = np.linalg.norm(part_points[length:] - part_points[:-length], axis=-1).mean(-1)
    flat = torch.from_numpy(part_points.reshape(len(part_points), -1, 3))
    distance = torch.cdist(flat, torch.from_numpy(robot)).amin(-1).numpy()
    close = distance.reshape(part_points.shape[:3]).min(-1) < CONTACT_RANGE
    near_robot = np.stack([close[k : k + len(moved)] for k in range(length + 1)]).any(0)
    return np.where(moved > _MIN_MOTION, _MOVING, np.where(near_robot, _NEAR_STATIC, _STATIC))


def _diverging_pairs(
    samples: Sequence[DynamicsSample], length: int
) -> list[tuple[tuple[int, int], int, int]]:
    """Pairs of samples of one scene, and the frames and parts from which on they diverge."""
    scenes: dict[str, list[int]] = {}
    for number, sample in enumerate(samples):
        if sample.scene and np.isfinite(sample.proprioception[:, 0]).all():
            scenes.setdefault(sample.scene, []).append(number)
    starts = []
    for sample_ids in scenes.values():
        for pair in combinations(sample_ids, 2):
            one, other = (samples[number] for number in pair)
            if one.motions.shape != other.motions.shape:
                continue
            distance = one.part_points(one.parts) - other.part_points(one.parts)
            distance = np.linalg.norm(distance, axis=-1).mean(-1)
            diverges = (distance[:-length] < _MIN_MOTION) & (distance[length:] > _DIVERGED)
            starts += [(pair, *start) for start in np.argwhere(diverges)]
    return starts


def _window(
    sample: DynamicsSample, start: int, part: int, length: int, rng: np.random.Generator
) -> tuple[np.ndarray, ...]:
    frames = np.arange(start, start + length + 1)
    before = np.concatenate([[max(start - 1, 0)], frames])
    poses = sample.poses_of_others(frames)
    others = (poses[..., :3] @ sample.others[:, :, None])[..., 0] + poses[..., 3]
    # The part itself is not among the others; its points are moved out of range.
    others[:, sample.owner == part] = OUT_OF_RANGE
    rotation = _random_rotation(rng)
    ee_tracking_error = sample.proprioception[frames, 1:]
    if rng.random() < _ERROR_DROPOUT:
        ee_tracking_error = np.full_like(ee_tracking_error, np.nan)
    poses = sample.motions[before, part].copy()
    poses[..., :3] = rotation @ poses[..., :3] @ rotation.T
    poses[..., 3] = poses[..., 3] @ rotation.T
    return (
        sample.robot_points[frames] @ rotation.T,
        sample.parts[part] @ rotation.T,
        poses,
        others.astype(np.float32) @ rotation.T,
        np.array(sample.seconds, np.float32),
        np.concatenate([sample.proprioception[frames, :1], ee_tracking_error @ rotation.T], axis=1),
    )


def _random_rotation(rng: np.random.Generator) -> np.ndarray:
    """[3, 3] a random rotation about z, mirrored or not."""
    angle = rng.uniform(0, 2 * np.pi)
    c, s = np.cos(angle), np.sin(angle)
    rotation = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]], np.float32)
    return rotation * np.array([1, rng.choice([-1, 1]), 1], np.float32)
