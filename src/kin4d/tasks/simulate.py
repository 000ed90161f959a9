"""Simulation: actions carried out in a scene, by servos that follow inverse kinematics."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from kin4d.extras import require
from kin4d.kinematics.actions import Actions
from kin4d.tasks.scene_builder import TIMESTEP
from kin4d.tasks.servo import servo_targets
from kin4d.tasks.task_scene import TaskScene
from kin4d.tasks.trajectory import RATE

SUBSTEPS = 4
"""Servo targets between two actions; they lead there in a straight line."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Rollout:
    """What happened, sampled at the frames of a video.

    Attributes:
        q: [T, k] measured coordinates of the arm.
        poses: [T, B, 4, 4] world poses of MuJoCo's bodies.
        actions: All that was commanded, at their own rate.
        seconds: How long it took.
        success: Whether the task was done at the end.
    """

    q: np.ndarray
    poses: np.ndarray
    actions: Actions
    seconds: float
    success: bool


def simulate_task(scene: TaskScene, actions: Actions, *, frames: int = 49) -> Rollout:
    """Carry out `actions` and record `frames` moments spread evenly from first to last.

    Args:
        scene: Where.
        actions: Pose deltas at `RATE`.
        frames: How many moments.
    """
    mujoco: Any = require("mujoco", extra="sim", purpose="doing tasks in simulation")
    model, data = scene.model, scene.reset()
    targets, _ = servo_targets(scene.arm, scene.start, actions)
    controls = scene.controls(np.concatenate([scene.start[None], targets]))
    total = len(actions) * SUBSTEPS
    wanted = np.round(np.linspace(0, total, frames)).astype(int)
    states = np.empty((frames, model.nq))
    bodies = np.tile(np.eye(4), (frames, model.nbody, 1, 1))
    frame = _record(data, wanted, 0, 0, states, bodies)
    for t in range(len(actions)):
        for i in carry_out(model, data, controls[t], controls[t + 1]):
            if frame < frames and wanted[frame] == t * SUBSTEPS + i + 1:
                mujoco.mj_kinematics(model, data)
                frame = _record(data, wanted, t * SUBSTEPS + i + 1, frame, states, bodies)
    mujoco.mj_forward(model, data)
    return Rollout(
        q=states[:, arm_columns(scene)],
        poses=bodies,
        actions=actions,
        seconds=len(actions) / RATE,
        success=scene.success(data),
    )


def carry_out(model: Any, data: Any, before: np.ndarray, after: np.ndarray) -> Iterator[int]:
    """Simulate one action, from servo targets `before` [u] to `after`; yields after substeps."""
    mujoco: Any = require("mujoco", extra="sim", purpose="doing tasks in simulation")
    steps = round(1 / (RATE * TIMESTEP * SUBSTEPS))
    for i, share in enumerate(np.linspace(0, 1, SUBSTEPS + 1)[1:]):
        data.ctrl[:] = before + share * (after - before)
        mujoco.mj_step(model, data, nstep=steps)
        yield i


def _record(data, wanted, now: int, frame: int, states: np.ndarray, bodies: np.ndarray) -> int:
    """Write the state into all frames that fall on this moment; returns the next frame."""
    while frame < len(wanted) and wanted[frame] == now:
        states[frame] = data.qpos
        bodies[frame, :, :3, :3] = data.xmat.reshape(-1, 3, 3)
        bodies[frame, :, :3, 3] = data.xpos
        frame += 1
    return frame


def arm_columns(scene: TaskScene) -> list[int]:
    """Where the arm's coordinates are in MuJoCo's qpos."""
    names = scene.arm.body.coordinates
    return [int(scene.model.joint(f"arm/{name}").qposadr[0]) for name in names]
