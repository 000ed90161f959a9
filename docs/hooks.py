"""What mkdocs does not do by itself: tables and code in pages, and formulas as MathML.

``{{ bench NAME }}`` becomes the tables and thresholds of ``benchmarks/NAME.json``, and
``{{ example NAME }}`` the code of ``examples/NAME.py``. Formulas become MathML when the pages are
built, so that readers need no script from elsewhere.
"""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

from latex2mathml.converter import convert

ROOT = Path(__file__).parents[1]
BENCHMARKS = ROOT / "benchmarks"


def on_page_markdown(markdown: str, **_) -> str:
    """mkdocs' event: runs for every page."""
    markdown = re.sub(r"\{\{ example (\w+) \}\}", lambda found: example(found[1]), markdown)
    return re.sub(r"\{\{ bench ([\w-]+) \}\}", lambda found: tables(found[1]), markdown)


def example(name: str) -> str:
    """Markdown of one example: its file, as a block of code."""
    code = (ROOT / "examples" / f"{name}.py").read_text()
    return f'```python title="examples/{name}.py"\n{code}```'


def on_page_content(content: str, **_) -> str:
    """mkdocs' event: the page as HTML, with formulas marked by the arithmatex extension."""
    for tag, start, end, display in (
        ("span", r"\\\(", r"\\\)", "inline"),
        ("div", r"\\\[", r"\\\]", "block"),
    ):
        pattern = rf'<{tag} class="arithmatex">{start}(.*?){end}</{tag}>'

        def typeset(found: re.Match, display: str = display) -> str:
            return convert(html.unescape(found[1]), display=display)

        content = re.sub(pattern, typeset, content, flags=re.DOTALL)
    return content


def tables(name: str) -> str:
    """Markdown of one benchmark: its thresholds, its rows grouped by columns, how it was made."""
    result = json.loads((BENCHMARKS / f"{name}.json").read_text())
    parts = []
    if result["checks"]:
        rows = [
            {
                "check": check["name"],
                "measured": check["value"],
                "threshold": f"{'≥' if check['at_least'] else '≤'} {cell(check['threshold'])}",
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
    """Four significant digits for numbers, a dash for what is undefined, else plain text."""
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
