"""What the environments say of a task's bodies, for policies that act from states.

Sizes are of the task itself; poses are those of the world that is acted in: simulated ones, or
those that are read from imagined geometry.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from kin4d.tasks.task_scene import TaskScene

BODIES = 3
"""Bodies that are described, in the task's order; what it is about comes first."""
_BODY = 15
STATE = BODIES * _BODY
"""Numbers: for each body its position (m), the first two axes of its rotation and the corners of
its bounding box (m, its own frame); zeros if there are fewer bodies."""


def environment_state(scene: TaskScene, pose_of: Callable[[str], np.ndarray]) -> np.ndarray:
    """[STATE] float32 of a task whose bodies have the poses [4, 4] that `pose_of` gives."""
    state = np.zeros((BODIES, _BODY), np.float32)
    for row, (name, bounds) in zip(state, _boxes(scene), strict=False):
        pose = pose_of(name)
        row[:] = [*pose[:3, 3], *pose[:3, 0], *pose[:3, 1], *bounds.ravel()]
    return state.ravel()


@lru_cache(maxsize=4)
def _boxes(scene: TaskScene) -> list[tuple[str, np.ndarray]]:
    """Names of the bodies and the corners [2, 3] of their boxes."""
    return [
        (name, mesh.bounds)
        for obj in scene.objects
        for name, mesh in zip(obj.bodies, obj.meshes, strict=True)
    ][:BODIES]
