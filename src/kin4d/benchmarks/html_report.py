"""html_report: one page from the JSON files that `kin4d bench --json` writes."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kin4d.benchmarks.report import group_rows
from kin4d.benchmarks.report_plots import dot_plot, series_of
from kin4d.errors import InputError
from kin4d.export.html import fill_page
from kin4d.reading import parse_json, reading

_KEYS = {
    "bench": str,
    "command": str,
    "seed": int,
    "quick": bool,
    "rows": list,
    "ratios": dict,
    "checks": list,
    "notes": list,
    "weights": dict,
    "versions": dict,
    "machine": dict,
}
_IMAGES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif"}
_OPEN_ROWS = 12


def read_results(path: str | Path) -> dict[str, Any]:
    """One result; a file that is none is an `InputError` naming what it lacks."""
    path = Path(path)
    with reading(path, "benchmark result", hint="`kin4d bench NAME --json FILE` writes one"):
        data = parse_json(path.read_bytes())
        if not isinstance(data, dict):
            raise InputError("it is no JSON object")
        for key, kind in _KEYS.items():
            if not isinstance(data.get(key), kind):
                raise InputError(f"'{key}' is missing or no {kind.__name__}")
        if not all(isinstance(row, dict) for row in [*data["rows"], *data["checks"]]):
            raise InputError("a row is no JSON object")
        for check in data["checks"]:
            for key in ("name", "value", "threshold", "at_least", "pass"):
                if key not in check:
                    raise InputError(f"a check has no '{key}'")
    return data


def html_report(
    results: Sequence[Mapping[str, Any]], *, title: str = "Benchmarks", images: Sequence[Path] = ()
) -> str:
    """A page with all tables, plots, thresholds, versions and hashes; it loads nothing.

    Args:
        results: From `read_results`.
        title: Of the page.
        images: PNG, JPEG or GIF files that are shown at its end.
    """
    anchors = [f"{_text(one['bench'])}-{number}" for number, one in enumerate(results)]
    names = [_text(one["bench"]) for one in results]
    links = "".join(f'<a href="#{a}">{n}</a>' for a, n in zip(anchors, names, strict=True))
    body = [f"<nav>{links}</nav>", _overview(results, anchors)]
    body += [_section(one, anchor) for one, anchor in zip(results, anchors, strict=True)]
    if images:
        body.append("<h2>Images</h2>")
        body += [_image(path) for path in images]
    return fill_page("report.html", {"title": _text(title), "body": "\n".join(body)})


def _overview(results: Sequence[Mapping[str, Any]], anchors: Sequence[str]) -> str:
    rows = []
    for one, anchor in zip(results, anchors, strict=True):
        met = sum(bool(check["pass"]) for check in one["checks"])
        verdict = "met" if met == len(one["checks"]) else "missed"
        rows.append(
            f'<tr><td><a href="#{anchor}">{_text(one["bench"])}</a></td>'
            f'<td class="{verdict}">{met} of {len(one["checks"])}</td>'
            f"<td>{len(one['rows'])}</td>"
            f'<td class="text">{_text(one["machine"].get("processor", ""))}</td></tr>'
        )
    head = "<tr><th>benchmark</th><th>thresholds met</th><th>rows</th><th>machine</th></tr>"
    return f'<div class="wide"><table>{head}{"".join(rows)}</table></div>'


def _section(result: Mapping[str, Any], anchor: str) -> str:
    parts = [f'<h2 id="{anchor}">{_text(result["bench"])}</h2>']
    parts.append(f"<p><code>{_text(result['command'])}</code></p>")
    if result["quick"]:
        parts.append('<p class="quick">A quick run: its figures are not for quoting.</p>')
    if result["checks"]:
        parts.append(_checks(result["checks"]))
    for number, (columns, rows) in enumerate(group_rows(result["rows"]), 1):
        plots = [
            f"<figure>{dot_plot(series)}<figcaption>{_text(series.name)}</figcaption></figure>"
            for series in series_of(columns, rows)
        ]
        if plots:
            parts.append(f'<div class="plots">{"".join(plots)}</div>')
        opened = " open" if len(rows) <= _OPEN_ROWS else ""
        summary = f"Table {number}: {len(rows)} rows"
        parts.append(
            f"<details{opened}><summary>{summary}</summary>{_table(columns, rows)}</details>"
        )
    if result["ratios"]:
        pairs = [{"figure": key, "value": value} for key, value in result["ratios"].items()]
        parts.append(_table(("figure", "value"), pairs))
    parts += [f'<p class="note">{_text(note)}</p>' for note in result["notes"]]
    parts.append(_origin(result))
    return "\n".join(parts)


def _checks(checks: Sequence[Mapping[str, Any]]) -> str:
    rows = []
    for check in checks:
        verdict = "met" if check["pass"] else "missed"
        sign = "≥" if check["at_least"] else "≤"
        rows.append(
            f"<tr><td>{_text(check['name'])}</td><td>{_text(check['value'])}</td>"
            f'<td>{sign} {_text(check["threshold"])}</td><td class="{verdict}">{verdict}</td></tr>'
        )
    head = "<tr><th>check</th><th>measured</th><th>threshold</th><th></th></tr>"
    return f'<div class="wide"><table>{head}{"".join(rows)}</table></div>'


def _table(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    head = "".join(f"<th>{_text(column)}</th>" for column in columns)
    body = "".join(
        "<tr>" + "".join(_cell(row[column]) for column in columns) + "</tr>" for row in rows
    )
    return f'<div class="wide"><table><tr>{head}</tr>{body}</table></div>'


def _cell(value: Any) -> str:
    kind = ' class="text"' if isinstance(value, str) else ""
    return f"<td{kind}>{_text(value)}</td>"


def _origin(result: Mapping[str, Any]) -> str:
    versions = ", ".join(f"{_text(name)} {_text(now)}" for name, now in result["versions"].items())
    machine = ", ".join(f"{_text(key)}: {_text(value)}" for key, value in result["machine"].items())
    lines = [f"Seed {result['seed']}. {machine}.", f"Versions: {versions}."]
    lines += [
        f"Weights {_text(name)}: <code>{_text(code)}</code>"
        for name, code in result["weights"].items()
    ]
    return '<p class="note">' + "<br>".join(lines) + "</p>"


def _image(path: Path) -> str:
    kind = _IMAGES.get(path.suffix.lower())
    if kind is None or not path.is_file():
        raise InputError(f"{path} is no image", allowed=", ".join(_IMAGES))
    data = base64.b64encode(path.read_bytes()).decode()
    name = _text(path.name)
    return (
        f'<figure><img alt="{name}" src="data:{kind};base64,{data}">'
        f"<figcaption>{name}</figcaption></figure>"
    )


def _text(value: Any) -> str:
    """A value as HTML text: four significant digits for numbers."""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, str | int) or value is None:
        return html.escape("" if value is None else str(value))
    return html.escape(json.dumps(value))
