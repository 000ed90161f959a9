"""Policies judged in imagination: outcomes that are kept, tables, thresholds, one page."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kin4d.benchmarks import envs
from kin4d.benchmarks.policy.analysis import Worlds, policy_report
from kin4d.benchmarks.policy.contenders import Contender, OtherStart, find_contenders, stay
from kin4d.benchmarks.policy.page import write_page
from kin4d.benchmarks.policy.recording import KINDS, RecordedEpisode, record_examples
from kin4d.benchmarks.policy.result_folder import ResultFolder, run_missing
from kin4d.benchmarks.report import Report
from kin4d.envs import ENVS, MUJOCO, SCENE
from kin4d.errors import InputError
from kin4d.policies.evaluate import EpisodeOutcome
from kin4d.policies.scripted import ScriptedPolicy

SEED = 930_000_000
WORLDS = Worlds(judged="dream", truth="real")


def resting(observation: Any) -> np.ndarray:
    return stay(observation)


def contender(name: str, kind: str = "scripted") -> Contender:
    return Contender(name=name, policy=resting, kind=kind, digest=name)


def outcome(policy: str, env: str, task: str, seed: int, success: bool, **other: Any) -> Any:
    return EpisodeOutcome(
        policy=policy, env=env, task=task, seed=seed, success=success, steps=5, clipped=0,
        seconds=0.1, **other,
    )  # fmt: skip


def outcomes_of(rates: dict[str, tuple[list[int], list[int]]]) -> list[EpisodeOutcome]:
    """Of policies with the given imagined and true outcomes; every other one is another task."""
    return [
        outcome(name, env, ("push", "lift")[i % 2], i, bool(one))
        for name, both in rates.items()
        for env, values in zip(("dream", "real"), both, strict=True)
        for i, one in enumerate(values)
    ]


def rows_of(report: Report, key: str) -> list[dict[str, Any]]:
    return [row for row in report.rows if next(iter(row)) == key]


def test_tables_and_thresholds() -> None:
    rates = {
        "a": ([1, 1, 1, 1], [1, 1, 1, 0]),
        "b": ([1, 0, 0, 0], [1, 0, 0, 0]),
        "c": ([0, 1, 1, 0], [0, 1, 0, 1]),
        "control:stay": ([0, 0, 0, 0], [0, 0, 0, 0]),
    }
    kinds = {"a": "trained", "b": "trained", "c": "scripted", "control:stay": "control"}
    report = policy_report(
        outcomes_of(rates), [contender(name, kind) for name, kind in kinds.items()], WORLDS
    )
    policies = {row["policy"]: row for row in rows_of(report, "policy")}
    assert list(policies) == ["a", "b", "c"]
    assert (policies["a"]["true"], policies["a"]["imagined"]) == (0.75, 1.0)
    assert policies["a"]["true low"] <= 0.75 <= policies["a"]["true high"]
    assert [row["gap"] for row in policies.values()] == [0.25, 0.0, 0.0]
    values = {check.name: check.value for check in report.checks}
    assert values["mean absolute success gap"] == pytest.approx(0.25 / 3)
    assert values["failure optimism"] == pytest.approx(2 / 6)
    assert values["MMRV"] == 0
    assert (values["trained policies"], values["scripted policies"]) == (2, 1)
    assert (values["tasks"], values["starts of each task"]) == (2, 2)
    assert report.ratios["imagined success, true failure"] == 2
    assert report.ratios["imagined failure, true success"] == 1
    low, high = (report.ratios[f"mean absolute gap, {end}"] for end in ("low", "high"))
    assert 0 <= low <= high <= 1
    imagination, blind, trivial = rows_of(report, "judge")
    assert imagination["same outcome"] == 9 / 12
    assert blind["same outcome"] == 0.5
    assert trivial["same outcome"] == 0.5
    assert math.isnan(blind["pearson"])
    measures = {(row["policies"], row["correlation"]) for row in rows_of(report, "policies")}
    assert measures == {("all: 3", "pearson"), ("all: 3", "spearman")}
    assert len(rows_of(report, "cell")) == 6
    assert rows_of(report, "actions")[0]["actions"] == "control:stay"


def test_errors_are_left_out_of_both_worlds() -> None:
    rates = {"a": ([1, 1], [1, 1]), "b": ([0, 0], [0, 1]), "c": ([1, 0], [1, 0])}
    made = outcomes_of(rates)
    made += [outcome("a", "dream", "push", 9, False, error="timeout")]
    made += [outcome("a", "real", "push", 9, True)]
    report = policy_report(made, [contender(name) for name in rates], WORLDS)
    assert report.ratios["episodes"] == 6
    assert report.notes[0].startswith("1 of 14 ")
    nothing = policy_report(made[:2], [contender("a")], WORLDS)
    assert nothing.checks == []
    assert "no episode" in nothing.notes[0]


def test_a_stopped_run_goes_on(tmp_path: Path) -> None:
    calls: list[int] = []

    def counting(observation: Any) -> np.ndarray:
        calls.append(observation["episode/seed"])
        return stay(observation)

    policy = Contender(name="expert:0.1", policy=counting, kind="scripted")
    options, settings = {MUJOCO: {"max_steps": 8}}, {"window": 80}
    folder = ResultFolder(tmp_path, settings)
    first = run_missing(folder, [policy], [("reach", SEED)], options)
    assert calls == [SEED]
    starts = [("reach", SEED), ("reach", SEED + 1)]
    both = run_missing(ResultFolder(tmp_path, settings), [policy], starts, options)
    assert calls == [SEED, SEED + 1]
    assert both[0] == first[0]
    other = Contender(name="expert:0.1", policy=counting, kind="scripted", digest="new weights")
    run_missing(folder, [other], [("reach", SEED)], options)
    assert calls == [SEED, SEED + 1, SEED]
    with pytest.raises(InputError, match="other settings"):
        ResultFolder(tmp_path, {"window": 10})
    file = next((tmp_path / "MuJoCo-v0" / "expert-0.1").glob("*.json"))
    file.write_text("{")
    with pytest.raises(InputError, match=file.name):
        run_missing(folder, [other], starts, options)


def test_contenders(tmp_path: Path) -> None:
    found = find_contenders([])
    assert [one.kind for one in found].count("scripted") == 5
    assert {one.name for one in found if one.kind == "control"} == {
        "control:other_start",
        "control:stay",
    }
    expert, swapped = ScriptedPolicy(), OtherStart()
    seen = {"episode/task": "push", "episode/arm": "kin4d_arm", "episode/step": 0}
    np.testing.assert_array_equal(
        swapped({**seen, "episode/seed": SEED}), expert({**seen, "episode/seed": SEED + 1})
    )
    with pytest.raises(InputError, match="no trained policy"):
        find_contenders([tmp_path])


def test_videos_and_the_page(tmp_path: Path) -> None:
    policies = [Contender(name="expert", policy=ScriptedPolicy(), kind="scripted")]
    worlds, options = Worlds(judged=SCENE, truth=MUJOCO), {MUJOCO: {}, SCENE: {}}
    made = [outcome("expert", env, "reach", SEED, True) for env in (SCENE, MUJOCO)]
    # An outcome that does not come out again is not shown.
    made += [outcome("expert", env, "reach", SEED + 1, False) for env in (SCENE, MUJOCO)]
    (video,) = record_examples(tmp_path, made, policies, worlds, options, count=1)
    assert (video.kind, video.task) == ("both succeed", "reach")
    report = policy_report(made, policies, worlds)
    page = write_page(tmp_path / "policy.html", report, [video]).read_text()
    for text in ("data:image/gif;base64,", "Both succeed", "failure optimism", "missed"):
        assert text in page
    bad = RecordedEpisode(
        file=video.file, kind=KINDS[True, False], policy="<script>", task="x", seed=1
    )
    assert "<script>" not in write_page(tmp_path / "x.html", report, [bad]).read_text()


def test_speed_of_the_environments() -> None:
    report = envs.run(quick=True, seed=0)
    assert [row["environment"] for row in report.rows] == list(ENVS)
    assert all(row["steps per second"] == row["steps"] / row["seconds"] for row in report.rows)
    assert report.checks[0].name == "seconds of 200 imagined steps, one by one"
