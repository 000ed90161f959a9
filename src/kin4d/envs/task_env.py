"""TaskEnv: a task in a world of this process: starts, servo control, observations."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from kin4d.envs.chunk_env import FAR, ChunkEnv, StepResult
from kin4d.envs.environment_state import environment_state
from kin4d.envs.servo_control import ServoControl
from kin4d.errors import InputError
from kin4d.tasks.task import named_task
from kin4d.tasks.task_scene import TaskScene


class TaskEnv(ChunkEnv):
    """A task in some world. Arguments are those of `ChunkEnv`.

    `reset(seed=...)` sets up the scene of that seed; without a seed, of a random one.
    """

    _scene: TaskScene | None = None

    @abstractmethod
    def _begin(self, scene: TaskScene) -> None:
        """Put the world into the scene's start."""

    @abstractmethod
    def _carry_out(self, targets: np.ndarray) -> tuple[int, bool]:
        """Follow servo targets [H, k] until success; how many were followed, and whether it is."""

    @abstractmethod
    def _look(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Now: colours [H, W, 3] uint8, points [H, W, 3] m (camera frame), coordinates [k]."""

    @abstractmethod
    def _body_pose(self, name: str) -> np.ndarray:
        """[4, 4] where a body of the task is now."""

    @property
    def scene(self) -> TaskScene:
        """The task as it was set up by the last `reset`."""
        if self._scene is None:
            raise InputError("the environment has not begun", hint="call reset() first")
        return self._scene

    @property
    def commanded_pose(self) -> np.ndarray:
        """[4, 4] of the grasp frame, as commanded so far."""
        return self._servo.pose

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin the episode of a seed."""
        super().reset(seed=seed)
        chosen = int(self.np_random.integers(2**31)) if seed is None else seed
        scene = self._scene = named_task(self.task).build(chosen, arm=self.arm.name)
        self.task_description = scene.instruction
        self._scene_seed = chosen
        camera = scene.room.camera(self.height, self.width)
        self._camera_pose = camera.pose.astype(np.float32)
        self._servo = ServoControl(self.arm, scene.start, self.control)
        self._steps, self._clipped, self._success = 0, 0, False
        self._begin(scene)
        return self._observe(), self._info()

    def _advance(self, actions: np.ndarray) -> StepResult:
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
        points = np.nan_to_num(xyz, nan=0.0).clip(-FAR, FAR).astype(np.float32)
        rotation = Rotation.from_matrix(pose[:3, :3]).as_rotvec()
        return {
            "pixels": {"front": rgb},
            "depth": points[..., 2].clip(0),
            "pointmap": points,
            "agent_pos": np.array([*q[list(arm.columns)], arm.opening(q)], np.float32),
            "eef_pose": np.array([*pose[:3, 3], *rotation], np.float32),
            "camera_pose": self._camera_pose.copy(),
            "environment_state": environment_state(self.scene, self._body_pose),
        }
