"""ResultFolder: outcomes of episodes on disk, so that a long run can be stopped and go on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kin4d.benchmarks.policy.contenders import Contender
from kin4d.envs.chunk_env import ChunkEnv
from kin4d.envs.env import make_task_env
from kin4d.errors import InputError
from kin4d.files import read_json, remove_abandoned, write_json
from kin4d.policies.evaluate import EpisodeOutcome, run_episode
from kin4d.reading import reading

Start = tuple[str, int]
"""A task and a seed."""


class ResultFolder:
    """One file for each episode: WORLD/POLICY/TASK-SEED.json.

    Args:
        path: The folder; made if it does not exist.
        settings: What outcomes depend on besides policy and start. A folder of other settings is
            refused.
    """

    def __init__(self, path: str | Path, settings: Mapping[str, Any]) -> None:
        self._path = Path(path)
        for folder in (self._path, *self._path.glob("*/*/")):
            remove_abandoned(folder)
        file = self._path / "settings.json"
        if file.is_file():
            with reading(file, "file of settings"):
                found = read_json(file)
                differs = [k for k in {*found, *settings} if found.get(k) != settings.get(k)]
            if differs:
                raise InputError(
                    f"{path} holds results of other settings",
                    value=f"{differs[0]} = {found.get(differs[0])}",
                    allowed=f"{settings.get(differs[0])}",
                    hint="choose another folder",
                )
        else:
            self._path.mkdir(parents=True, exist_ok=True)
            write_json(file, dict(settings))

    def load(self, world: str, contender: Contender, start: Start) -> EpisodeOutcome | None:
        """An outcome, if this policy has been run from this start."""
        file = self._file(world, contender, start)
        if not file.is_file():
            return None
        with reading(file, "result of an episode"):
            found = read_json(file)
            if found["digest"] != contender.digest:
                return None
            return EpisodeOutcome(**found["outcome"])

    def save(self, contender: Contender, outcome: EpisodeOutcome) -> None:
        """Keep an outcome."""
        file = self._file(outcome.env, contender, (outcome.task, outcome.seed))
        write_json(file, {"digest": contender.digest, "outcome": asdict(outcome)})

    def _file(self, world: str, contender: Contender, start: Start) -> Path:
        folder = world.rpartition("/")[2], contender.name.replace(":", "-")
        return self._path.joinpath(*folder, f"{start[0]}-{start[1]}.json")


def run_missing(
    folder: ResultFolder,
    contenders: Sequence[Contender],
    starts: Iterable[Start],
    worlds: Mapping[str, Mapping[str, Any]],
    *,
    report: Callable[[EpisodeOutcome], None] = lambda outcome: None,
) -> list[EpisodeOutcome]:
    """The outcomes of all policies from all starts in all worlds; what is known is not run again.

    Starts are gone through one after the other, so that a run that is stopped has all of some.

    Args:
        folder: Of the outcomes.
        contenders: The policies.
        starts: Tasks and seeds.
        worlds: Options of the environments, by id.
        report: Called with each outcome.
    """
    made: dict[tuple[str, str], ChunkEnv] = {}
    outcomes = []
    for task, seed in starts:
        for world, options in worlds.items():
            for contender in contenders:
                outcome = folder.load(world, contender, (task, seed))
                if outcome is None:
                    if (world, task) not in made:
                        made[world, task] = make_task_env(world, task=task, **options)
                    env = made[world, task]
                    outcome = run_episode(
                        env, contender.policy, seed=seed, name=contender.name, world=world
                    )
                    folder.save(contender, outcome)
                outcomes.append(outcome)
                report(outcome)
    return outcomes
