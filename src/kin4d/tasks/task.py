"""Task: something for a robot to do, set up from a seed, with an expert that knows how."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kin4d.errors import InputError
from kin4d.kinematics.actions import Actions
from kin4d.tasks.catalog import articulated_tasks as opening
from kin4d.tasks.catalog import rigid_tasks as handling
from kin4d.tasks.scene_builder import SceneBuilder
from kin4d.tasks.task_scene import TaskScene, TaskSpec, build_scene
from kin4d.tasks.trajectory import Trajectory


@dataclass(frozen=True)
class Task:
    """A kind of task.

    Attributes:
        name: "open_drawer".
        plan: Places objects with a `SceneBuilder` and returns the goal and the expert's trajectory.
        start: Corners (m) of the box in which the hand starts.
    """

    name: str
    plan: Callable[[SceneBuilder, Trajectory], TaskSpec]
    start: tuple[tuple[float, float, float], tuple[float, float, float]]

    def build(self, seed: int, *, arm: str = "kin4d_arm") -> TaskScene:
        """The scene of a seed and an arm: model, objects, camera, instruction and success test."""
        return build_scene(self.name, self.plan, start=np.array(self.start), arm=arm, seed=seed)

    def expert(self, scene: TaskScene) -> Actions:
        """Pose deltas and gripper openings that do the task from the scene's start."""
        return scene.spec.trajectory.actions()


_ABOVE = ((-0.17, -0.12, 0.14), (-0.1, 0.12, 0.2))
_NEAR = ((-0.21, -0.1, 0.17), (-0.15, 0.1, 0.22))
_BACK = ((-0.2, -0.1, 0.27), (-0.12, 0.1, 0.31))

TASKS: dict[str, Task] = {
    plan.__name__: Task(plan.__name__, plan, start)
    for start, plans in (
        (
            _ABOVE,
            (
                handling.reach,
                handling.push,
                handling.lift,
                handling.pick_and_place,
                handling.stack,
                handling.knock_over,
                opening.press_button,
            ),
        ),
        (
            _BACK,
            (
                opening.open_drawer,
                opening.close_drawer,
                opening.open_door,
                opening.close_door,
            ),
        ),
        (_NEAR, (opening.open_lid, opening.close_lid)),
    )
    for plan in plans
}
"""Every kind of task, by name."""


def named_task(name: str) -> Task:
    """A task by name."""
    if name not in TASKS:
        raise InputError("there is no such task", value=name, allowed=", ".join(TASKS))
    return TASKS[name]
