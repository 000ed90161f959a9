"""Robot benchmarks: kinematics, pointmaps and scans, against other libraries."""

from __future__ import annotations

from kin4d.benchmarks.report import Report, run_parts

_PARTS = ("fk", "ik", "pointmaps", "scan")


def run(*, quick: bool, seed: int) -> Report:
    """Run all parts and join their reports."""
    return run_parts(__name__, _PARTS, quick=quick, seed=seed)
