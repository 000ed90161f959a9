"""How soon one can begin: the time to import kin4d and to get the command line's help."""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np

from kin4d.benchmarks.report import Check, Report

_IMPORT = """
import sys, time
start = time.perf_counter()
import kin4d
print(time.perf_counter() - start, "torch" in sys.modules)
"""


def run(*, quick: bool, seed: int) -> Report:
    """Time fresh processes; the seed plays no part."""
    del seed
    tries = 3 if quick else 15
    imports = [_output(_IMPORT).split() for _ in range(tries)]
    seconds = [float(first) for first, _ in imports]
    heavy = sum(torch == "True" for _, torch in imports)
    help_times = [_seconds("from kin4d.cli import main; main(['--help'])") for _ in range(tries)]
    bare_times = [_seconds("pass") for _ in range(tries)]
    report = Report()
    for what, times in (
        ("import kin4d", seconds),
        ("kin4d --help, whole process", help_times),
        ("python that does nothing, whole process", bare_times),
    ):
        report.rows.append(
            {"what": what, "median s": float(np.median(times)), "worst s": max(times)}
        )
    report.checks = [
        Check("import kin4d, worst of all tries (s)", max(seconds), 0.3),
        Check("imports that brought torch along", heavy, 0),
    ]
    report.notes = [f"{tries} fresh processes each."]
    return report


def _output(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


def _seconds(code: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    return time.perf_counter() - start
