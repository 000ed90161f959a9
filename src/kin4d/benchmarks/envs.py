"""Steps per second of the environments, alone and eight in parallel."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from kin4d.benchmarks.report import Check, Report
from kin4d.envs import ENVS, IMAGINED
from kin4d.envs.env import make_env, make_task_env

_TASK, _FIRST_SEED, _CHUNK = "push", 930_000_000, 8
_STEPS, _PARALLEL = 200, 8


def run(*, quick: bool, seed: int) -> Report:
    """A row for each environment.

    Args:
        quick: Short rollouts, and none in parallel.
        seed: Of the start.
    """
    import torch

    from kin4d.world.model import load_world_model

    torch.set_num_threads(1)
    steps, report = 24 if quick else _STEPS, Report()
    for world in ENVS:
        given = {"weights": load_world_model("tiny")} if world == IMAGINED else {}
        chunks, single = (
            rollout_seconds(world, steps, given, seed=seed, chunk=chunk) for chunk in (_CHUNK, 1)
        )
        row: dict[str, Any] = {
            "environment": world,
            "steps": steps,
            "seconds": chunks,
            "seconds one by one": single,
            "steps per second": steps / chunks,
            "one by one": steps / single,
        }
        if not quick:
            row[f"{_PARALLEL} in parallel, one by one"] = _parallel(world, seed)
        report.rows.append(row)
        if world == IMAGINED:
            name = f"seconds of {_STEPS} imagined steps, one by one"
            report.checks.append(Check(name, single * _STEPS / steps, 15.0))
    report.notes.append(
        f"Task {_TASK}, 64 x 96 pixels. Alone: one thread, actions in chunks of {_CHUNK} with one "
        "observation for each chunk, or one by one. In parallel: steps per second of all together, "
        "a process for each, an observation for each action."
    )
    return report


def rollout_seconds(
    world: str, steps: int, options: Mapping[str, Any], *, seed: int, chunk: int = _CHUNK
) -> float:
    """How long `steps` actions in chunks take; compilation comes before."""
    env = make_task_env(world, task=_TASK, **{**options, "max_steps": max(steps, _CHUNK)})
    for count in (chunk, steps):
        env.reset(seed=_FIRST_SEED + seed)
        rng, start = np.random.default_rng(0), time.perf_counter()
        for done in range(0, count, chunk):
            # Small motions high above the table: nothing is done by chance.
            actions = rng.uniform(-0.004, 0.004, (min(chunk, count - done), 7))
            actions[:, 3:6], actions[:, 6] = 0.0, 1.0
            env.step_chunk(actions)
    return time.perf_counter() - start


def _parallel(world: str, seed: int, *, steps: int = 25) -> float:
    count = _PARALLEL
    vector: Any = make_env(count, use_async_envs=True, env=world, task=_TASK)
    try:
        vector.reset(seed=[_FIRST_SEED + seed + i for i in range(count)])
        actions = np.zeros(vector.action_space.shape, np.float32)
        actions[:, 6] = 1.0
        vector.step(actions)
        start = time.perf_counter()
        for _ in range(steps):
            vector.step(actions)
        return count * steps / (time.perf_counter() - start)
    finally:
        vector.close()
