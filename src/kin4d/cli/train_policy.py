"""`kin4d train policy`: a policy that imitates the scripted experts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from kin4d.cli.output import print_result
from kin4d.cli.ranges import Count
from kin4d.cli.train_options import TrainingOptions
from kin4d.errors import InputError


@dataclass(frozen=True, kw_only=True)
class TrainPolicy(TrainingOptions):
    """Train a policy on demonstrations in MuJoCo; run the same command again to resume.

    `kin4d evaluate-policy --policy OUTPUT` judges it.
    """

    kind: Literal["bc", "act", "diffusion"] = "bc"
    """Regression, action-chunking transformer, or diffusion policy."""
    observations: Literal["states", "images"] = "states"
    """What it sees: poses and sizes of the bodies, or colours and points of a camera."""
    tasks: tuple[str, ...] = (
        "reach",
        "push",
        "lift",
        "knock_over",
        "press_button",
        "open_drawer",
        "close_drawer",
        "close_door",
    )
    """Tasks it learns, distinguished by their instructions."""
    demos: Count = 50
    """Demonstrations of each task, drawn by the seed from `pool`."""
    pool: Count = 100
    """Demonstrations that are made of each task."""
    arm: str = "kin4d_arm"
    """Which robot."""
    cache: Path | None = None
    """Folder in which demonstrations are kept for other runs."""

    def run(self) -> None:
        import torch

        from kin4d.policies.learned.config import PolicyConfig
        from kin4d.policies.learned.demonstrations import Demonstrations, task_demonstrations
        from kin4d.policies.learned.train import TRAIN_CONFIGS, train_policy
        from kin4d.tasks.task import named_task

        torch.set_num_threads(self.threads)
        if self.demos > self.pool:
            raise InputError("demos", value=self.demos, allowed=f"at most the pool of {self.pool}")
        for task in self.tasks:
            named_task(task)
        rng = np.random.default_rng([self.seed, 2002])
        parts = []
        for task in self.tasks:
            pool = task_demonstrations(
                task,
                self.pool,
                arm=self.arm,
                images=self.observations == "images",
                cache=self.cache,
            )
            count = int(pool.demo.max()) + 1
            parts.append(pool.of_demos(rng.permutation(count)[: self.demos]))
        demonstrations = Demonstrations.join(parts)
        config = PolicyConfig(
            kind=self.kind,
            observations=self.observations,
            proprioception=demonstrations.proprioception.shape[1],
            bodies=demonstrations.bodies.shape[1],
            horizon=demonstrations.actions.shape[1],
        )
        network = train_policy(
            demonstrations,
            self.output,
            config=config,
            train_config=replace(TRAIN_CONFIGS[self.observations], **self.changes),
            data={
                "tasks": list(self.tasks),
                "demos": self.demos,
                "pool": self.pool,
                "arm": self.arm,
                "seed": self.seed,
            },
        )
        size = sum(parameter.numel() for parameter in network.parameters())
        file = self.output / "weights.safetensors"
        print_result(
            f"{size / 1e6:.2f} million parameters in {file}",
            {"weights": str(file), "parameters": size, "moments": len(demonstrations)},
            as_json=self.json,
        )
