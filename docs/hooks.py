"""Turns ``{{ bench NAME }}`` in a page into the tables and bars of ``benchmarks/NAME.json``."""

from __future__ import annotations

import json
import re
from pathlib import Path

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def on_page_markdown(markdown: str, **_) -> str:
    """mkdocs' event: runs for every page."""
    return re.sub(r"\{\{ bench (\w+) \}\}", lambda found: tables(found[1]), markdown)


def tables(name: str) -> str:
    """Markdown of one benchmark: its bars, its rows grouped by columns, how it was made."""
    result = json.loads((BENCHMARKS / f"{name}.json").read_text())
    parts = []
    if result["checks"]:
        rows = [
            {
                "bar": check["name"],
                "measured": check["value"],
                "wanted": f"{'≥' if check['at_least'] else '≤'} {cell(check['bar'])}",
                "": "met" if check["pass"] else "**missed**",
            }
            for check in result["checks"]
        ]
        parts.append(table(rows))
    groups: dict[tuple[str, ...], list[dict]] = {}
    for row in result["rows"]:
        groups.setdefault(tuple(row), []).append(row)
    parts += [table(rows) for rows in groups.values()]
    if result["ratios"]:
        rows = [{"figure": name, "value": value} for name, value in result["ratios"].items()]
        parts.append(table(rows))
    parts += [f"*{note}*" for note in result["notes"]]
    machine, versions = result["machine"], result["versions"]
    parts.append(
        f"Made by `{result['command']}` on {machine['processor']}, {machine['cores']} cores, with "
        + ", ".join(f"{package} {version}" for package, version in versions.items())
        + "."
    )
    return "\n\n".join(parts)


def table(rows: list[dict]) -> str:
    """A Markdown table of flat dicts with the same keys."""
    header = list(rows[0])
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(cell(row[key]) for key in header) + " |" for row in rows]
    return "\n".join(lines)


def cell(value: object) -> str:
    """Four significant digits for numbers, plain text for the rest."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
