"""MujocoEnv (`kin4d/MuJoCo-v0`): the truth, simulated."""

from __future__ import annotations

from typing import Any

import numpy as np

from kin4d.envs.task_env import TaskEnv
from kin4d.extras import require
from kin4d.tasks.render_rollout import TaskRenderer
from kin4d.tasks.simulate import arm_columns, carry_out
from kin4d.tasks.task_scene import SimState, TaskScene


class MujocoEnv(TaskEnv):
    """A task in MuJoCo. Arguments are those of `TaskEnv`."""

    def _begin(self, scene: TaskScene) -> None:
        self._data = scene.reset()
        self._controls = scene.controls(scene.start)
        self._columns = arm_columns(scene)
        self._renderer = TaskRenderer(scene, height=self.height, width=self.width)

    def _carry_out(self, targets: np.ndarray) -> tuple[int, bool]:
        mujoco: Any = require("mujoco", extra="sim", purpose="doing tasks in simulation")
        scene, data = self.scene, self._data
        for taken, controls in enumerate(scene.controls(targets), 1):
            for _ in carry_out(scene.model, data, self._controls, controls):
                pass
            self._controls = controls
            mujoco.mj_kinematics(scene.model, data)
            if scene.success(data):
                return taken, True
        return len(targets), False

    def _look(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        q = np.array(self._data.qpos[self._columns])
        drawn = self._renderer.draw(
            self._renderer.actors.joint_transforms(q, body_poses_of(self._data))
        )
        return drawn.rgb, drawn.xyz, q

    def _body_pose(self, name: str) -> np.ndarray:
        return SimState(self.scene.model, self._data, self.arm).pose(name)


def body_poses_of(data: Any) -> np.ndarray:
    """[B, 4, 4] world poses of MuJoCo's bodies."""
    poses = np.tile(np.eye(4), (len(data.xpos), 1, 1))
    poses[:, :3, :3], poses[:, :3, 3] = data.xmat.reshape(-1, 3, 3), data.xpos
    return poses
