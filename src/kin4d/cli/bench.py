"""`kin4d bench`: the one door to every number."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Annotated, Any

import tyro

from kin4d.errors import InputError
from kin4d.evaluate import BENCHMARKS
from kin4d.files import write_json


def bench(
    name: Annotated[str, tyro.conf.Positional] = "",
    *,
    quick: bool = False,
    json: Path | None = None,
    seed: int = 0,
    list: bool = False,
) -> None:
    """Measure, against references in the same run, and say which bars are met.

    A missed bar is shown but does not change the exit code.

    Args:
        name: Which benchmark; leave it out to see them all.
        quick: A smaller run to see that everything works; its figures are not for quoting.
        json: Write rows, ratios, checks, seed, versions and machine to this file.
        seed: Random seed.
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
    report = importlib.import_module(f"kin4d.evaluate.{name}").run(quick=quick, seed=seed)
    result = report.to_dict(name=name, seed=seed, quick=quick)
    _show(result)
    if json is not None:
        write_json(json, result)
        print(f"written to {json}")


def _show(result: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    for columns, rows in _tables(result["rows"]):
        table = Table(*columns)
        for row in rows:
            table.add_row(*(_text(row[column]) for column in columns))
        console.print(table)
    for check in result["checks"]:
        sign = ">=" if check["at_least"] else "<="
        verdict = "[green]met[/]" if check["pass"] else "[red]MISSED[/]"
        console.print(f"{verdict}  {check['name']}: {_text(check['value'])} {sign} {check['bar']}")
    for note in result["notes"]:
        console.print(f"note: {note}", highlight=False)


def _tables(rows: list[dict[str, Any]]) -> list[tuple[tuple[str, ...], list[dict[str, Any]]]]:
    """Rows grouped by their columns, in order of appearance."""
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row), []).append(row)
    return [*groups.items()]


def _text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
