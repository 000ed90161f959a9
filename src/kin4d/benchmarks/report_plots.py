"""Plots of benchmark tables as SVG: a dot for each row, with an interval where rows repeat."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

REPEATS = ("number", "seed", "pose", "trial", "repeat", "episode")
"""Columns that only number the repetitions of a measurement."""

_LETTERS = 34  # of a label
_MOST_ROWS, _MOST_PLOTS = 30, 6
_RESAMPLES = 2000
_WIDTH, _LABEL, _ROW = 350, 205, 17  # pixels


@dataclass(frozen=True)
class Point:
    """One dot.

    Attributes:
        label: Of its row.
        value: The figure, or the mean over repetitions.
        low: Lower end of its interval; `value` if there is none.
        high: Upper end.
    """

    label: str
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Series:
    """One figure over the rows of a table.

    Attributes:
        name: Of the figure.
        points: One per label.
        repeated: Whether intervals are 95 % intervals of a mean over repetitions.
    """

    name: str
    points: tuple[Point, ...]
    repeated: bool


def series_of(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> list[Series]:
    """What can be plotted of a table: at most `_MOST_PLOTS` of its figures.

    Rows with the same words that a column of `REPEATS` tells apart are repetitions: their mean is
    shown with its 95 % bootstrap interval. A figure "x" with columns "x low" and "x high" has
    these as its interval. Tables of too many rows are not plotted.
    """
    words = [c for c in columns if all(isinstance(row[c], str | bool) for row in rows)]
    whole = [c for c in columns if c not in words and all(isinstance(row[c], int) for row in rows)]
    repeats = [c for c in whole if c in REPEATS]
    varied = [c for c in words if len({row[c] for row in rows}) > 1]
    labels = [_label(row, varied) for row in rows]
    if len(set(labels)) < len(labels) and not repeats:
        varied += [c for c in whole if len({row[c] for row in rows}) > 1]
        labels = [_label(row, varied) for row in rows]
        if len(set(labels)) < len(labels):
            return []
    if not 2 <= len(set(labels)) <= _MOST_ROWS:
        return []
    ends = {f"{c} {end}" for c in columns for end in ("low", "high")} & set(columns)
    figures = [
        c
        for c in columns
        if c not in (*words, *repeats, *varied, *ends) and any(_is_number(row[c]) for row in rows)
    ]
    found = [_series(name, rows, labels) for name in figures]
    return [one for one in found if len({point.value for point in one.points}) > 1][:_MOST_PLOTS]


def mean_interval(values: Sequence[float], *, seed: int = 0) -> tuple[float, float]:
    """The 95 % percentile bootstrap interval of a mean; of fewer than three values their range."""
    array = np.asarray(values, np.float64)
    if len(array) < 3:
        return float(array.min()), float(array.max())
    drawn = np.random.default_rng(seed).integers(0, len(array), (_RESAMPLES, len(array)))
    low, high = np.quantile(array[drawn].mean(1), [0.025, 0.975])
    return float(low), float(high)


def dot_plot(series: Series) -> str:
    """SVG of one figure: labels at the left, dots and intervals at the right."""
    ends = [x for point in series.points for x in (point.low, point.high)]
    low, high = min(*ends, 0.0), max(*ends, 0.0)
    if high - low < 1e-300:
        high = low + 1.0
    positive = [x for x in ends if x > 0]
    logarithmic = len(positive) == len(ends) and max(positive) > 100 * min(positive)
    if logarithmic:
        low, high = math.log10(min(positive)), math.log10(max(positive))

    def x(value: float) -> float:
        at = math.log10(value) if logarithmic else value
        return _LABEL + 6 + (_WIDTH - _LABEL - 18) * (at - low) / (high - low)

    height = _ROW * len(series.points) + 22
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        'font-family="system-ui, sans-serif" font-size="11">'
    ]
    for row, point in enumerate(series.points):
        y = _ROW * row + 12
        label = point.label
        if len(label) > _LETTERS:
            label = f"{label[: _LETTERS // 2]}…{label[1 - _LETTERS // 2 :]}"
        parts.append(f'<line x1="{_LABEL}" x2="{_WIDTH}" y1="{y}" y2="{y}" stroke="#eee"/>')
        parts.append(
            f'<text x="{_LABEL - 4}" y="{y + 4}" text-anchor="end">{html.escape(label)}</text>'
        )
        if point.high > point.low:
            parts.append(
                f'<line x1="{x(point.low):.1f}" x2="{x(point.high):.1f}" y1="{y}" y2="{y}" '
                'stroke="#1971c2" stroke-width="2"/>'
            )
        title = f"{point.label}: {point.value:.4g}"
        if point.high > point.low:
            title += f" ({point.low:.4g} to {point.high:.4g})"
        parts.append(
            f'<circle cx="{x(point.value):.1f}" cy="{y}" r="3.5" fill="#0b7285">'
            f"<title>{html.escape(title)}</title></circle>"
        )
    y = height - 6
    for value, anchor in ((low, "start"), (high, "end")):
        shown = 10**value if logarithmic else value
        where = _LABEL + 6 if anchor == "start" else _WIDTH - 12
        parts.append(
            f'<text x="{where}" y="{y}" text-anchor="{anchor}" fill="#666">{shown:.3g}</text>'
        )
    hints = ["logarithmic"] * logarithmic + ["mean, 95 %"] * series.repeated
    if hints:
        parts.append(f'<text x="2" y="{y}" fill="#666">{", ".join(hints)}</text>')
    return "".join(parts) + "</svg>"


def _series(name: str, rows: Sequence[Mapping[str, Any]], labels: Sequence[str]) -> Series:
    grouped: dict[str, list[Mapping[str, Any]]] = {}
    for row, label in zip(rows, labels, strict=True):
        if _is_number(row[name]):
            grouped.setdefault(label, []).append(row)
    points = []
    for label, own in grouped.items():
        values = [float(row[name]) for row in own]
        mean = float(np.mean(values))
        low, high = mean_interval(values)
        first = own[0]
        if len(own) == 1 and all(_is_number(first.get(f"{name} {e}")) for e in ("low", "high")):
            low, high = float(first[f"{name} low"]), float(first[f"{name} high"])
        points.append(Point(label, mean, min(low, mean), max(high, mean)))
    return Series(name, tuple(points), any(len(own) > 1 for own in grouped.values()))


def _label(row: Mapping[str, Any], columns: Sequence[str]) -> str:
    return " · ".join(str(row[column]) for column in columns)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
