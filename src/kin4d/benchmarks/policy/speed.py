"""Steps per second of the environments, alone and eight in parallel."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from kin4d.envs import ENVS, IMAGINED
from kin4d.envs.env import make_env, make_task_env

_TASK, _SEED, _CHUNK = "push", 930_000_000, 8


def measure_speed(
    options: Mapping[str, Mapping[str, Any]], *, steps: int = 200, parallel: int = 8
) -> list[dict[str, Any]]:
    """A row for each environment.

    Args:
        options: Of the environments, by id.
        steps: Of a rollout.
        parallel: Environments at once, each in a process of its own; 0 to leave these out.
    """
    rows = []
    for world in ENVS:
        given = dict(options.get(world, {}))
        seconds = rollout_seconds(world, steps, given)
        row: dict[str, Any] = {
            "speed": world,
            "seconds of a rollout": seconds,
            "steps of it": steps,
            "steps per second": steps / seconds,
        }
        if parallel:
            shared = {k: v for k, v in given.items() if not (world == IMAGINED and k == "weights")}
            row[f"steps per second of {parallel} in parallel"] = _parallel(world, parallel, shared)
        rows.append(row)
    return rows


def rollout_seconds(world: str, steps: int, options: Mapping[str, Any]) -> float:
    """How long `steps` actions in chunks of eight take; compilation comes before."""
    env = make_task_env(world, task=_TASK, **{**options, "max_steps": max(steps, _CHUNK)})
    for count in (_CHUNK, steps):
        env.reset(seed=_SEED)
        rng, start = np.random.default_rng(0), time.perf_counter()
        for _ in range(0, count, _CHUNK):
            # Small motions high above the table: nothing is done by chance.
            actions = rng.uniform(-0.004, 0.004, (min(_CHUNK, count), 7))
            actions[:, 3:6], actions[:, 6] = 0.0, 1.0
            env.step_chunk(actions)
    return time.perf_counter() - start


def _parallel(world: str, count: int, options: Mapping[str, Any], *, steps: int = 25) -> float:
    vector: Any = make_env(count, use_async_envs=True, env=world, task=_TASK, **options)
    try:
        vector.reset(seed=[_SEED + i for i in range(count)])
        actions = np.zeros(vector.action_space.shape, np.float32)
        actions[:, 6] = 1.0
        vector.step(actions)
        start = time.perf_counter()
        for _ in range(steps):
            vector.step(actions)
        return count * steps / (time.perf_counter() - start)
    finally:
        vector.close()
