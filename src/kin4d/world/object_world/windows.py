"""Windows: short segments of samples, which the dynamics network is trained on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import torch
from torch import Tensor

from kin4d.world.object_world.dynamics_sample import AWAY, BESIDE, DynamicsSample

_MOVED = 0.004  # m in a window that make it one in which something happens
_PARTED = 0.015  # m between the same part in two episodes that ended differently
_UNTOLD = 0.25  # share of stretches in which it is not told how far the hand is behind
_IDLE, _LIVELY, _SPARED = 0, 1, 2  # stretches in which nothing happens, something, almost something


@dataclass(frozen=True, eq=False)
class Windows:
    """B short stretches of L steps, each of one part.

    Attributes:
        robot: [B, L + 1, N, 3] m.
        part: [B, M, 3] m: the part's points in the first frame of its episode.
        poses: [B, L + 2, 3, 4]: where they go; the first is of the frame before the stretch.
        others: [B, L + 1, S, 3] m: everything else.
        seconds: [B] between frames.
        felt: [B, L + 1, 4]; see `DynamicsSample`.
    """

    robot: Tensor
    part: Tensor
    poses: Tensor
    others: Tensor
    seconds: Tensor
    felt: Tensor

    @property
    def length(self) -> int:
        """L."""
        return self.robot.shape[1] - 1


def sample_windows(
    sample: Sequence[DynamicsSample], *, batch: int, length: int, seed: int, step: int = 0
) -> Iterator[Windows]:
    """Stretches without end, turned and mirrored at random.

    Of eight, three are such that the part moves, two are any, one is such that the robot is close
    and the part stays where it is, and two are of episodes that began alike and part ways there: a
    hit and the miss it nearly was. The batch of a step depends on the seed and the step alone.
    """
    seen = [_kinds(one, length) for one in sample]
    lively, spared, every = (
        _places(seen, kinds) for kinds in ((_LIVELY,), (_SPARED,), (_IDLE, _LIVELY, _SPARED))
    )
    twins, other = _twins(sample, length), 0
    while True:
        dice = np.random.default_rng([seed, step])
        items = []
        for place in range(batch):
            turn = place % 8
            if turn < 6 or not twins:
                kinds = (lively, every, spared, lively, every, lively, spared, lively)
                wanted = kinds[turn] if len(kinds[turn]) else every
                chosen, start, part = wanted[dice.integers(len(wanted))]
            elif turn == 6:
                (chosen, other), start, part = twins[dice.integers(len(twins))]
            else:
                chosen = other
            items.append(_window(sample[chosen], int(start), int(part), length, dice))
        yield Windows(*(torch.from_numpy(np.stack(column)) for column in zip(*items, strict=True)))
        step += 1


def _places(seen: Sequence[np.ndarray], kinds: tuple[int, ...]) -> np.ndarray:
    """[N, 3] sample, frame and part of all stretches of some kinds."""
    found = [np.argwhere(np.isin(one, kinds)) for one in seen]
    numbers = np.repeat(np.arange(len(seen)), [len(one) for one in found])
    return np.column_stack([numbers, np.concatenate(found)])


def _kinds(sample: DynamicsSample, length: int) -> np.ndarray:
    """[T - L, P] of the stretch that begins at a frame: whether the part moves, or is spared."""
    # A few of the points tell it as well as all.
    points, robot = sample.parts[:, ::4], sample.track[:, ::2]
    places = sample.places(points)
    moved = np.linalg.norm(places[length:] - places[:-length], axis=-1).mean(-1)
    flat = torch.from_numpy(places.reshape(len(places), -1, 3))
    apart = torch.cdist(flat, torch.from_numpy(robot)).amin(-1).numpy()
    close = apart.reshape(places.shape[:3]).min(-1) < BESIDE
    met = np.stack([close[k : k + len(moved)] for k in range(length + 1)]).any(0)
    return np.where(moved > _MOVED, _LIVELY, np.where(met, _SPARED, _IDLE))


def _twins(
    samples: Sequence[DynamicsSample], length: int
) -> list[tuple[tuple[int, int], int, int]]:
    """Pairs of samples of one scene, and frames and parts from where on they part ways."""
    scenes: dict[str, list[int]] = {}
    for number, sample in enumerate(samples):
        if sample.scene and np.isfinite(sample.felt[:, 0]).all():
            scenes.setdefault(sample.scene, []).append(number)
    found = []
    for same in scenes.values():
        for pair in combinations(same, 2):
            one, other = (samples[number] for number in pair)
            if one.motions.shape != other.motions.shape:
                continue
            apart = one.places(one.parts) - other.places(one.parts)
            apart = np.linalg.norm(apart, axis=-1).mean(-1)
            parting = (apart[:-length] < _MOVED) & (apart[length:] > _PARTED)
            found += [(pair, *place) for place in np.argwhere(parting)]
    return found


def _window(
    sample: DynamicsSample, start: int, part: int, length: int, dice: np.random.Generator
) -> tuple[np.ndarray, ...]:
    frames = np.arange(start, start + length + 1)
    before = np.concatenate([[max(start - 1, 0)], frames])
    carried = sample.poses_of_others(frames)
    others = (carried[..., :3] @ sample.others[:, :, None])[..., 0] + carried[..., 3]
    # The part itself is not among the others; its points are put out of the way.
    others[:, sample.owner == part] = AWAY
    turn = _turned(dice)
    lag = sample.felt[frames, 1:]
    if dice.random() < _UNTOLD:
        lag = np.full_like(lag, np.nan)
    poses = sample.motions[before, part].copy()
    poses[..., :3] = turn @ poses[..., :3] @ turn.T
    poses[..., 3] = poses[..., 3] @ turn.T
    return (
        sample.track[frames] @ turn.T,
        sample.parts[part] @ turn.T,
        poses,
        others.astype(np.float32) @ turn.T,
        np.array(sample.seconds, np.float32),
        np.concatenate([sample.felt[frames, :1], lag @ turn.T], axis=1),
    )


def _turned(dice: np.random.Generator) -> np.ndarray:
    """[3, 3] a random turn about z, with or without a mirror."""
    angle = dice.uniform(0, 2 * np.pi)
    c, s = np.cos(angle), np.sin(angle)
    turn = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]], np.float32)
    return turn * np.array([1, dice.choice([-1, 1]), 1], np.float32)
