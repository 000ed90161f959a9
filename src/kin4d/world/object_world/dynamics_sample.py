"""Training sample of the part dynamics: robot and object points of an episode, in robot base."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from scipy.spatial import KDTree
from torch import Tensor

from kin4d.files import atomic_path, read_arrays

PART_POINTS, OTHER_POINTS = 48, 256
AWAY = 9.0
"""Metres: where points are put that should not be seen."""
BESIDE = 0.03
"""Metres from the robot: where it may touch."""
_STEP = 5e-5  # m: lessons are kept in whole numbers of this, 16 bits each
_LEAST = 4  # pixels of a part below which it is not there


@dataclass(frozen=True, eq=False, kw_only=True)
class DynamicsSample:
    """Points are [..., 3] m in the frame of the robot's base, whose z axis is up.

    Attributes:
        track: [T, N, 3] float32: the robot's surface.
        parts: [P, M, 3] float32: what the first frame shows of each rigid part.
        motions: [T, P, 3, 4] float32: how the parts move from there.
        others: [S, 3] float32: what the first frame shows of everything but the robot.
        owner: [S] int64: the part each of them belongs to, -1 for the room.
        seconds: Between frames.
        felt: [T, 4] float32: how open the robot's gripper is, 0 closed to 1, and how far its hand
            is from where it was told to be, m; NaN what is not known.
        scene: Episodes that begin alike have the same; "" is like no other.
        numbers: [P] what the parts were called before; parts that are hardly seen are left out.
    """

    track: np.ndarray
    parts: np.ndarray
    motions: np.ndarray
    others: np.ndarray
    owner: np.ndarray
    seconds: float
    felt: np.ndarray
    scene: str = ""
    numbers: tuple[int, ...] = ()

    def tensors(self) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Track, parts, others, owner and what is felt, as `Mover.roll` takes them."""
        arrays = (self.track, self.parts, self.others, self.owner, self.felt)
        track, parts, others, owner, felt = (torch.from_numpy(one) for one in arrays)
        return track, parts, others, owner, felt

    def places(self, points: np.ndarray) -> np.ndarray:
        """[T, P, M, 3] m: where points [P, M, 3] of the parts go."""
        turned = np.einsum("tpij,pmj->tpmi", self.motions[..., :3], points)
        return turned + self.motions[..., None, :, 3]

    def poses_of_others(self, frames: np.ndarray) -> np.ndarray:
        """[F, S, 3, 4]: how each of the others has moved by these frames."""
        still = np.zeros((len(frames), 1, 3, 4), np.float32)
        still[..., :3] = np.eye(3)
        return np.concatenate([self.motions[frames], still], axis=1)[:, self.owner]


def make_dynamics_sample(
    *,
    track: np.ndarray,
    xyz: np.ndarray,
    part: np.ndarray,
    motions: np.ndarray,
    seconds: float,
    opening: np.ndarray | None = None,
    lag: np.ndarray | None = None,
    scene: str = "",
    seed: int = 0,
) -> DynamicsSample | None:
    """The lesson of a first frame and what came of it, or None if nothing in it could move.

    Args:
        track: [T, N, 3] m: the robot's surface; all lengths are in the frame of its base.
        xyz: [K, 3] m: what the first frame shows of everything but the robot.
        part: [K] int: the rigid part each of these belongs to, -1 for the room.
        motions: [T, P, 4, 4]: how the parts moved since the first frame.
        seconds: Between frames.
        opening: [T] how open the robot's gripper is, 0 closed to 1, if that is known.
        lag: [T, 3] m: how far its hand is from where it was told to be, if that is known.
        scene: Of the episode; see `DynamicsSample`.
        seed: Of the points that are kept.
    """
    dice = np.random.default_rng(seed)
    felt = np.full((len(track), 4), np.nan, np.float32)
    if opening is not None:
        felt[:, 0] = opening
    if lag is not None:
        felt[:, 1:] = lag
    numbers, pixels = np.unique(part[part >= 0], return_counts=True)
    numbers = numbers[pixels >= _LEAST]
    if not len(numbers):
        return None
    way = KDTree(track.reshape(-1, 3))
    parts = np.stack([_chosen(xyz[part == number], way, dice) for number in numbers])
    renumbered = np.full(motions.shape[1] + 1, -1)  # the last is for the room
    renumbered[numbers] = np.arange(len(numbers))
    # Most of the others are near the parts, where they may be in the way.
    far = np.linalg.norm(xyz[:, None] - parts.mean(1), axis=-1).min(1)
    near = np.exp(-((far / 0.12) ** 2)) + 1e-4
    chosen = dice.choice(len(xyz), OTHER_POINTS, p=near / near.sum())
    return DynamicsSample(
        track=track.astype(np.float32),
        parts=parts.astype(np.float32),
        motions=motions[:, numbers, :3].astype(np.float32),
        others=xyz[chosen].astype(np.float32),
        owner=renumbered[part[chosen]],
        seconds=seconds,
        felt=felt,
        scene=scene,
        numbers=tuple(int(one) for one in numbers),
    )


def _chosen(points: np.ndarray, way: KDTree, dice: np.random.Generator) -> np.ndarray:
    """[M, 3] of a part's points: half are any, half where the robot comes by, if it does."""
    near = np.exp(-((way.query(points)[0] / BESIDE) ** 2)) + 1e-3
    half = PART_POINTS // 2
    where = dice.choice(len(points), PART_POINTS - half, p=near / near.sum())
    return np.concatenate([dice.choice(points, half), points[where]])


def save_dynamics_samples(path: str | Path, lessons: Sequence[DynamicsSample]) -> None:
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
            felt=np.stack([one.felt for one in lessons]),
            scene=np.array([one.scene for one in lessons]),
        )


def load_dynamics_samples(path: str | Path) -> list[DynamicsSample]:
    """Read what `save_dynamics_samples` wrote."""
    data = read_arrays(path, what="lessons")
    ends = np.cumsum(data["counts"])
    return [
        DynamicsSample(
            track=_unpacked(data["track"][i]),
            parts=_unpacked(data["parts"][end - count : end]),
            motions=data["motions"][end - count : end].swapaxes(0, 1),
            others=_unpacked(data["others"][i]),
            owner=data["owner"][i].astype(np.int64),
            seconds=float(data["seconds"][i]),
            felt=data["felt"][i],
            scene=str(data["scene"][i]),
        )
        for i, (count, end) in enumerate(zip(data["counts"], ends, strict=True))
    ]


def _packed(metres: np.ndarray) -> np.ndarray:
    return np.clip(np.rint(metres / _STEP), -32768, 32767).astype(np.int16)


def _unpacked(levels: np.ndarray) -> np.ndarray:
    return levels.astype(np.float32) * np.float32(_STEP)
