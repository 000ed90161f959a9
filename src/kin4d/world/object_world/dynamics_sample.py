"""Training sample of the part dynamics: robot and object points of an episode, over its support."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from scipy.spatial import KDTree
from torch import Tensor

from kin4d.files import atomic_path, read_arrays
from kin4d.reading import reading

PART_POINTS, OTHER_POINTS = 48, 256
OUT_OF_RANGE = 9.0
"""Coordinate, m, of points that the network should ignore."""
CONTACT_RANGE = 0.03
"""Metres from the robot within which contact is possible."""
_RESOLUTION = 5e-5  # m: resolution of saved points, 16 bits each
_MIN_POINTS = 4  # visible points below which a part is left out


@dataclass(frozen=True, eq=False, kw_only=True)
class DynamicsSample:
    """Points are [..., 3] m in the support frame (see `Observation`), whose z axis is up.

    Attributes:
        robot_points: [T, N, 3] float32: points on the robot's surface.
        parts: [P, M, 3] float32: visible points of each rigid part in the first frame.
        motions: [T, P, 3, 4] float32: motion of the parts since the first frame.
        others: [S, 3] float32: visible points of everything but the robot, in the first frame.
        owner: [S] int64: the part of each of them, -1 for the background.
        seconds: Seconds between frames.
        proprioception: [T, 4] float32: gripper opening from 0 (closed) to 1, and end-effector
            tracking error, m; NaN where unknown.
        scene: Key of the initial scene, equal for episodes that start alike; "" is unique.
        part_ids: [P] original ids of the parts; parts with few visible points are left out.
    """

    robot_points: np.ndarray
    parts: np.ndarray
    motions: np.ndarray
    others: np.ndarray
    owner: np.ndarray
    seconds: float
    proprioception: np.ndarray
    scene: str = ""
    part_ids: tuple[int, ...] = ()

    def tensors(self) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Robot points, parts, others, owner, proprioception, as `rollout_parts` takes them."""
        arrays = (self.robot_points, self.parts, self.others, self.owner, self.proprioception)
        robot_points, parts, others, owner, proprioception = (
            torch.from_numpy(sample) for sample in arrays
        )
        return robot_points, parts, others, owner, proprioception

    def part_points(self, points: np.ndarray) -> np.ndarray:
        """[T, P, M, 3] m: points [P, M, 3] of the parts over time."""
        rotated = np.einsum("tpij,pmj->tpmi", self.motions[..., :3], points)
        return rotated + self.motions[..., None, :, 3]

    def poses_of_others(self, frames: np.ndarray) -> np.ndarray:
        """[F, S, 3, 4]: motion of each of the others in these frames."""
        identity = np.zeros((len(frames), 1, 3, 4), np.float32)
        identity[..., :3] = np.eye(3)
        return np.concatenate([self.motions[frames], identity], axis=1)[:, self.owner]


def make_dynamics_sample(
    *,
    robot_points: np.ndarray,
    xyz: np.ndarray,
    part: np.ndarray,
    motions: np.ndarray,
    seconds: float,
    gripper_opening: np.ndarray | None = None,
    ee_tracking_error: np.ndarray | None = None,
    path: np.ndarray | None = None,
    scene: str = "",
    seed: int = 0,
) -> DynamicsSample | None:
    """The sample of a first frame and the motion after it, or None if it shows no part.

    Args:
        robot_points: [T, N, 3] m: points on the robot's surface; all points are in one frame.
        xyz: [K, 3] m: visible points of everything but the robot, in the first frame.
        part: [K] int: the rigid part of each of these, -1 for the background.
        motions: [T, P, 4, 4]: motion of the parts since the first frame.
        seconds: Seconds between frames.
        gripper_opening: [T] from 0 (closed) to 1, if known.
        ee_tracking_error: [T, 3] m, if known; see `Observation`.
        path: [U, N, 3] m: all that is known of the robot's motion, near which more points are
            chosen; `robot_points` if None.
        scene: Key of the initial scene; see `DynamicsSample`.
        seed: Seed of the choice of points.
    """
    rng = np.random.default_rng(seed)
    proprioception = np.full((len(robot_points), 4), np.nan, np.float32)
    if gripper_opening is not None:
        proprioception[:, 0] = gripper_opening
    if ee_tracking_error is not None:
        proprioception[:, 1:] = ee_tracking_error
    part_ids, pixels = np.unique(part[part >= 0], return_counts=True)
    part_ids = part_ids[pixels >= _MIN_POINTS]
    if not len(part_ids):
        return None
    robot_tree = KDTree((robot_points if path is None else path).reshape(-1, 3))
    parts = np.stack(
        [_choose_points(xyz[part == part_id], robot_tree, rng) for part_id in part_ids]
    )
    new_id = np.full(motions.shape[1] + 1, -1)  # the last is for the background
    new_id[part_ids] = np.arange(len(part_ids))
    # Most of the others are chosen near the parts, where they may be obstacles.
    distance = np.linalg.norm(xyz[:, None] - parts.mean(1), axis=-1).min(1)
    weight = np.exp(-((distance / 0.12) ** 2)) + 1e-4
    chosen = rng.choice(len(xyz), OTHER_POINTS, p=weight / weight.sum())
    return DynamicsSample(
        robot_points=robot_points.astype(np.float32),
        parts=parts.astype(np.float32),
        motions=motions[:, part_ids, :3].astype(np.float32),
        others=xyz[chosen].astype(np.float32),
        owner=new_id[part[chosen]],
        seconds=seconds,
        proprioception=proprioception,
        scene=scene,
        part_ids=tuple(int(sample) for sample in part_ids),
    )


def _choose_points(points: np.ndarray, robot_tree: KDTree, rng: np.random.Generator) -> np.ndarray:
    """[M, 3] of a part's points: half at random, half near the robot's path."""
    weight = np.exp(-((robot_tree.query(points)[0] / CONTACT_RANGE) ** 2)) + 1e-3
    half = PART_POINTS // 2
    chosen = rng.choice(len(points), PART_POINTS - half, p=weight / weight.sum())
    return np.concatenate([rng.choice(points, half), points[chosen]])


def save_dynamics_samples(path: str | Path, samples: Sequence[DynamicsSample]) -> None:
    """Write samples to one ``.npz``; points are rounded to a twentieth of a millimetre."""
    counts = np.array([len(sample.parts) for sample in samples])
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        np.savez(
            file,
            counts=counts,
            robot_points=np.stack([_quantize(sample.robot_points) for sample in samples]),
            parts=np.concatenate([_quantize(sample.parts) for sample in samples]),
            motions=np.concatenate([sample.motions.swapaxes(0, 1) for sample in samples]),
            others=np.stack([_quantize(sample.others) for sample in samples]),
            owner=np.stack([sample.owner for sample in samples]).astype(np.int8),
            seconds=np.array([sample.seconds for sample in samples]),
            proprioception=np.stack([sample.proprioception for sample in samples]),
            scene=np.array([sample.scene for sample in samples]),
        )


def load_dynamics_samples(path: str | Path) -> list[DynamicsSample]:
    """Read what `save_dynamics_samples` wrote."""
    data = read_arrays(path, what="dynamics samples")
    with reading(path, "file of dynamics samples"):
        return _samples(data)


def _samples(data: dict[str, np.ndarray]) -> list[DynamicsSample]:
    ends = np.cumsum(data["counts"])
    return [
        DynamicsSample(
            robot_points=_dequantize(data["robot_points"][i]),
            parts=_dequantize(data["parts"][end - count : end]),
            motions=data["motions"][end - count : end].swapaxes(0, 1),
            others=_dequantize(data["others"][i]),
            owner=data["owner"][i].astype(np.int64),
            seconds=float(data["seconds"][i]),
            proprioception=data["proprioception"][i],
            scene=str(data["scene"][i]),
        )
        for i, (count, end) in enumerate(zip(data["counts"], ends, strict=True))
    ]


def _quantize(values: np.ndarray) -> np.ndarray:
    return np.clip(np.rint(values / _RESOLUTION), -32768, 32767).astype(np.int16)


def _dequantize(levels: np.ndarray) -> np.ndarray:
    return levels.astype(np.float32) * np.float32(_RESOLUTION)
