"""make_env: environments in parallel, under the name that LeRobot looks for in a package's env.py.

`rollout` of LeRobot needs `task_description`, `_max_episode_steps` and `is_success`; it reads the
last one from `final_info`, which gymnasium gives when environments reset in the same step.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import gymnasium
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv

from kin4d.envs import ENVS, MUJOCO
from kin4d.envs.chunk_env import ChunkEnv
from kin4d.errors import InputError


def make_env(
    n_envs: int = 1, use_async_envs: bool = False, *, env: str = MUJOCO, **options: Any
) -> VectorEnv:
    """`n_envs` environments of a kind.

    Args:
        n_envs: How many.
        use_async_envs: One process for each.
        env: One of `kin4d.envs.ENVS`, or "ws://host:port" of `kin4d serve-env`.
        options: Of the environment, such as `task`; see `kin4d.envs.chunk_env`.
    """
    if n_envs < 1:
        raise InputError("number of environments", value=n_envs, allowed=">= 1")
    makers = [partial(make_task_env, env, **options)] * n_envs
    kind = AsyncVectorEnv if use_async_envs else SyncVectorEnv
    return kind(makers, autoreset_mode=AutoresetMode.SAME_STEP)


def check_env_name(env: str) -> None:
    """Refuse what names no environment."""
    if env not in ENVS and not env.startswith(("ws://", "wss://")):
        allowed = f"{', '.join(ENVS)}, ws://host:port"
        raise InputError("there is no such environment", value=env, allowed=allowed)


def make_task_env(env: str, **options: Any) -> ChunkEnv:
    """One environment of a kind, or the one behind an address."""
    check_env_name(env)
    if env not in ENVS:
        from kin4d.envs.remote_env import RemoteEnv

        return RemoteEnv(env, **options)
    made: Any = gymnasium.make(env, **options)
    return made.unwrapped
