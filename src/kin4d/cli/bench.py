"""`kin4d bench`: the one door to every number."""

from __future__ import annotations

import importlib
import inspect
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import tyro

from kin4d.benchmarks import BENCHMARKS
from kin4d.cli.ranges import Count, Seed
from kin4d.errors import InputError
from kin4d.files import write_json


def bench_command(
    name: Annotated[str, tyro.conf.Positional] = "",
    *,
    quick: bool = False,
    json: Path | None = None,
    seed: Seed = 0,
    objects: tuple[Path, ...] = (),
    split: str = "",
    episodes: Path | None = None,
    weights: tuple[str, ...] = (),
    images: Path | None = None,
    count: Count | None = None,
    results: Path | None = None,
    loaders: tuple[str, ...] = (),
    parts: tuple[str, ...] = (),
    gate: bool = False,
    list: bool = False,
) -> None:
    """Measure, against references in the same run, and print which thresholds are met.

    Args:
        name: Which benchmark; leave it out to see them all.
        quick: A smaller run to see that everything works; its figures are not for quoting.
        json: Write rows, ratios, checks, seed, versions and machine to this file.
        seed: Random seed.
        objects: For object-pose and prior: folders of URDF objects, such as PartNet-Mobility's; for
            creatures: folders of animated glTF files.
        split: For prior, doors and creatures: "test", or "dev" for choosing between models.
        episodes: For world: a store of episodes; without one, some are made. For world-outside: a
            store made as benchmarks/outside/README.md says.
        weights: For object-pose, prior, doors, world, world-outside and policy: models to evaluate,
            each a name, a file, a run or a folder of runs.
        images: For object-pose, prior, doors, creatures, world, world-outside and policy: draw what
            was fitted, predicted, imagined or done into this folder.
        count: For reliability: damaged inputs for each loader. For policy: starts of each task.
            For prior and doors: objects of each set. For world-outside: episodes.
        results: For policy, world-outside and reliability: keep the outcome of each episode or part
            in this folder; the same command goes on where it was stopped.
        loaders: For reliability: only these loaders and jobs that are killed.
        parts: For reliability: only files, kills, servers, long_runs, determinism or workers.
        gate: Exit with code 1 if a threshold is missed; without it, misses are only printed.
        list: Print the names alone, one a line.
    """
    if list:
        print("\n".join(BENCHMARKS))
        return
    if not name:
        print("\n".join(f"{key:10} {what}" for key, what in BENCHMARKS.items()))
        return
    if name not in BENCHMARKS:
        raise InputError("there is no such benchmark", value=name, allowed=", ".join(BENCHMARKS))
    run = importlib.import_module("kin4d.benchmarks." + name.replace("-", "_")).run
    options = {
        "objects": objects,
        "split": split,
        "episodes": episodes,
        "weights": weights,
        "images": images,
        "count": count,
        "results": results,
        "loaders": loaders,
        "parts": parts,
    }
    given = {option: value for option, value in options.items() if value}
    for option in given:
        if option not in inspect.signature(run).parameters:
            raise InputError(f"benchmark '{name}' takes no --{option}")
    report = run(quick=quick, seed=seed, **given)
    # Folders elsewhere are named, not located: the figures travel, paths do not.
    flags = f" --objects {' '.join(one.resolve().name for one in objects)}" if objects else ""
    flags += f" --split {split}" if split else ""
    flags += f" --episodes {episodes.resolve().name}" if episodes else ""
    flags += f" --weights {' '.join(Path(one).name for one in weights)}" if weights else ""
    flags += f" --count {count}" if count else ""
    flags += f" --loaders {' '.join(map(shlex.quote, loaders))}" if loaders else ""
    flags += f" --parts {' '.join(parts)}" if parts else ""
    result = report.to_dict(name=name, seed=seed, quick=quick, options=flags)
    _show(result)
    if json is not None:
        write_json(json, result)
        print(f"written to {json}")
    missed = [check.name for check in report.checks if not check.passed]
    if gate and missed:
        print(f"kin4d: {len(missed)} of {len(report.checks)} thresholds missed", file=sys.stderr)
        raise SystemExit(1)


def _show(result: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    from kin4d.benchmarks.report import group_rows

    console = Console()
    for columns, rows in group_rows(result["rows"]):
        table = Table(*columns)
        for row in rows:
            table.add_row(*(_text(row[column]) for column in columns))
        console.print(table)
    for check in result["checks"]:
        sign = ">=" if check["at_least"] else "<="
        verdict = "[green]met[/]" if check["pass"] else "[red]MISSED[/]"
        console.print(
            f"{verdict}  {check['name']}: {_text(check['value'])} {sign} {check['threshold']}"
        )
    for note in result["notes"]:
        console.print(f"note: {note}", highlight=False)


def _text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
