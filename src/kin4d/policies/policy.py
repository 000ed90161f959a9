"""The policy protocol: a callable from an observation to a chunk of actions.

An observation is a flat dict; `kin4d.envs` makes it, and every policy sees the same one:

- `observation/image` [H, W, 3] uint8, `observation/depth` [H, W] float32 m and
  `observation/pointmap` [H, W, 3] float32 m in the camera frame (0 where nothing is seen)
- `observation/joint_position` [n] float32 rad, `observation/gripper_position` [1] float32, 0 closed
  to 1 open, `observation/eef_pose` [6] float32: position (m) and rotation vector of the grasp frame
- `observation/camera_pose` [4, 4] float32: of the camera in the world
- `observation/environment_state` [45] float32: poses and sizes of the task's bodies; see
  `kin4d.envs.environment_state`
- `prompt`: the instruction
- `episode/task`, `episode/arm`, `episode/seed`, `episode/step`: which episode this is and how many
  actions were taken. Scripted experts need them; a learned policy should not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np

from kin4d.errors import InputError

CONTROLS = ("pose_delta", "joint_velocity")
"""How actions move the arm; see `kin4d.envs.chunk_env`."""


class Policy(Protocol):
    """Anything that can be called like this; a plain function is a policy."""

    def __call__(self, observation: Mapping[str, Any], /) -> np.ndarray:
        """[H, D] actions to carry out one after the other; [D] is a chunk of one."""
        ...


@runtime_checkable
class StatefulPolicy(Protocol):
    """A policy with a memory."""

    def reset(self) -> None:
        """Forget the last episode."""
        ...


class EpisodeError(InputError):
    """Something that ends an episode; an evaluation marks it and goes on with the next.

    Args:
        reason: One word; see the classes derived from it.
        what: What is wrong.
        details: As for `InputError`.
    """

    def __init__(self, reason: str, what: str, **details: Any) -> None:
        super().__init__(what, **details)
        self.reason = reason


class PolicyError(EpisodeError):
    """A policy gave no usable actions: "timeout", "disconnected", "refused", "error",
    "not_finite" or "shape"."""


def policy_control(policy: Policy) -> str:
    """Which of `CONTROLS` a policy's actions are; pose deltas unless it says otherwise."""
    return str(getattr(policy, "control", CONTROLS[0]))


def check_actions(actions: Any, width: int) -> np.ndarray:
    """[H, width] float64 actions, or a `PolicyError` that says what is wrong with them."""
    try:
        values = np.asarray(actions, np.float64)
    except (TypeError, ValueError) as error:
        raise PolicyError("shape", f"the policy's actions are not numbers: {error}") from None
    values = values[None] if values.ndim == 1 else values
    if values.ndim != 2 or values.shape[1] != width or not len(values):
        raise PolicyError(
            "shape",
            "the policy's actions have the wrong shape",
            value=np.shape(actions),
            allowed=f"[H >= 1, {width}] or [{width}]",
        )
    bad = np.flatnonzero(~np.isfinite(values).all(1))
    if len(bad):
        raise PolicyError(
            "not_finite", f"the policy's action {bad[0]} holds NaN or infinite values"
        )
    return values
