"""EvaluationPlan: an evaluation of policies as plain values, run here or on a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from kin4d.policies.evaluate import EpisodeOutcome, evaluate_policies
from kin4d.policies.load import load_policy
from kin4d.policies.policy import Policy
from kin4d.storage.cluster import map_on_ray


@dataclass(frozen=True, kw_only=True)
class EvaluationPlan:
    """Policies by name and where they act: what is sent to the machines of a cluster.

    Attributes:
        policies: As `kin4d.policies.load.load_policy` takes them.
        envs: Ids or addresses.
        tasks: Names.
        episodes: Starts of each task.
        seed: First of their seeds.
        arm: Which robot.
        preset: Of policies behind a server.
        timeout: s that such a server may take.
        api_key: For such a server.
        options: Further options of an environment, by its id.
    """

    policies: tuple[str, ...]
    envs: tuple[str, ...]
    tasks: tuple[str, ...]
    episodes: int
    seed: int = 0
    arm: str = "kin4d_arm"
    preset: str | None = None
    timeout: float = 30.0
    api_key: str | None = None
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def load(self) -> dict[str, Policy]:
        """The policies by name."""
        return {
            name: load_policy(
                name,
                preset=self.preset if name.startswith("ws") else None,
                timeout=self.timeout,
                api_key=self.api_key,
            )
            for name in self.policies
        }

    def run(
        self, *, report: Callable[[EpisodeOutcome], None] = lambda outcome: None
    ) -> list[EpisodeOutcome]:
        """All episodes, in this process."""
        return evaluate_policies(
            self.load(), envs=self.envs, tasks=self.tasks, episodes=self.episodes, seed=self.seed,
            arm=self.arm, options=self.options, report=report,
        )  # fmt: skip

    def run_on_ray(
        self,
        *,
        workers: int,
        report: Callable[[EpisodeOutcome], None] = lambda outcome: None,
    ) -> list[EpisodeOutcome]:
        """All episodes on a Ray cluster, start by start; see `map_on_ray`."""
        parts = [
            replace(self, envs=(env,), tasks=(task,), episodes=1, seed=seed)
            for env in self.envs
            for task in self.tasks
            for seed in range(self.seed, self.seed + self.episodes)
        ]
        found: dict[int, list[EpisodeOutcome]] = {}
        purpose = "evaluating on a cluster"
        numbered = map_on_ray(_run_part, [*enumerate(parts)], workers=workers, purpose=purpose)
        for (number, _), outcomes in numbered:
            found[number] = outcomes
            for one in outcomes:
                report(one)
        return [one for number in range(len(parts)) for one in found[number]]


def _run_part(part: tuple[int, EvaluationPlan]) -> list[EpisodeOutcome]:
    return part[1].run()
