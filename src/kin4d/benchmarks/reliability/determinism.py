"""Same seed, same machine, same bits: data, training, simulation and sampling, each in two
processes that hash differently."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

from kin4d.benchmarks.reliability.digests import DIGESTS
from kin4d.benchmarks.report import Check, Report
from kin4d.progress import track

_QUICK = ("data objects", "simulation")


def run(*, quick: bool, seed: int) -> Report:
    """A row for each of `digests.DIGESTS`; two of them if quick."""
    return compare(_QUICK if quick else [*DIGESTS])


def compare(names: Sequence[str]) -> Report:
    """Digests of two processes for each name."""
    rows = []
    for name in track(names, "computing twice"):
        first, second = (digest(name, hash_seed=number) for number in (1, 2))
        rows.append({"what": name, "same bits": first == second, "digest": first[:16]})
    different = sum(not row["same bits"] for row in rows)
    return Report(rows=rows, checks=[Check("results that differ between two runs", different, 0)])


def digest(name: str, *, hash_seed: int) -> str:
    """The digest that a process of its own computes, with one thread."""
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "kin4d.benchmarks.reliability.digests", name],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{name}: {done.stderr.strip().splitlines()[-1:]}")
    return done.stdout.strip().splitlines()[-1]
