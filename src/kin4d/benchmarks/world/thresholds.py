"""Thresholds that the shipped model must meet, checked against the measured figures."""

from __future__ import annotations

from collections.abc import Sequence

from kin4d.benchmarks.report import Check, Report
from kin4d.benchmarks.world.baselines import COMPOSITE, MODEL
from kin4d.benchmarks.world.metrics import average
from kin4d.benchmarks.world.tables import WorldResult, scores_of

GAIN, NEARER, SHARP = 5.0, 0.35, 0.2
POINTS, RIGHT, LOSS, SECONDS = 0.6, 0.8, 0.7, 10.0
TEXT, POINTMAP, WEAKER = "text", "pointmap", ("mask", "embedding", "text")
"""Names of rows of the same model under different control."""


def check_thresholds(results: Sequence[WorldResult]) -> Report:
    """Checks of the table of rows."""

    def figure(row: str, name: str) -> float:
        return average(scores_of(results, row), name)

    rows = {one.row for one in results}
    report = Report()
    if MODEL in rows:
        nearer = figure(MODEL, "off last") / figure(COMPOSITE, "off last")
        gains = {
            f"PSNR {where}, above composite (dB)": figure(MODEL, name) - figure(COMPOSITE, name)
            for where, name in (
                ("where anything moves", "PSNR moving"),
                ("where things are moved", "PSNR touched"),
            )
        }
        report.ratios = {**gains, "object displacement error, of composite's": nearer}
        background_distance = abs(figure(MODEL, "sharpness") - 1)
        report.checks = [
            *(Check(name, gain, GAIN, at_least=True) for name, gain in gains.items()),
            Check("object displacement error, of composite's", nearer, NEARER),
            Check("gradient energy where things move, off the truth's", background_distance, SHARP),
        ]
        if TEXT in rows:
            ratio = figure(MODEL, "CD-L1") / figure(TEXT, "CD-L1")
            report.checks.append(Check("CD-L1, of the text-controlled model's", ratio, POINTS))
    if POINTMAP in rows:
        for name in WEAKER:
            if name in rows:
                above = figure(POINTMAP, "PSNR") - figure(name, "PSNR")
                title = f"control: PSNR of {POINTMAP} above {name} (dB)"
                report.checks.append(Check(title, above, 0.0, at_least=True))
    return report
