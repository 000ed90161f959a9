"""Faults: what goes wrong. Noise on the hand's pose, or one small offset that makes it miss.

The gripper's commands are never touched, as in Kinema4D's failures on LIBERO.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kin4d.kinematics.actions import Actions
from kin4d.tasks.simulate import simulate_task
from kin4d.tasks.task_scene import TaskScene

SIGMAS = (0.001, 0.0024, 0.0057, 0.0135, 0.032)
"""Grades of noise: metres per action along each axis, from harmless to hopeless; see `TURN`."""
TURN = 4.0
"""Radians of noise about each axis for every metre of noise along it."""
FAR = 0.09
"""Largest offset (m) that is tried for a miss."""
HALVINGS = 5
"""How often the gap between a hit and a miss is halved."""
_ONSET = 10  # actions over which an offset comes on


def noisy_expert(actions: Actions, sigma: float, rng: np.random.Generator) -> Actions:
    """Gaussian noise on the six pose dimensions of each action; errors add up.

    Args:
        actions: Pose deltas.
        sigma: Standard deviation, metres per action; rotations get `TURN` times as much, rad.
        rng: Random generator.
    """
    noise = rng.normal(0.0, sigma, (len(actions), 6))
    noise[:, 3:] *= TURN
    return replace(actions, values=actions.values + noise)


def shifted_expert(actions: Actions, offset: np.ndarray) -> Actions:
    """The same trajectory, off by `offset` [3] m from its first half second on."""
    values = actions.values.copy()
    count = min(_ONSET, len(values))
    values[:count, :3] += np.asarray(offset) / count
    return replace(actions, values=values)


@dataclass(frozen=True, eq=False, kw_only=True)
class NearMiss:
    """Two nearly equal offsets, of which one does the task and the other does not.

    Attributes:
        hit: [3] m.
        miss: [3] m, further out in the same direction.
    """

    hit: np.ndarray
    miss: np.ndarray


def near_miss(scene: TaskScene, actions: Actions, rng: np.random.Generator) -> NearMiss | None:
    """Search along a random horizontal direction for the edge between success and failure.

    Returns:
        Offsets `FAR` / 2**`HALVINGS` apart, or None if the expert fails, or no offset up to `FAR`
        in any of a few directions makes it fail.
    """
    first = rng.uniform(-np.pi, np.pi)
    for rotation in (0.0, np.pi / 2, -np.pi / 2, np.pi):
        direction = np.array([np.cos(first + rotation), np.sin(first + rotation), 0.0])
        if not _done(scene, shifted_expert(actions, FAR * direction)):
            break
    else:
        return None
    low, high = 0.0, FAR
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if _done(scene, shifted_expert(actions, middle * direction)):
            low = middle
        else:
            high = middle
    if low == 0.0 and not _done(scene, actions):
        return None
    return NearMiss(hit=low * direction, miss=high * direction)


def _done(scene: TaskScene, actions: Actions) -> bool:
    return simulate_task(scene, actions, frames=2).success
