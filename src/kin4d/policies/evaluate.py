"""Evaluation: the same policies from the same starts in two worlds, and how far the worlds agree.

Policies that fail to answer do not end an evaluation: the episode is marked with the reason, counts
as a failure, and the next one begins.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from kin4d.envs.chunk_env import ChunkEnv
from kin4d.errors import InputError, Kin4dError
from kin4d.policies.policy import (
    EpisodeError,
    Policy,
    StatefulPolicy,
    check_actions,
    policy_control,
)
from kin4d.policies.statistics import (
    Agreement,
    agreement,
    blind_gap,
    bootstrap_interval,
    mmrv,
    pearson,
    spearman,
)


@dataclass(frozen=True, kw_only=True)
class EpisodeOutcome:
    """How one episode went.

    Attributes:
        policy: Name of the policy.
        env: Id of the environment.
        task: Name of the task.
        seed: Of the start.
        success: Whether the task was done.
        steps: Actions carried out.
        clipped: Actions of these that were outside the action space.
        seconds: How long it took.
        error: Reason of the `EpisodeError` that ended it; "" if none did.
        message: What the error said.
    """

    policy: str
    env: str
    task: str
    seed: int
    success: bool
    steps: int
    clipped: int
    seconds: float
    error: str = ""
    message: str = ""


def run_episode(
    env: ChunkEnv, policy: Policy, *, seed: int, name: str, world: str
) -> EpisodeOutcome:
    """One episode; its chunks of actions are carried out whole.

    Args:
        env: The environment.
        policy: The policy; its actions must be those of the environment's `control`.
        seed: Of the start.
        name: Of the policy.
        world: Id of the environment.
    """
    width, start = int(np.prod(env.action_space.shape or ())), time.perf_counter()
    info: dict[str, Any] = {"is_success": False, "steps": 0, "clipped_actions": 0}
    error = message = ""
    try:
        observation, info = env.reset(seed=seed)
        if isinstance(policy, StatefulPolicy):
            policy.reset()
        over = False
        while not over:
            actions = check_actions(policy(env.policy_observation(observation)), width)
            observation, _, done, cut, info = env.step_chunk(actions)
            over = done or cut
    except EpisodeError as failed:
        error, message = failed.reason, str(failed)
    except Kin4dError:
        raise
    except Exception as failed:
        # A policy is somebody else's code: whatever it raises ends its episode alone.
        error, message = "error", f"{type(failed).__name__}: {failed}"
    return EpisodeOutcome(
        policy=name,
        env=world,
        task=env.task,
        seed=seed,
        success=bool(info["is_success"]) and not error,
        steps=int(info["steps"]),
        clipped=int(info["clipped_actions"]),
        seconds=time.perf_counter() - start,
        error=error,
        message=message,
    )


def evaluate_policies(
    policies: Mapping[str, Policy],
    *,
    envs: Sequence[str],
    tasks: Sequence[str],
    episodes: int,
    seed: int = 0,
    arm: str = "kin4d_arm",
    options: Mapping[str, Mapping[str, Any]] | None = None,
    report: Callable[[EpisodeOutcome], None] = lambda outcome: None,
) -> list[EpisodeOutcome]:
    """All policies in all tasks and environments, from the same starts.

    Args:
        policies: By name.
        envs: Ids, such as "kin4d/MuJoCo-v0", or addresses of `kin4d serve-env`.
        tasks: Names.
        episodes: Starts of each task; their seeds count from `seed`.
        seed: First of the seeds.
        arm: Which robot.
        options: Further options of an environment, by its id.
        report: Called after each episode.
    """
    from kin4d.envs.env import make_task_env

    if episodes < 1:
        raise InputError("episodes of each task", value=episodes, allowed=">= 1")
    if seed < 0:
        raise InputError("seed", value=seed, allowed=">= 0")
    outcomes = []
    for control in dict.fromkeys(policy_control(policy) for policy in policies.values()):
        chosen = {name: one for name, one in policies.items() if policy_control(one) == control}
        for world in envs:
            for task in tasks:
                given = dict((options or {}).get(world, {}))
                made = make_task_env(world, task=task, arm=arm, control=control, **given)
                for start in range(seed, seed + episodes):
                    for name, policy in chosen.items():
                        outcomes.append(
                            run_episode(made, policy, seed=start, name=name, world=world)
                        )
                        report(outcomes[-1])
                made.close()
    return outcomes


def success_rates(outcomes: Sequence[EpisodeOutcome]) -> list[dict[str, Any]]:
    """One row for each policy, environment and task, with a bootstrap interval."""
    rows = []
    cells = dict.fromkeys((one.policy, one.env, one.task) for one in outcomes)
    for policy, env, task in cells:
        own = [one for one in outcomes if (one.policy, one.env, one.task) == (policy, env, task)]
        success = [float(one.success) for one in own]
        low, high = bootstrap_interval(success)
        rows.append(
            {
                "policy": policy,
                "env": env,
                "task": task,
                "episodes": len(own),
                "success": float(np.mean(success)),
                "low": low,
                "high": high,
                "clipped": sum(one.clipped for one in own),
                "errors": sum(bool(one.error) for one in own),
            }
        )
    return rows


def compare_worlds(
    outcomes: Sequence[EpisodeOutcome], *, simulated: str, real: str
) -> dict[str, Any]:
    """Whether episodes, and the order of policies, come out alike in two environments.

    Episodes that a policy's error ended say nothing about the worlds; they are left out of both.

    Args:
        outcomes: Of both environments, from the same starts.
        simulated: Id of the environment that is judged.
        real: Id of the one it should agree with.
    """
    found: dict[tuple[str, str, int], dict[str, bool]] = {}
    for one in outcomes:
        if not one.error:
            found.setdefault((one.policy, one.task, one.seed), {})[one.env] = one.success
    pairs = {
        key: (both[simulated], both[real])
        for key, both in found.items()
        if simulated in both and real in both
    }
    if not pairs:
        return {"episodes": 0, "policies": 0}
    counts = _agreement(list(pairs.values()))
    names = list(dict.fromkeys(policy for policy, _, _ in pairs))
    rates = np.array(
        [np.mean([both for key, both in pairs.items() if key[0] == name], 0) for name in names]
    )
    s, r = rates.T.tolist()
    columns = [[float(one) for one in column] for column in zip(*pairs.values(), strict=True)]
    return {
        **asdict(counts),
        "accuracy": counts.accuracy,
        "gap": counts.gap,
        "gap_interval": bootstrap_interval(*columns, statistic=lambda a, b: float((a - b).mean())),
        "failure_optimism": counts.failure_optimism,
        "blind_floor": counts.blind_floor,
        "task_mean_accuracy": _task_mean_accuracy(pairs),
        "policies": len(names),
        "mean_absolute_gap": float(np.abs(rates[:, 0] - rates[:, 1]).mean()),
        "blind_gap": blind_gap(r),
        "mmrv": mmrv(s, r),
        "pearson": asdict(pearson(s, r)) if len(names) > 2 else None,
        "spearman": asdict(spearman(s, r)) if len(names) > 2 else None,
    }


def _agreement(pairs: Sequence[tuple[bool, bool]]) -> Agreement:
    simulated, real = zip(*pairs, strict=True)
    return agreement(simulated, real)


def _task_mean_accuracy(pairs: Mapping[tuple[str, str, int], tuple[bool, bool]]) -> float:
    """Accuracy of giving each task's commoner real outcome: the trivial answer."""
    right = 0.0
    for task in {key[1] for key in pairs}:
        own = _agreement([both for key, both in pairs.items() if key[1] == task])
        right += own.blind_floor * own.episodes
    return right / len(pairs)
