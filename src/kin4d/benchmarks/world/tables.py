"""Tables of mean figures by row and set of episodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kin4d.benchmarks.world.metrics import Score, average

ALL = "all"

_COLOURS = {
    name: name
    for name in (
        "PSNR",
        "SSIM",
        "latent L2",
        "PSNR moving",
        "SSIM moving",
        "latent L2 moving",
        "sharpness",
    )
}
_THINGS = {
    "displacement px": "off last",
    "over frames px": "off",
    "true way px": "way last",
    "mask IoU": "IoU",
    "lost": "lost",
    "PSNR touched": "PSNR touched",
    "PSNR things": "PSNR things",
    "SSIM things": "SSIM things",
    "latent L2 things": "latent L2 things",
}


def _points(when: str) -> dict[str, str]:
    return {
        f"{figure}{region}{when}{unit}": f"{figure}{region}{when}"
        for region in ("", " moving")
        for figure, unit in (("CD-L1", " mm"), ("CD-L2", " mm²"), ("F", ""))
    }


@dataclass(frozen=True)
class WorldResult:
    """One row on one clip."""

    group: str
    row: str
    score: Score


def tables(results: Sequence[WorldResult]) -> list[dict[str, Any]]:
    """Rows of a report: for each kind of figure, every row on all clips; some on each set too."""
    groups = [ALL, *dict.fromkeys(one.group for one in results)]
    found = []
    for columns, where in (
        (_COLOURS, groups),
        (_THINGS, groups),
        (_points(""), groups[:1]),
        (_points(" temporal"), groups[:1]),
    ):
        for group in where:
            for name in dict.fromkeys(one.row for one in results):
                scores = scores_of(results, name, group)
                row: dict[str, Any] = {"set": group, "row": name, "clips": len(scores)}
                for title, figure in columns.items():
                    if any(figure in one for one in scores):
                        row[title] = shown(average(scores, figure))
                if scores:
                    found.append(row)
    return found


def shown(value: float) -> float | str:
    """A figure as tables take it: a dash where there is nothing to measure."""
    return value if np.isfinite(value) else "-"


def scores_of(results: Sequence[WorldResult], row: str, group: str = ALL) -> list[Score]:
    """Of one row, on one set or on all."""
    return [one.score for one in results if one.row == row and group in (ALL, one.group)]
