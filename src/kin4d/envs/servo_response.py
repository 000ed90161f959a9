"""ServoResponse: where an arm's servos take it while it touches nothing.

Servos reach their targets late: the hand is centimetres behind when it is fast. Policies have
learned from such states; what an imagined arm says of itself, and what the world model is shown
of it, must be as late.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from kin4d.extras import require
from kin4d.tasks.simulate import arm_columns, carry_out
from kin4d.tasks.task_scene import TaskScene


class ServoResponse:
    """The arm of a task alone: MuJoCo's model of it and of its servos, without contacts.

    Args:
        scene: The task at its start.
    """

    def __init__(self, scene: TaskScene) -> None:
        mujoco: Any = require("mujoco", extra="sim", purpose="the response of an arm's servos")
        self._scene, self._data = scene, scene.reset()
        self._model = copy.copy(scene.model)
        self._model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
        self._columns = arm_columns(scene)
        self._controls = scene.controls(scene.start)

    def follow(self, targets: np.ndarray) -> np.ndarray:
        """[H, k] where the arm is after each of further targets [H, k]."""
        q = np.empty_like(targets)
        for t, controls in enumerate(self._scene.controls(targets)):
            for _ in carry_out(self._model, self._data, self._controls, controls):
                pass
            self._controls = controls
            q[t] = self._data.qpos[self._columns]
        return q
