"""Evaluation: episodes that policies spoil are marked, and worlds are compared by hand counts."""

import json
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from websockets.sync.server import serve

from kin4d.cli import main
from kin4d.envs import IMAGINED, MUJOCO
from kin4d.errors import InputError
from kin4d.policies.array_messages import pack_message
from kin4d.policies.evaluate import (
    EpisodeOutcome,
    compare_worlds,
    evaluate_policies,
    success_rates,
)
from kin4d.policies.evaluation_plan import EvaluationPlan
from kin4d.policies.policy import PolicyError
from kin4d.policies.scripted import ScriptedPolicy

SEED = 920_000_000
REST = np.array([[0, 0, 0, 0, 0, 0, 1.0]])


def silent(observation):
    raise PolicyError("timeout", "no answer")


def raising(observation):
    raise KeyError("observation/tactile")


def test_useless_policies_are_marked_and_the_run_goes_on() -> None:
    policies = {
        "nan": lambda observation: REST * np.nan,
        "narrow": lambda observation: REST[:, :6],
        "silent": silent,
        "raising": raising,
        "wild": lambda observation: REST + np.array([0, 0, 9.0, 0, 0, 0, 0]),
        "expert": ScriptedPolicy(),
    }
    outcomes = evaluate_policies(
        policies,
        envs=[MUJOCO],
        tasks=["reach"],
        episodes=1,
        seed=SEED,
        options={MUJOCO: {"max_steps": 60}},
    )
    found = {one.policy: one for one in outcomes}
    errors = {name: one.error for name, one in found.items() if one.error}
    expected = {"nan": "not_finite", "narrow": "shape", "silent": "timeout", "raising": "error"}
    assert errors == expected
    assert "tactile" in found["raising"].message
    assert found["expert"].success
    assert (found["wild"].success, found["wild"].clipped, found["wild"].steps) == (False, 60, 60)
    rows = {row["policy"]: row for row in success_rates(outcomes)}
    assert (rows["expert"]["success"], rows["nan"]["errors"]) == (1.0, 1)


def outcome(policy: str, env: str, seed: int, success: bool, error: str = "") -> EpisodeOutcome:
    return EpisodeOutcome(
        policy=policy, env=env, task="t", seed=seed, success=success, steps=1, clipped=0,
        seconds=0.0, error=error,
    )  # fmt: skip


def test_worlds_are_compared_on_the_same_starts() -> None:
    real = {"a": [1, 1, 1, 0], "b": [1, 0, 0, 0], "c": [0, 0, 1, 1]}
    simulated = {"a": [1, 1, 1, 1], "b": [0, 1, 0, 0], "c": [0, 0, 1, 1]}
    outcomes = [
        outcome(name, env, seed, bool(success))
        for env, world in (("sim", simulated), ("real", real))
        for name, episodes in world.items()
        for seed, success in enumerate(episodes)
    ]
    # An episode that a time-out ended in one world is left out of both.
    outcomes += [outcome("a", "sim", 9, False, "timeout"), outcome("a", "real", 9, True)]
    found = compare_worlds(outcomes, simulated="sim", real="real")
    assert (found["episodes"], found["policies"]) == (12, 3)
    counts = [found[key] for key in ("both", "simulated_only", "real_only", "neither")]
    assert counts == [5, 2, 1, 4]
    assert found["failure_optimism"] == pytest.approx(2 / 6)
    assert found["gap"] == pytest.approx(1 / 12)
    assert found["mean_absolute_gap"] == pytest.approx(0.25 / 3)
    assert found["mmrv"] == 0
    assert found["pearson"]["value"] == pytest.approx(
        np.corrcoef([1, 0.25, 0.5], [0.75, 0.25, 0.5])[0, 1]
    )
    assert found["blind_floor"] == 0.5
    low, high = found["gap_interval"]
    assert low < found["gap"] < high
    assert compare_worlds([], simulated="sim", real="real")["episodes"] == 0


def test_the_command_survives_a_server_that_dies(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    requests = []

    def answer_once(connection) -> None:
        connection.send(pack_message({"preset": "kin4d"}))
        requests.append(connection.recv())
        if len(requests) > 1:
            return  # the connection ends without an answer
        connection.send(pack_message({"actions": REST.repeat(4, 0)}))
        connection.recv()

    file = tmp_path / "result.json"
    with serve(answer_once, "127.0.0.1", 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"ws://127.0.0.1:{server.socket.getsockname()[1]}"
        words = ["--policy", address, "expert", "--tasks", "reach", "--env", MUJOCO]
        words += ["--episodes", "2", "--max-steps", "50", "--json", str(file)]
        code = main(["evaluate-policy", *words])
    assert code == 0
    printed = capsys.readouterr()
    assert "2 ended by errors" in printed.out
    assert "closed the connection twice" in printed.err
    data = json.loads(file.read_text())
    errors = [one["error"] for one in data["outcomes"] if one["policy"] != "expert"]
    assert errors == ["disconnected"] * 2
    rates = {row["policy"]: row["success"] for row in data["rates"]}
    assert rates == {address: 0.0, "expert": 1.0}


def test_a_server_that_does_not_answer_is_marked_in_both_worlds_and_the_run_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    def never(connection) -> None:
        connection.send(pack_message({"preset": "kin4d"}))
        for _ in connection:
            pass

    file = tmp_path / "result.json"
    with serve(never, "127.0.0.1", 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"ws://127.0.0.1:{server.socket.getsockname()[1]}"
        words = ["--policy", address, "--tasks", "reach", "lift", "--episodes", "1"]
        assert main(["evaluate-policy", *words, "--timeout", "0.2", "--json", str(file)]) == 0
    assert capsys.readouterr().out.count("1 ended by errors") == 4
    outcomes = json.loads(file.read_text())["outcomes"]
    found = {(one["env"], one["task"]): (one["error"], one["steps"]) for one in outcomes}
    assert found == {
        (env, task): ("timeout", 0) for env in (MUJOCO, IMAGINED) for task in ("reach", "lift")
    }


def test_wrong_arguments(capsys: pytest.CaptureFixture) -> None:
    for words in (
        ["--policy", "expert", "--env", "kin4d/Dreams-v0"],
        ["--policy", "expert", "--tasks", "juggle"],
        ["--policy", "expert", "--episodes", "0"],
        ["--policy", "nothing"],
    ):
        assert main(["evaluate-policy", *words]) == 2
        assert "Allowed" in capsys.readouterr().err
    with pytest.raises(InputError):
        evaluate_policies({}, envs=[MUJOCO], tasks=["reach"], episodes=1, seed=-1)


@pytest.mark.slow
def test_ray_gives_the_same_outcomes() -> None:
    pytest.importorskip("ray")
    plan = EvaluationPlan(
        policies=("expert", "expert:0.02"),
        envs=(MUJOCO,),
        tasks=("reach", "push"),
        episodes=2,
        seed=SEED,
        options={MUJOCO: {"max_steps": 40}},
    )
    here, there = (
        [replace(one, seconds=0.0) for one in found]
        for found in (plan.run(), plan.run_on_ray(workers=2))
    )
    assert len(here) == 8
    assert here == there
