"""Random placements on the table, and grasp poses."""

from __future__ import annotations

import numpy as np

from kin4d.kinematics.arms import Arm
from kin4d.tasks.props import SQUAT, Prop, any_prop
from kin4d.tasks.scene_builder import SceneBuilder
from kin4d.tasks.trajectory import Trajectory, grasp_pose

CARRY = 0.17
"""Height (m) at which a hand travels: above all loose objects."""


def sample_placements(
    rng: np.random.Generator, count: int, *, gap: float = 0.11, x: float = 0.1, y: float = 0.15
) -> np.ndarray:
    """[count, 2] m: points on the table at least `gap` apart, within `x` and `y` of its centre."""
    for _ in range(1000):
        chosen = rng.uniform((-x, -y), (x, y), (count, 2))
        apart = np.linalg.norm(chosen[:, None] - chosen[None], axis=-1)
        if (apart[np.triu_indices(count, 1)] >= gap).all():
            return chosen
    raise AssertionError(f"{count} positions {gap} m apart do not fit")


def grasp_yaw(rng: np.random.Generator, prop: Prop) -> tuple[float, float]:
    """Yaw of a prop and yaw of the hand that closes on its narrow side, rad."""
    hand = rng.uniform(-0.8, 0.8)
    return (rng.uniform(-np.pi, np.pi) if prop.round else hand + np.pi / 2), hand


def grasp_height(arm: Arm, prop: Prop) -> float:
    """Metres above the surface a prop stands on: its middle, or nearer to the top if it is tall."""
    height = 2 * prop.half
    return max(min(prop.half, height - 0.012), height - 0.034, arm.tip + 0.006)


def pick(
    trajectory: Trajectory, arm: Arm, prop: Prop, at: np.ndarray, yaw: float, *, lift: float
) -> float:
    """Grasp a prop that stands at (x, y) on the table and raise it by `lift` (m).

    Returns:
        The grasp's height above the prop's bottom, m.
    """
    height = grasp_height(arm, prop)
    above = grasp_pose(np.array([*at[:2], max(CARRY, 2 * prop.half + 0.06)]), yaw=yaw)
    trajectory.go(above, speed=0.45)
    trajectory.go(grasp_pose(np.array([*at[:2], height]), yaw=yaw), speed=0.28)
    trajectory.grip(0.0, seconds=0.35)
    trajectory.translate((0, 0, lift), speed=0.28)
    return height


def looked_at(*positions: np.ndarray, height: float) -> tuple[float, float, float]:
    """Where a camera looks that should show all `positions` (x, y), m."""
    x, y = (0.85 * np.mean([position[:2] for position in positions], axis=0)).tolist()
    return x, y, height


def clutter(
    builder: SceneBuilder, positions: np.ndarray, *, besides: list[str], most: int = 2
) -> tuple[str, ...]:
    """Up to `most` distractors at `positions`; their kinds."""
    kinds = []
    for i, position in enumerate(positions[: int(builder.rng.integers(0, most + 1))]):
        prop = any_prop(builder.rng, SQUAT, besides=besides)
        besides.append(prop.color)
        builder.add_prop(f"other{i + 1}", prop, position, yaw=builder.rng.uniform(-np.pi, np.pi))
        kinds.append(prop.kind)
    return tuple(kinds)
