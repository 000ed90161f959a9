"""One HTML page of a report: its tables, thresholds and videos, without other files."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from kin4d.benchmarks.policy.recording import KINDS, RecordedEpisode
from kin4d.benchmarks.report import Report
from kin4d.files import write_bytes

_TABLES = {
    "policy": "Policies",
    "task": "Tasks",
    "judge": "Judges",
    "correlation": "Correlation over policies",
    "actions": "Other actions from the same starts",
    "cell": "Policies and tasks",
}
_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; max-width: 72em; margin: 2em auto; padding: 0 1em }
table { border-collapse: collapse; margin: .6em 0 1.6em } th, td { padding: .2em .7em }
th { text-align: left; border-bottom: 2px solid #888 } td { border-bottom: 1px solid #ddd }
td.number { text-align: right; font-variant-numeric: tabular-nums }
.met { color: #176d2c } .missed { color: #b3261e }
.videos { display: flex; flex-wrap: wrap; gap: 1em } figure { margin: 0; max-width: 400px }
figcaption { font-size: 13px; color: #444 }
"""


def write_page(path: str | Path, report: Report, videos: Sequence[RecordedEpisode]) -> Path:
    """Write a report as HTML; the videos are part of the file."""
    parts = ["<h1>Policies judged in imagination</h1>", _checks(report)]
    for kind in KINDS.values():
        shown = [one for one in videos if one.kind == kind]
        if shown:
            parts.append(f"<h2>{escape(kind.capitalize())}</h2><p>Truth left, imagination right.")
            parts.append(f"<div class='videos'>{''.join(map(_figure, shown))}</div>")
    for key, title in _TABLES.items():
        rows = [row for row in report.rows if key in row and _first(row) == key]
        if rows:
            parts.append(f"<h2>{title}</h2>{_table(rows)}")
    figures = [{"figure": name, "value": value} for name, value in report.ratios.items()]
    if figures:
        parts.append(f"<h2>Figures</h2>{_table(figures)}")
    parts += [f"<p>{escape(note)}</p>" for note in report.notes]
    page = (
        "<!doctype html><html lang='en'><meta charset='utf-8'><title>Policies judged</title>"
        f"<style>{_STYLE}</style>{''.join(parts)}</html>"
    )
    return write_bytes(path, page.encode())


def _first(row: dict[str, Any]) -> str:
    return next(key for key in row if key in _TABLES)


def _checks(report: Report) -> str:
    rows = [
        f"<tr><td>{escape(one.name)}<td class='number'>{_text(one.value)}"
        f"<td>{'&ge;' if one.at_least else '&le;'} {_text(one.threshold)}"
        f"<td class='{'met' if one.passed else 'missed'}'>{'met' if one.passed else 'missed'}"
        for one in report.checks
    ]
    return f"<table><tr><th>Threshold<th>Value<th>Wanted<th></tr>{''.join(rows)}</table>"


def _table(rows: Sequence[dict[str, Any]]) -> str:
    columns = list(dict.fromkeys(column for row in rows for column in row))
    head = "".join(f"<th>{escape(column)}" for column in columns)
    body = "".join(
        "<tr>" + "".join(_cell(row.get(column, "")) for column in columns) for row in rows
    )
    return f"<table><tr>{head}{body}</table>"


def _cell(value: Any) -> str:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return f"<td{' class=number' if number else ''}>{_text(value)}"


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3g}" if math.isfinite(value) else "&ndash;"
    return escape(str(value))


def _figure(video: RecordedEpisode) -> str:
    data = base64.b64encode(video.file.read_bytes()).decode()
    caption = escape(f"{video.policy}, {video.task}, start {video.seed}")
    return (
        f"<figure><img src='data:image/gif;base64,{data}' alt='{caption}'>"
        f"<figcaption>{caption}</figcaption></figure>"
    )
