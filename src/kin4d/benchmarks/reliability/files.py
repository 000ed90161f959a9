"""Does every loader end in a result or an error that says what is wrong?

Small valid inputs of every loader are damaged, byte by byte and in their structure, and read in
child processes: each within 10 s of processor time and 2 GB. What ends otherwise is a stray:
another exception, a crash of the process, or more time.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kin4d.benchmarks.report import Check, Report

SECONDS = 10.0
"""Most processor time that reading one input may take."""

_WAITING = 120.0  # s for an input, however busy the machine is
_STARTING = 3600.0  # for imports and compilation before the first input, on a busy machine


def damage(name: str, count: int, *, seed: int) -> Report:
    """The row of a loader, and a note for each place where it ended otherwise than it should.

    Args:
        name: See `kin4d.benchmarks.reliability.loaders.LOADERS`.
        count: Inputs.
        seed: Of all inputs.
    """
    outcomes = read_damaged(name, count, seed=seed)
    ends = Counter(one["end"] for one in outcomes)
    places: dict[str, str] = {}
    for one in outcomes:
        if one["end"] in ("stray", "crash", "hang"):
            places.setdefault(
                f"{name}: {one['end']} at {one.get('at', '?')}",
                f"seed {one['seed']}, {one.get('how', '?')}: {one.get('what', '')}",
            )
    row = {"loader": name, "inputs": len(outcomes)}
    row |= {end: ends[end] for end in ("result", "refused", "stray", "crash", "hang")}
    row |= {"slowest (s)": max(one["seconds"] for one in outcomes)}
    return Report(rows=[row], notes=[f"{place}: {what}" for place, what in places.items()])


def loader_checks(rows: Sequence[dict[str, Any]]) -> list[Check]:
    """What is promised of all loaders together."""
    strays = sum(row[end] for row in rows for end in ("stray", "crash", "hang"))
    inputs = sum(row["inputs"] for row in rows)
    slowest = max(row["slowest (s)"] for row in rows)
    what = f"of {inputs} damaged inputs, those that end neither in a result nor in our error"
    return [
        Check(what, strays, 0),
        Check("slowest damaged input, seconds", slowest, SECONDS),
    ]


def read_damaged(name: str, count: int, *, seed: int) -> list[dict[str, Any]]:
    """How reading each of `count` damaged inputs of a loader ended, in order.

    Each has "end" ("result", "refused", "stray", "crash" or "hang"), "seconds", "seed", and of
    strays "what" and "at".
    """
    seeds = np.random.default_rng([seed, *name.encode()]).integers(2**32, size=count).tolist()
    outcomes: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="kin4d-reliability-") as home:
        while len(outcomes) < count:
            _run_child(name, seeds, outcomes, Path(home))
    return outcomes


def _run_child(name: str, seeds: Sequence[int], outcomes: list[dict[str, Any]], home: Path) -> None:
    """Read inputs until all are read or the child is gone; appends to `outcomes`."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    child = subprocess.Popen(
        [sys.executable, "-m", "kin4d.benchmarks.reliability.read_damaged_files", name, str(home)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        text=True,
        bufsize=1,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        waiting = selectors.DefaultSelector()
        waiting.register(child.stdout, selectors.EVENT_READ)
        if not waiting.select(_STARTING) or child.stdout.readline() != "ready\n":
            raise RuntimeError(f"the valid input of loader '{name}' cannot be read")
        for seed in seeds[len(outcomes) :]:
            child.stdin.write(f"{seed}\n")
            line = child.stdout.readline() if _answers(waiting, child.pid) else None
            if line:
                outcomes.append({**json.loads(line), "seed": seed})
                continue
            end, seconds = ("hang", SECONDS) if line is None else ("crash", 0.0)
            outcomes.append({"end": end, "seed": seed, "seconds": seconds})
            return
    finally:
        child.kill()
        child.wait()
        child.stdout.close()


def _answers(waiting: selectors.BaseSelector, child: int) -> bool:
    """Whether a child answers before it has used its time."""
    begun, used = time.monotonic(), _processor_time(child)
    while not waiting.select(0.5):
        if _processor_time(child) - used > SECONDS or time.monotonic() - begun > _WAITING:
            return False
    return True


def _processor_time(process: int) -> float:
    """s that a process has used; one that is gone has used none."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
