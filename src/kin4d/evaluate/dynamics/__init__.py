"""Dynamics: are the mechanics right, do they keep energy, survive abuse, and how fast are they."""

from __future__ import annotations

import importlib

from kin4d.evaluate.report import Report

_PARTS = ("mechanics", "textbook", "energy", "physics", "robustness", "speed")


def run(*, quick: bool, seed: int) -> Report:
    """Run all parts and join their reports."""
    whole = Report()
    for part in _PARTS:
        report = importlib.import_module(f"{__name__}.{part}").run(quick=quick, seed=seed)
        whole.rows += [{"part": part, **row} for row in report.rows]
        whole.ratios |= report.ratios
        whole.checks += report.checks
        whole.notes += report.notes
        whole.weights |= report.weights
    return whole
