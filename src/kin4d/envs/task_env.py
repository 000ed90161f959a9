"""TaskEnv: what the environments share: spaces, starts, chunks of actions, LeRobot's conventions.

Observations are `pixels/front` (RGB), `depth` (m) and `pointmap` (m, camera frame; both 0 where
nothing is seen), `agent_pos` (joints in rad, then the gripper's opening) and `eef_pose` (position
in m and rotation vector of the grasp frame, world axes). The reward is 1 in the step in which the
task's success test first holds; it ends the episode.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from kin4d.envs.servo_control import ServoControl, action_bounds
from kin4d.errors import InputError
from kin4d.kinematics.arms import load_arm
from kin4d.policies.policy import check_actions
from kin4d.tasks.task import named_task
from kin4d.tasks.task_scene import TaskScene
from kin4d.tasks.trajectory import RATE

_FAR = 10.0  # m, and rad: bounds of what is observed


class WorldError(InputError):
    """A world that cannot go on; an evaluation marks the episode and goes on with the next.

    Args:
        reason: "diverged".
        what: What went wrong.
        details: As for `InputError`.
    """

    def __init__(self, reason: str, what: str, **details: Any) -> None:
        super().__init__(what, **details)
        self.reason = reason


class TaskEnv(gymnasium.Env):
    """A task in some world.

    `reset(seed=...)` sets up the scene of that seed; without a seed, of a random one.

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
        self.task, self.arm, self.control = task, load_arm(arm), control
        self.height, self.width, self.render_mode = height, width, render_mode
        self._max_episode_steps, self._task = max_steps, named_task(task)
        self.task_description = task.replace("_", " ")
        low, high = action_bounds(self.arm, control)
        self.action_space = spaces.Box(low, high, dtype=np.float32)

        def box(*shape: int, low: float = -_FAR) -> spaces.Box:
            return spaces.Box(low, _FAR, shape, np.float32)

        self.observation_space = spaces.Dict(
            {
                "pixels": spaces.Dict({"front": spaces.Box(0, 255, (height, width, 3), np.uint8)}),
                "depth": box(height, width, low=0),
                "pointmap": box(height, width, 3),
                "agent_pos": box(len(self.arm.columns) + 1),
                "eef_pose": box(6),
            }
        )
        self._scene: TaskScene | None = None

    @abstractmethod
    def _begin(self, scene: TaskScene) -> None:
        """Put the world into the scene's start."""

    @abstractmethod
    def _carry_out(self, targets: np.ndarray) -> tuple[int, bool]:
        """Follow servo targets [H, k] until success; how many were followed, and whether it is."""

    @abstractmethod
    def _look(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Now: colours [H, W, 3] uint8, points [H, W, 3] m (camera frame), coordinates [k]."""

    @property
    def scene(self) -> TaskScene:
        """The task as it was set up by the last `reset`."""
        if self._scene is None:
            raise InputError("the environment has not begun", hint="call reset() first")
        return self._scene

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin the episode of a seed."""
        super().reset(seed=seed)
        chosen = int(self.np_random.integers(2**31)) if seed is None else seed
        scene = self._scene = self._task.build(chosen, arm=self.arm.name)
        self.task_description = scene.instruction
        self._servo = ServoControl(self.arm, scene.start, self.control)
        self._steps, self._clipped, self._success = 0, 0, False
        self._begin(scene)
        return self._observe(), self._info()

    def step(self, action: np.ndarray) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Carry out one action [D]."""
        return self.step_chunk(np.asarray(action)[None])

    def step_chunk(
        self, actions: np.ndarray
    ) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Carry out actions [H, D]; it stops at success and at the end of the episode.

        What is outside the action space is clipped to it; `info["clipped_actions"]` counts.
        """
        actions = check_actions(actions, self.action_space.shape[0])  # pyright: ignore
        _ = self.scene
        actions = actions[: max(self._max_episode_steps - self._steps, 0)]
        if not len(actions) or self._success:
            raise InputError("the episode is over", hint="call reset() first")
        clipped = actions.clip(self.action_space.low, self.action_space.high)  # pyright: ignore
        outside = np.any(np.abs(clipped - actions) > 1e-6, axis=1)
        taken, self._success = self._carry_out(self._servo.targets(clipped))
        self._steps += taken
        self._clipped += int(outside[:taken].sum())
        truncated = self._steps >= self._max_episode_steps and not self._success
        return self._observe(), float(self._success), self._success, truncated, self._info()

    def render(self) -> np.ndarray | None:
        """[H, W, 3] uint8: what the camera sees."""
        return self._look()[0] if self.render_mode == "rgb_array" else None

    def policy_observation(self, observation: dict[str, Any]) -> dict[str, Any]:
        """An observation as policies get it; see `kin4d.policies.policy`."""
        return {
            "observation/image": observation["pixels"]["front"],
            "observation/depth": observation["depth"],
            "observation/pointmap": observation["pointmap"],
            "observation/joint_position": observation["agent_pos"][:-1],
            "observation/gripper_position": observation["agent_pos"][-1:],
            "observation/eef_pose": observation["eef_pose"],
            "prompt": self.task_description,
            "episode/task": self.task,
            "episode/arm": self.arm.name,
            "episode/seed": self.scene.seed,
            "episode/step": self._steps,
        }

    def _info(self) -> dict[str, Any]:
        return {
            "is_success": self._success,
            "clipped_actions": self._clipped,
            "steps": self._steps,
            "scene_seed": self.scene.seed,
        }

    def _observe(self) -> dict[str, Any]:
        from scipy.spatial.transform import Rotation

        rgb, xyz, q = self._look()
        arm = self.arm
        pose = arm.grasp_pose(q)
        points = np.nan_to_num(xyz, nan=0.0).clip(-_FAR, _FAR).astype(np.float32)
        rotation = Rotation.from_matrix(pose[:3, :3]).as_rotvec()
        return {
            "pixels": {"front": rgb},
            "depth": points[..., 2].clip(0),
            "pointmap": points,
            "agent_pos": np.array([*q[list(arm.columns)], arm.opening(q)], np.float32),
            "eef_pose": np.array([*pose[:3, 3], *rotation], np.float32),
        }
