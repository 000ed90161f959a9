"""ScriptedPolicy: the expert of a task as a policy, with graded noise."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from kin4d.errors import InputError
from kin4d.kinematics.actions import Actions
from kin4d.tasks.perturbations import noisy_expert
from kin4d.tasks.task import named_task


class ScriptedPolicy:
    """The expert's actions from the observation's step on; after the last one the arm stays.

    It reads which episode it is (`episode/...`), never the image. It knows nothing of what its
    actions led to, so noise adds up.

    Args:
        sigma: Noise, m per action along each axis; see `kin4d.tasks.perturbations.SIGMAS`.
        seed: Of the noise.
        horizon: Actions at a time.
    """

    control = "pose_delta"

    def __init__(self, *, sigma: float = 0.0, seed: int = 0, horizon: int = 8) -> None:
        if not (np.isfinite(sigma) and sigma >= 0):
            raise InputError("sigma of a scripted policy, m", value=sigma, allowed=">= 0")
        if horizon < 1:
            raise InputError("horizon of a scripted policy", value=horizon, allowed=">= 1")
        self.sigma, self.seed, self.horizon = sigma, seed, horizon

    def __call__(self, observation: Mapping[str, Any]) -> np.ndarray:
        """[horizon, 7] pose deltas and gripper opening."""
        task, arm = str(observation["episode/task"]), str(observation["episode/arm"])
        scene_seed, step = int(observation["episode/seed"]), int(observation["episode/step"])
        script = _script(task, arm, scene_seed, self.sigma, self.seed)
        rows = np.arange(step, step + self.horizon)
        actions = script[rows.clip(max=len(script) - 1)].copy()
        actions[rows >= len(script), :6] = 0.0
        return actions


@lru_cache(maxsize=32)
def _script(task: str, arm: str, scene_seed: int, sigma: float, seed: int) -> np.ndarray:
    """[T, 7] actions of an episode."""
    chosen = named_task(task)
    actions: Actions = chosen.expert(chosen.build(scene_seed, arm=arm))
    if sigma:
        rng = np.random.default_rng([scene_seed, seed, 1003])
        actions = noisy_expert(actions, sigma, rng)
    assert actions.gripper is not None
    return np.concatenate([actions.values, actions.gripper[:, None]], axis=1)
