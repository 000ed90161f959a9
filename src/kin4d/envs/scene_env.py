"""SceneEnv (`kin4d/Scene-v0`): a task in our own mechanics."""

from __future__ import annotations

import numpy as np

from kin4d.dynamics.compiled_actor import DivergedStep
from kin4d.dynamics.integrators import Variational
from kin4d.dynamics.simulator import Simulator
from kin4d.envs.chunk_env import WorldError
from kin4d.envs.task_env import TaskEnv
from kin4d.envs.task_mechanics import TaskMechanics
from kin4d.tasks.render_rollout import TaskRenderer
from kin4d.tasks.task_scene import TaskScene
from kin4d.tasks.trajectory import RATE

_STEPS = 12  # per action


class SceneEnv(TaskEnv):
    """A task in `kin4d.dynamics`. Arguments are those of `TaskEnv`."""

    def _begin(self, scene: TaskScene) -> None:
        self._mechanics = TaskMechanics(scene)
        self._simulator = Simulator(self._mechanics.scene, Variational(2), 1 / (RATE * _STEPS))
        self._state, self._commands = self._simulator.initial_state(), scene.start[None]
        self._renderer = TaskRenderer(scene, height=self.height, width=self.width)

    def _carry_out(self, targets: np.ndarray) -> tuple[int, bool]:
        self._commands = np.concatenate([self._commands, targets])
        self._simulator.drive("arm", self._mechanics.motion(self._commands))
        for taken in range(1, len(targets) + 1):
            try:
                for _ in range(_STEPS):
                    self._state = self._simulator.step(self._state)
            except DivergedStep as problem:
                raise WorldError("diverged", f"the mechanics failed: {problem}") from None
            if self._mechanics.success(self._state):
                self._commands = self._commands[: len(self._commands) - len(targets) + taken]
                return taken, True
        return len(targets), False

    def _look(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        q, poses = self._mechanics.q(self._state), self._mechanics.body_poses(self._state)
        drawn = self._renderer.draw(self._renderer.actors.joint_transforms(q, poses))
        return drawn.rgb, drawn.xyz, q

    def _body_pose(self, name: str) -> np.ndarray:
        poses = self._mechanics.body_poses(self._state)
        return poses[self.scene.model.body(name).id]
