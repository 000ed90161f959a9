"""ChunkEnv: what all environments share: spaces, chunks of actions, LeRobot's conventions.

Observations are `pixels/front` (RGB), `depth` (m) and `pointmap` (m, camera frame; both 0 where
nothing is seen), `agent_pos` (joints in rad, then the gripper's opening), `eef_pose` (position in m
and rotation vector of the grasp frame, world axes), `camera_pose` (of the camera in the world) and
`environment_state` (see `kin4d.envs.environment_state`). The reward is 1 in the step in which the
task's success test first holds; it ends the episode.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from kin4d.envs.environment_state import STATE
from kin4d.envs.servo_control import action_bounds
from kin4d.errors import InputError
from kin4d.kinematics.arms import load_arm
from kin4d.policies.policy import EpisodeError, check_actions
from kin4d.tasks.task import named_task
from kin4d.tasks.trajectory import RATE

FAR = 10.0
"""m, and rad: bounds of what is observed."""
StepResult = tuple[dict[str, Any], float, bool, bool, dict[str, Any]]


class WorldError(EpisodeError):
    """A world that cannot go on: "diverged", "timeout", "disconnected", "refused", "error" or
    "shape"."""


class ChunkEnv(gymnasium.Env):
    """A task in some world, here or behind a server.

    Args:
        task: See `kin4d.tasks.task.TASKS`.
        arm: See `kin4d.kinematics.arms.ARMS`.
        control: How actions move the arm; see `ServoControl`.
        height: Pixels.
        width: Pixels.
        max_steps: Actions after which an episode is cut off; 20 are a second.
        render_mode: None or "rgb_array".
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": round(RATE)}  # noqa: RUF012

    def __init__(
        self,
        *,
        task: str = "lift",
        arm: str = "kin4d_arm",
        control: str = "pose_delta",
        height: int = 64,
        width: int = 96,
        max_steps: int = 120,
        render_mode: str | None = None,
    ) -> None:
        if render_mode not in (None, "rgb_array"):
            raise InputError("render_mode", value=render_mode, allowed="None, rgb_array")
        for name, value in (("height", height), ("width", width), ("max_steps", max_steps)):
            if value < 1:
                raise InputError(f"{name} of an environment", value=value, allowed=">= 1")
        named_task(task)
        self.task, self.arm, self.control = task, load_arm(arm), control
        self.height, self.width, self.render_mode = height, width, render_mode
        self._max_episode_steps = max_steps
        self.task_description = task.replace("_", " ")
        low, high = action_bounds(self.arm, control)
        self.action_space = spaces.Box(low, high, dtype=np.float32)

        def box(*shape: int, low: float = -FAR) -> spaces.Box:
            return spaces.Box(low, FAR, shape, np.float32)

        self.observation_space = spaces.Dict(
            {
                "pixels": spaces.Dict({"front": spaces.Box(0, 255, (height, width, 3), np.uint8)}),
                "depth": box(height, width, low=0),
                "pointmap": box(height, width, 3),
                "agent_pos": box(len(self.arm.columns) + 1),
                "eef_pose": box(6),
                "camera_pose": box(4, 4),
                "environment_state": box(STATE),
            }
        )
        self._scene_seed: int | None = None
        self._steps, self._success = 0, False

    @abstractmethod
    def _advance(self, actions: np.ndarray) -> StepResult:
        """Carry out actions [H, D]; `_steps` and `_success` are kept."""

    def step(self, action: np.ndarray) -> StepResult:
        """Carry out one action [D]."""
        return self.step_chunk(np.asarray(action)[None])

    def step_chunk(self, actions: np.ndarray) -> StepResult:
        """Carry out actions [H, D]; it stops at success and at the end of the episode.

        What is outside the action space is clipped to it; `info["clipped_actions"]` counts.
        """
        actions = check_actions(actions, self.action_space.shape[0])  # pyright: ignore
        if self._scene_seed is None:
            raise InputError("the environment has not begun", hint="call reset() first")
        actions = actions[: max(self._max_episode_steps - self._steps, 0)]
        if not len(actions) or self._success:
            raise InputError("the episode is over", hint="call reset() first")
        return self._advance(actions)

    def policy_observation(self, observation: dict[str, Any]) -> dict[str, Any]:
        """An observation as policies get it; see `kin4d.policies.policy`."""
        return {
            "observation/image": observation["pixels"]["front"],
            "observation/depth": observation["depth"],
            "observation/pointmap": observation["pointmap"],
            "observation/joint_position": observation["agent_pos"][:-1],
            "observation/gripper_position": observation["agent_pos"][-1:],
            "observation/eef_pose": observation["eef_pose"],
            "observation/camera_pose": observation["camera_pose"],
            "observation/environment_state": observation["environment_state"],
            "prompt": self.task_description,
            "episode/task": self.task,
            "episode/arm": self.arm.name,
            "episode/seed": self._scene_seed,
            "episode/step": self._steps,
        }
