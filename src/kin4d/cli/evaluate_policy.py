"""`kin4d evaluate-policy`: policies judged from the same starts, in truth and in imagination."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kin4d.cli.output import print_warning
from kin4d.cli.ranges import Count, Seed, Timeout, Workers


def evaluate_policy_command(
    *,
    policy: tuple[str, ...],
    env: tuple[str, ...] = ("kin4d/MuJoCo-v0", "kin4d/Imagined-v0"),
    tasks: tuple[str, ...] = ("lift", "push", "open_drawer", "press_button"),
    episodes: Count = 10,
    seed: Seed = 920_000_000,
    arm: str = "kin4d_arm",
    preset: str | None = None,
    timeout: Timeout = 30.0,
    api_key: str | None = None,
    weights: str = "tiny",
    window: Count = 80,
    max_steps: Count = 120,
    workers: Workers = 1,
    cluster: bool = False,
    json: Path | None = None,
) -> None:
    """Run policies from the same starts in MuJoCo and in imagination, and compare.

    A policy that gives NaN, the wrong shape, an error or nothing in time fails that episode, which
    is marked; the run goes on. Actions outside the space are clipped and counted.

    Args:
        policy: ws://host:port, lerobot:PATH, module:callable, expert or expert:SIGMA (noise in m
            per action). Several may be given; three or more are correlated.
        env: kin4d/MuJoCo-v0, kin4d/Scene-v0, kin4d/Imagined-v0, or ws://host:port of
            `kin4d serve-env`. With several, the statistics of each one's agreement with the first
            are printed.
        tasks: Names of tasks.
        episodes: Starts of each task.
        seed: First of their seeds. The world models that ship were not trained on seeds from
            900 million on.
        arm: Which robot; DROID policies need one with seven joints, such as panda.
        preset: Keys and units of a server that does not say them: kin4d, droid or libero.
        timeout: s that a server may take for an answer.
        api_key: For a server that asks for one.
        weights: World model: a name that ships, a .safetensors file, a folder or a hub id.
        window: Actions that the world model predicts from one frame.
        max_steps: Actions after which an episode is cut off; 20 are a second.
        workers: Processes of a Ray cluster that is started here.
        cluster: Work on Ray: the cluster RAY_ADDRESS names, or one started on this machine.
        json: Write outcomes and statistics to this file.
    """
    from kin4d.benchmarks.report import machine, versions
    from kin4d.envs import IMAGINED
    from kin4d.envs.env import check_env_name
    from kin4d.files import write_json
    from kin4d.policies.evaluate import compare_worlds, success_rates
    from kin4d.policies.evaluation_plan import EvaluationPlan
    from kin4d.tasks.task import named_task

    for name in env:
        check_env_name(name)
    for name in tasks:
        named_task(name)
    options: dict[str, dict[str, Any]] = {name: {"max_steps": max_steps} for name in env}
    if IMAGINED in options:
        options[IMAGINED] |= {"weights": weights, "window": window}

    def report(outcome) -> None:
        if outcome.error:
            where = f"{outcome.policy}, {outcome.env}, {outcome.task}, seed {outcome.seed}"
            print_warning(f"{where}: {outcome.message}")

    plan = EvaluationPlan(
        policies=policy,
        envs=env,
        tasks=tasks,
        episodes=episodes,
        seed=seed,
        arm=arm,
        preset=preset,
        timeout=timeout,
        api_key=api_key,
        options=options,
    )
    on_ray = cluster or workers > 1
    outcomes = (
        plan.run_on_ray(workers=workers, report=report) if on_ray else plan.run(report=report)
    )
    rows = success_rates(outcomes)
    compared = {one: compare_worlds(outcomes, simulated=one, real=env[0]) for one in env[1:]}
    print(_table(rows))
    for one, found in compared.items():
        print(f"\n{one} against {env[0]}:")
        print(_statistics(found))
    if json is not None:
        data = {
            "options": {"seed": seed, "episodes": episodes, "arm": arm, "window": window},
            "rates": rows,
            "comparisons": compared,
            "outcomes": [asdict(one) for one in outcomes],
            "versions": versions(),
            "machine": machine(),
        }
        write_json(json, data)


def _table(rows: list[dict[str, Any]]) -> str:
    width = max(len(row["policy"]) for row in rows)
    lines = []
    for row in rows:
        line = f"{row['policy']:{width}}  {row['env']:18} {row['task']:15} "
        line += f"{row['success']:.2f} [{row['low']:.2f}, {row['high']:.2f}] of {row['episodes']}"
        line += f", {row['clipped']} actions clipped" if row["clipped"] else ""
        line += f", {row['errors']} ended by errors" if row["errors"] else ""
        lines.append(line)
    return "\n".join(lines)


def _statistics(found: dict[str, Any]) -> str:
    if not found["episodes"]:
        return "No episode was finished in both environments."
    low, high = found["gap_interval"]
    lines = [
        f"{found['episodes']} episodes in both worlds (judged / true):",
        f"  success / success {found['both']}, success / failure {found['simulated_only']}, "
        f"failure / success {found['real_only']}, failure / failure {found['neither']}",
        f"  same outcome {found['accuracy']:.2f}; without seeing a rollout "
        f"{found['blind_floor']:.2f}, knowing the task {found['task_mean_accuracy']:.2f}",
        f"  success gap {found['gap']:+.2f} [{low:+.2f}, {high:+.2f}]",
        f"  failure optimism {_number(found['failure_optimism'])} "
        "(share of true failures that imagination calls a success)",
        f"{found['policies']} policies: mean absolute gap {found['mean_absolute_gap']:.2f} "
        f"(blind {found['blind_gap']:.2f}), MMRV {found['mmrv']:.3f}",
    ]
    for name in ("pearson", "spearman"):
        one = found[name]
        if one is None:
            continue
        leave, interval = one["leave_one_out"], one["interval"]
        lines.append(
            f"  {name} {_number(one['value'])}, one left out {_number(leave[0])} to "
            f"{_number(leave[1])}, 95 % {_number(interval[0])} to {_number(interval[1])}, "
            f"smallest p {one['smallest_p']:.2g}"
        )
    if found["pearson"] is None:
        lines.append("  a correlation needs at least three policies")
    return "\n".join(lines)


def _number(value: float) -> str:
    return f"{value:.2f}" if math.isfinite(value) else "undefined"
