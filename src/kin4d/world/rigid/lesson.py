"""Lesson: what a mover learns from one episode. Points of robot and things, in the robot's base."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from kin4d.files import atomic_path, read_arrays

PART_POINTS, OTHER_POINTS = 48, 256
AWAY = 9.0
"""Metres: where points are put that should not be seen."""
_STEP = 5e-5  # m: lessons are kept in whole numbers of this, 16 bits each
_LEAST = 4  # pixels of a part below which it is not there
_MOVED = 0.004  # m in a window that make it one in which something happens


@dataclass(frozen=True, eq=False, kw_only=True)
class Lesson:
    """Points are [..., 3] m in the frame of the robot's base, whose z axis is up.

    Attributes:
        track: [T, N, 3] float32: the robot's surface.
        parts: [P, M, 3] float32: what the first frame shows of each rigid part.
        motions: [T, P, 3, 4] float32: how the parts move from there.
        others: [S, 3] float32: what the first frame shows of everything but the robot.
        owner: [S] int64: the part each of them belongs to, -1 for the room.
        seconds: Between frames.
        numbers: [P] what the parts were called before; parts that are hardly seen are left out.
    """

    track: np.ndarray
    parts: np.ndarray
    motions: np.ndarray
    others: np.ndarray
    owner: np.ndarray
    seconds: float
    numbers: tuple[int, ...] = ()

    def tensors(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Track, parts, others and owner, as `Mover.roll` takes them."""
        track, parts = torch.from_numpy(self.track), torch.from_numpy(self.parts)
        return track, parts, torch.from_numpy(self.others), torch.from_numpy(self.owner)

    def poses_of_others(self, frames: np.ndarray) -> np.ndarray:
        """[F, S, 3, 4]: how each of the others has moved by these frames."""
        still = np.zeros((len(frames), 1, 3, 4), np.float32)
        still[..., :3] = np.eye(3)
        return np.concatenate([self.motions[frames], still], axis=1)[:, self.owner]


def lesson_of(
    *,
    track: np.ndarray,
    xyz: np.ndarray,
    part: np.ndarray,
    motions: np.ndarray,
    seconds: float,
    seed: int = 0,
) -> Lesson | None:
    """The lesson of a first frame and what came of it, or None if nothing in it could move.

    Args:
        track: [T, N, 3] m: the robot's surface; all lengths are in the frame of its base.
        xyz: [K, 3] m: what the first frame shows of everything but the robot.
        part: [K] int: the rigid part each of these belongs to, -1 for the room.
        motions: [T, P, 4, 4]: how the parts moved since the first frame.
        seconds: Between frames.
        seed: Of the points that are kept.
    """
    dice = np.random.default_rng(seed)
    numbers, pixels = np.unique(part[part >= 0], return_counts=True)
    numbers = numbers[pixels >= _LEAST]
    if not len(numbers):
        return None
    parts = np.stack([dice.choice(xyz[part == number], PART_POINTS) for number in numbers])
    renumbered = np.full(motions.shape[1] + 1, -1)  # the last is for the room
    renumbered[numbers] = np.arange(len(numbers))
    # Most of the others are near the parts, where they may be in the way.
    far = np.linalg.norm(xyz[:, None] - parts.mean(1), axis=-1).min(1)
    near = np.exp(-((far / 0.12) ** 2)) + 1e-4
    chosen = dice.choice(len(xyz), OTHER_POINTS, p=near / near.sum())
    return Lesson(
        track=track.astype(np.float32),
        parts=parts.astype(np.float32),
        motions=motions[:, numbers, :3].astype(np.float32),
        others=xyz[chosen].astype(np.float32),
        owner=renumbered[part[chosen]],
        seconds=seconds,
        numbers=tuple(int(one) for one in numbers),
    )


def save_lessons(path: str | Path, lessons: Sequence[Lesson]) -> None:
    """Write lessons to one ``.npz``; points are rounded to a twentieth of a millimetre."""
    counts = np.array([len(one.parts) for one in lessons])
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        np.savez(
            file,
            counts=counts,
            track=np.stack([_packed(one.track) for one in lessons]),
            parts=np.concatenate([_packed(one.parts) for one in lessons]),
            motions=np.concatenate([one.motions.swapaxes(0, 1) for one in lessons]),
            others=np.stack([_packed(one.others) for one in lessons]),
            owner=np.stack([one.owner for one in lessons]).astype(np.int8),
            seconds=np.array([one.seconds for one in lessons]),
        )


def load_lessons(path: str | Path) -> list[Lesson]:
    """Read what `save_lessons` wrote."""
    data = read_arrays(path, what="lessons")
    ends = np.cumsum(data["counts"])
    return [
        Lesson(
            track=_unpacked(data["track"][i]),
            parts=_unpacked(data["parts"][end - count : end]),
            motions=data["motions"][end - count : end].swapaxes(0, 1),
            others=_unpacked(data["others"][i]),
            owner=data["owner"][i].astype(np.int64),
            seconds=float(data["seconds"][i]),
        )
        for i, (count, end) in enumerate(zip(data["counts"], ends, strict=True))
    ]


def _packed(metres: np.ndarray) -> np.ndarray:
    return np.clip(np.rint(metres / _STEP), -32768, 32767).astype(np.int16)


def _unpacked(levels: np.ndarray) -> np.ndarray:
    return levels.astype(np.float32) * np.float32(_STEP)


@dataclass(frozen=True, eq=False)
class Windows:
    """B short stretches of L steps, each of one part.

    Attributes:
        robot: [B, L + 1, N, 3] m.
        part: [B, M, 3] m: the part's points in the first frame of its episode.
        poses: [B, L + 2, 3, 4]: where they go; the first is of the frame before the stretch.
        others: [B, L + 1, S, 3] m: everything else.
        seconds: [B] between frames.
    """

    robot: Tensor
    part: Tensor
    poses: Tensor
    others: Tensor
    seconds: Tensor

    @property
    def length(self) -> int:
        """L."""
        return self.robot.shape[1] - 1


def windows(
    lessons: Sequence[Lesson], *, batch: int, length: int, seed: int, step: int = 0
) -> Iterator[Windows]:
    """Stretches without end, half of them such that something moves, turned and mirrored at random.

    The batch of a step depends on the seed and the step alone.
    """
    lively = [np.argwhere(_lively(one, length)) for one in lessons]
    numbers = np.flatnonzero([len(one) for one in lively])
    while True:
        dice = np.random.default_rng([seed, step])
        items = []
        for place in range(batch):
            if place % 2 and len(numbers):
                chosen = int(dice.choice(numbers))
                start, part = lively[chosen][dice.integers(len(lively[chosen]))]
            else:
                chosen = int(dice.integers(len(lessons)))
                start = dice.integers(len(lessons[chosen].track) - length)
                part = dice.integers(len(lessons[chosen].parts))
            items.append(_window(lessons[chosen], int(start), int(part), length, dice))
        yield Windows(*(torch.from_numpy(np.stack(column)) for column in zip(*items, strict=True)))
        step += 1


def _lively(lesson: Lesson, length: int) -> np.ndarray:
    """[T - L, P] whether a part moves in the stretch that begins at a frame."""
    middle = lesson.parts.mean(1)
    place = np.einsum("tpij,pj->tpi", lesson.motions[..., :3], middle) + lesson.motions[..., 3]
    turned = np.abs(lesson.motions[length:, ..., :3] - lesson.motions[:-length, ..., :3]).sum(
        (2, 3)
    )
    return np.linalg.norm(place[length:] - place[:-length], axis=-1) + 0.02 * turned > _MOVED


def _window(
    lesson: Lesson, start: int, part: int, length: int, dice: np.random.Generator
) -> tuple[np.ndarray, ...]:
    frames = np.arange(start, start + length + 1)
    before = np.concatenate([[max(start - 1, 0)], frames])
    carried = lesson.poses_of_others(frames)
    others = (carried[..., :3] @ lesson.others[:, :, None])[..., 0] + carried[..., 3]
    # The part itself is not among the others; its points are put out of the way.
    others[:, lesson.owner == part] = AWAY
    turn = _turned(dice)
    poses = lesson.motions[before, part].copy()
    poses[..., :3] = turn @ poses[..., :3] @ turn.T
    poses[..., 3] = poses[..., 3] @ turn.T
    return (
        lesson.track[frames] @ turn.T,
        lesson.parts[part] @ turn.T,
        poses,
        others.astype(np.float32) @ turn.T,
        np.array(lesson.seconds, np.float32),
    )


def _turned(dice: np.random.Generator) -> np.ndarray:
    """[3, 3] a random turn about z, with or without a mirror."""
    angle = dice.uniform(0, 2 * np.pi)
    c, s = np.cos(angle), np.sin(angle)
    turn = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]], np.float32)
    return turn * np.array([1, dice.choice([-1, 1]), 1], np.float32)
