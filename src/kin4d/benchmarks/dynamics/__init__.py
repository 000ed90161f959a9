"""Dynamics: are the mechanics right, do they keep energy, survive abuse, and how fast are they."""

from __future__ import annotations

from kin4d.benchmarks.report import Report, run_parts

_PARTS = ("mechanics", "analytic_cases", "energy", "physics", "robustness", "speed")


def run(*, quick: bool, seed: int) -> Report:
    """Run all parts and join their reports."""
    return run_parts(__name__, _PARTS, quick=quick, seed=seed)
