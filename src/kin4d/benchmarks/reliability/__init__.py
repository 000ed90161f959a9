"""Files of strangers, kills, servers under load, long runs, determinism, several workers.

Each part is a module here; a part that has been run can be kept in a folder, so that the whole
benchmark, which takes hours, can be stopped and go on.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from kin4d.benchmarks.reliability import files, kills
from kin4d.benchmarks.report import Check, Report
from kin4d.errors import InputError
from kin4d.files import read_json, remove_abandoned, write_json
from kin4d.progress import track
from kin4d.reading import reading

PARTS = ("files", "kills", "servers", "long_runs", "determinism", "workers")
_KEPT = ("rows", "checks", "notes")


def run(
    *,
    quick: bool,
    seed: int,
    count: int | None = None,
    loaders: Sequence[str] = (),
    parts: Sequence[str] = (),
    results: Path | None = None,
) -> Report:
    """All parts, one after the other.

    Args:
        quick: Few inputs, kills, clients and steps.
        seed: Of all that is drawn.
        count: Damaged inputs for each loader; 500 by default.
        loaders: Only these loaders and jobs: see `loaders.LOADERS` and `kill_jobs.JOBS`. Without
            `parts`, only damaged files of these loaders.
        parts: Only these of `PARTS`.
        results: Folder that keeps each part when it is done.
    """
    from kin4d.benchmarks.reliability.kill_jobs import JOBS
    from kin4d.benchmarks.reliability.loaders import LOADERS

    known_names = {*LOADERS, *JOBS}
    for what, given, known in (("loader", loaders, known_names), ("part", parts, PARTS)):
        if unknown := sorted(set(given) - set(known)):
            raise InputError(f"no such {what}", value=unknown[0], allowed=", ".join(known))
    count = count or (10 if quick else 500)
    if count < 1:
        raise InputError("count of inputs", value=count, allowed=">= 1")
    whole = Report()
    for part in parts or (("files",) if loaders else PARTS):
        if part == "files":
            found = _joined(
                results, part, _chosen(LOADERS, loaders), {"seed": seed, "count": count},
                lambda name: files.damage(name, count, seed=seed), files.loader_checks,
            )  # fmt: skip
        elif part == "kills":
            trials = 4 if quick else 100
            found = _joined(
                results, part, _chosen(JOBS, loaders), {"seed": seed, "trials": trials},
                lambda name, trials=trials: kills.kill_often(name, trials, seed=seed),
                kills.job_checks,
            )  # fmt: skip
        else:
            module = importlib.import_module(f"kin4d.benchmarks.reliability.{part}")
            settings = {"seed": seed, "quick": quick}
            found = _kept(results, part, settings, partial(module.run, quick=quick, seed=seed))
        _add(whole, found)
    return whole


def _chosen(names: Iterable[str], wanted: Sequence[str]) -> list[str]:
    """The names that are wanted; all if none of them is."""
    return [name for name in names if name in wanted] or [*names]


def _joined(
    results: Path | None,
    part: str,
    names: Iterable[str],
    settings: dict[str, Any],
    make: Callable[[str], Report],
    checks: Callable[[list[dict[str, Any]]], list[Check]],
) -> Report:
    """A part with a row for each name, each kept by itself."""
    found = Report()
    for name in track([*names], part):
        _add(found, _kept(results, f"{part} {name}", settings, partial(make, name)))
    found.checks = checks(found.rows)
    return found


def _add(whole: Report, part: Report) -> None:
    whole.rows += part.rows
    whole.checks += part.checks
    whole.notes += part.notes


def _kept(
    results: Path | None, name: str, settings: dict[str, Any], make: Callable[[], Report]
) -> Report:
    """A report from the folder of results, or made and kept there."""
    if results is None:
        return make()
    remove_abandoned(results)
    file = results / f"{name.replace(' ', '-')}.json"
    if not file.is_file():
        report = make()
        kept = {key: value for key, value in asdict(report).items() if key in _KEPT}
        write_json(file, {"settings": settings, **kept})
        return report
    with reading(file, "part of a benchmark", hint="delete it: it is made again"):
        found = read_json(file)
        if found["settings"] != settings:
            raise InputError(
                f"{file} is of another run", value=found["settings"], allowed=str(settings)
            )
        checks = [Check(**one) for one in found["checks"]]
        return Report(rows=found["rows"], checks=checks, notes=found["notes"])
