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
from kin4d.errors import InputError


def make_env(
    n_envs: int = 1, use_async_envs: bool = False, *, env: str = MUJOCO, **options: Any
) -> VectorEnv:
    """`n_envs` environments of a kind.

    Args:
        n_envs: How many.
        use_async_envs: One process for each.
        env: One of `kin4d.envs.ENVS`.
        options: Of the environment, such as `task`; see `kin4d.envs.task_env`.
    """
    if n_envs < 1:
        raise InputError("number of environments", value=n_envs, allowed=">= 1")
    if env not in ENVS:
        raise InputError("there is no such environment", value=env, allowed=", ".join(ENVS))
    makers = [partial(gymnasium.make, env, **options)] * n_envs
    kind = AsyncVectorEnv if use_async_envs else SyncVectorEnv
    return kind(makers, autoreset_mode=AutoresetMode.SAME_STEP)
