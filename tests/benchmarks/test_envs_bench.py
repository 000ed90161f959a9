"""The environments benchmark: one row for each world, timed in chunks and one by one."""

from __future__ import annotations

import pytest

from kin4d.benchmarks import envs
from kin4d.envs import IMAGINED, MUJOCO


def test_steps_are_timed_in_chunks_and_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(envs, "ENVS", (MUJOCO, IMAGINED))
    asked = []

    def timed(world: str, steps: int, options: dict, *, seed: int, chunk: int) -> float:
        asked.append((world, steps, chunk, bool(options)))
        return steps / 100 / chunk

    monkeypatch.setattr(envs, "rollout_seconds", timed)
    report = envs.run(quick=True, seed=0)
    # Only the world model is loaded once for all.
    assert asked == [
        (world, 24, chunk, world == IMAGINED) for world in (MUJOCO, IMAGINED) for chunk in (8, 1)
    ]
    assert [row["steps per second"] for row in report.rows] == [800.0, 800.0]
    assert [row["one by one"] for row in report.rows] == [100.0, 100.0]
    (check,) = report.checks
    assert (check.value, check.passed) == (2.0, True)


def test_a_rollout_takes_all_its_steps() -> None:
    pytest.importorskip("mujoco")
    assert envs.rollout_seconds(MUJOCO, 5, {}, seed=0, chunk=2) > 0
