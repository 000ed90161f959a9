"""Scene: one task set up from a seed, ready to be simulated, rendered and evaluated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from kin4d.errors import InputError
from kin4d.extras import require
from kin4d.kinematics.arms import Arm, load_arm
from kin4d.tasks.room import Room
from kin4d.tasks.scene_builder import SceneBuilder, SceneObject
from kin4d.tasks.servo import servo_targets
from kin4d.tasks.trajectory import Trajectory, grasp_pose

_ATTEMPTS, _REACHED = 60, 2e-3


class TaskState(Protocol):
    """What success tests ask of a state, simulated or imagined."""

    def pose(self, name: str) -> np.ndarray:
        """[4, 4] world pose of a body."""
        ...

    def position(self, name: str) -> np.ndarray:
        """[3] m: where a body's frame is."""
        ...

    def joint(self, name: str) -> float:
        """Value of a fixture's joint, rad or m."""
        ...

    @property
    def grasp(self) -> np.ndarray:
        """[3] m: where the grasp frame's origin is."""
        ...

    @property
    def opening(self) -> float:
        """Of the gripper: 0 closed to 1 open."""
        ...


class SimState:
    """Poses of a running simulation, as success tests see them.

    Args:
        model: MuJoCo's model.
        data: MuJoCo's state.
        arm: The robot.
    """

    def __init__(self, model: Any, data: Any, arm: Arm) -> None:
        self.model, self.data, self.arm = model, data, arm

    def pose(self, name: str) -> np.ndarray:
        """[4, 4] world pose of a body."""
        body, pose = self.data.body(name), np.eye(4)
        pose[:3, :3], pose[:3, 3] = body.xmat.reshape(3, 3), body.xpos
        return pose

    def position(self, name: str) -> np.ndarray:
        """[3] m: where a body's frame is."""
        return np.array(self.data.body(name).xpos)

    def joint(self, name: str) -> float:
        """Value of a fixture's joint, rad or m."""
        return float(self.data.joint(name).qpos[0])

    @property
    def grasp(self) -> np.ndarray:
        """[3] m: where the grasp frame's origin is."""
        return self.position(f"arm/{self.arm.body.end_effector}")

    @property
    def opening(self) -> float:
        """Of the gripper: 0 closed to 1 open."""
        arm = self.arm
        value = float(self.data.joint(f"arm/{arm.body.coordinates[arm.grip]}").qpos[0])
        return (value - arm.closed) / (arm.opened - arm.closed)


@dataclass(frozen=True, eq=False, kw_only=True)
class TaskSpec:
    """What a task wants, and how an expert does it.

    Attributes:
        instruction: In words.
        trajectory: The expert's trajectory from the arm's start.
        success: Whether a state is as wanted.
        objects: Kinds of the objects that matter.
        focus: [3] m: what the camera looks at.
        span: Metres around the focus that should be in view.
        sides: Azimuths (degrees) about the focus from which a camera sees what matters; the robot
            is at 180.
    """

    instruction: str
    trajectory: Trajectory
    success: Callable[[TaskState], bool]
    objects: tuple[str, ...]
    focus: tuple[float, float, float] = (0.0, 0.0, 0.06)
    span: float = 0.5
    sides: tuple[tuple[float, float], ...] = ((-125.0, -40.0), (40.0, 125.0))


@dataclass(frozen=True, eq=False, kw_only=True)
class TaskScene:
    """A task set up.

    Attributes:
        task: Its name.
        seed: What it was made from, with `task` and `arm`.
        arm: The robot.
        start: [k] the robot's coordinates at the beginning.
        model: MuJoCo's model.
        objects: What is rendered besides the robot.
        room: Table, walls, light and camera.
        spec: What is wanted, and how it is done.
        values: Fixtures' joints at the beginning.
    """

    task: str
    seed: int
    arm: Arm
    start: np.ndarray
    model: Any
    objects: tuple[SceneObject, ...]
    room: Room
    spec: TaskSpec
    values: dict[str, float] = field(default_factory=dict)

    @property
    def instruction(self) -> str:
        """The instruction to the robot."""
        return self.spec.instruction

    def reset(self) -> Any:
        """A fresh MuJoCo state: the arm at its start, all objects where the task put them."""
        mujoco: Any = require("mujoco", extra="sim", purpose="doing tasks in simulation")
        data = mujoco.MjData(self.model)
        body = self.arm.body
        values = body.joint_values(_tensor(self.start)).numpy()
        for joint, value in zip(body.joints, values, strict=True):
            if joint.kind != "fixed":
                data.joint(f"arm/{joint.name}").qpos = value
        for name, value in self.values.items():
            data.joint(name).qpos = value
        data.ctrl[:] = self.controls(self.start)
        mujoco.mj_forward(self.model, data)
        return data

    def controls(self, q: np.ndarray) -> np.ndarray:
        """[..., u] servo targets of coordinates q [..., k]."""
        order = [self.model.actuator(name).id for name in self.arm.body.coordinates]
        controls = np.empty_like(q)
        controls[..., order] = q
        return controls

    def success(self, data: Any) -> bool:
        """Whether the task is done in a MuJoCo state."""
        return bool(self.spec.success(SimState(self.model, data, self.arm)))


def build_scene(
    name: str,
    task: Callable[[SceneBuilder, Trajectory], TaskSpec],
    *,
    start: np.ndarray,
    arm: str = "kin4d_arm",
    seed: int = 0,
) -> TaskScene:
    """Build the scene of a task function; the same seed gives the same scene, always.

    What happens and how it looks are drawn from separate streams, so that changing one does not
    change the other.

    Layouts in which the expert's trajectory leads out of the arm's reach are drawn again.

    Args:
        name: Of the task.
        task: Places objects and returns the goal and the trajectory.
        start: [2, 3] m: corners of the box in which the hand starts.
        arm: Which robot.
        seed: Of everything.
    """
    loaded = load_arm(arm)
    for attempt in range(_ATTEMPTS):
        rng = np.random.default_rng([seed, attempt])
        builder = SceneBuilder(loaded, rng)
        first = grasp_pose(rng.uniform(*start), yaw=rng.uniform(-0.4, 0.4))
        q = loaded.coordinates(first)
        spec = task(builder, Trajectory(loaded.grasp_pose(q)))
        _, missed = servo_targets(loaded, q, spec.trajectory.actions())
        if missed < _REACHED:
            break
    else:
        raise InputError(
            f"{arm} cannot reach what '{name}' asks for in any of {_ATTEMPTS} layouts", value=seed
        )
    room = Room.sample(np.random.default_rng([seed, _ATTEMPTS]), spec)
    return TaskScene(
        task=name,
        seed=seed,
        arm=loaded,
        start=q,
        model=builder.spec.compile(),
        objects=tuple(builder.objects),
        room=room,
        spec=spec,
        values=builder.start,
    )


def _tensor(values: np.ndarray) -> Any:
    import torch

    return torch.from_numpy(np.asarray(values, np.float64))
