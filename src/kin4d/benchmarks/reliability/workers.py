"""More than one worker: the same results, also when one is killed on the way, and how it scales.

Object data on processes and on Ray, training on torchrun; two workers of this machine stand for
two machines.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from kin4d.benchmarks.reliability.kills import difference_of
from kin4d.benchmarks.report import Check, Report
from kin4d.progress import track

_LONGEST = 600.0  # s
_KILL_AT = 5  # step of training
_WAYS = (("process", 1), ("process", 2), ("Ray", 1), ("Ray", 2), ("Ray, one killed", 2))
_QUICK = (_WAYS[0], _WAYS[-1])


def run(*, quick: bool, seed: int) -> Report:
    """Rows of data by number of workers, and of training with and without a kill."""
    report = Report()
    with tempfile.TemporaryDirectory(prefix="kin4d-workers-") as home:
        _data(report, Path(home), _QUICK if quick else _WAYS, 64 if quick else 768, seed=seed)
        _training(report, Path(home))
    report.notes.append(
        "Workers share the cores of one machine. The time to start them is left out of "
        "sequences per second: it is the time of a store of a tenth of the size."
    )
    return report


def _data(
    report: Report, home: Path, ways: Sequence[tuple[str, int]], count: int, *, seed: int
) -> None:
    alone = 0.0
    for way, workers in track(ways, "making data"):
        flags = ["--workers", str(workers), *(["--cluster"] if "Ray" in way else [])]
        folder, killed = home / f"{way}-{workers}", 0
        seconds = []
        for part in (count // 10, count):
            command = ["data", "objects", "-o", str(folder / str(part)), "--count", str(part)]
            command += ["--per-shard", "16", "--seed", str(seed), *flags]
            begun = time.monotonic()
            kill = "killed" in way and part == count
            killed += _run_command(command, folder / str(part) if kill else None)
            seconds.append(time.monotonic() - begun)
        first = home / "process-1" / str(count)
        rate = (count - count // 10) / max(seconds[1] - seconds[0], 1e-9)
        alone = alone or rate
        report.rows.append(
            {
                "work": "object data",
                "on": way,
                "workers": workers,
                "killed": killed,
                "sequences per second": rate,
                "of one process": rate / alone,
                "same bytes": not _differs(first, folder / str(count)),
            }
        )
    rows = report.rows
    different = sum(not row["same bytes"] for row in rows)
    report.checks += [
        Check("stores that differ from that of one process", different, 0),
        Check("Ray workers killed on the way", rows[-1]["killed"], 1, at_least=True),
    ]


def _differs(first: Path, other: Path) -> bool:
    """Whether two stores differ in a name or a byte."""
    names = [{str(p.relative_to(one)) for p in one.rglob("*")} for one in (first, other)]
    return names[0] != names[1] or any(
        (first / name).read_bytes() != (other / name).read_bytes()
        for name in names[0]
        if (first / name).is_file()
    )


def _run_command(command: list[str], kill_in: Path | None) -> int:
    """Run a command of kin4d; returns how many Ray workers were killed, once a shard is there."""
    process = subprocess.Popen(
        [sys.executable, "-c", "from kin4d.cli import main; raise SystemExit(main())", *command],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    killed, end = 0, time.monotonic() + _LONGEST
    while process.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
        if kill_in is not None and not killed and [*kill_in.glob("shards/[0-9]*")]:
            for worker in _descendants(process.pid):
                if _title(worker).startswith("ray::") and "IDLE" not in _title(worker):
                    os.kill(worker, signal.SIGKILL)
                    killed = 1
                    break
    process.kill()
    _, said = process.communicate()
    if process.returncode:
        raise RuntimeError(f"kin4d {' '.join(command[:2])}: {said.strip()[-300:]}")
    return killed


def _descendants(process: int) -> Iterator[int]:
    """Processes that it started, and those that these started."""
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int(
                (folder / "stat").read_text().rpartition(")")[2].split()[1]
            )
        except (OSError, IndexError):
            continue
    found = {process}
    while more := {one for one, parent in parents.items() if parent in found} - found:
        found |= more
        yield from more


def _title(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def _training(report: Report, home: Path) -> None:
    ends: dict[str, tuple[Path, dict[str, str]]] = {}
    for name, kill_at in (("undisturbed", -1), ("one killed", _KILL_AT)):
        folder = home / name
        (folder / "result").mkdir(parents=True)
        begun = time.monotonic()
        said = _torchrun(folder / "result", kill_at)
        ends[name] = folder, _losses(said)
        (folder / "said").write_text("")
        killed = (folder / "result" / "killed").is_file()
        (folder / "result" / "killed").unlink(missing_ok=True)
        same = ends[name][1] == ends["undisturbed"][1] and not difference_of(
            "training", folder, ends["undisturbed"][0]
        )
        report.rows.append(
            {
                "work": "training",
                "on": "torchrun",
                "workers": 2,
                "killed": int(killed),
                "seconds": time.monotonic() - begun,
                "steps logged": len(ends[name][1]),
                "same losses and weights": same,
            }
        )
    last = report.rows[-1]
    report.checks += [
        Check("training processes killed on the way", last["killed"], 1, at_least=True),
        Check(
            "trainings whose losses and weights differ after a kill",
            int(not last["same losses and weights"]),
            0,
        ),
    ]


def _torchrun(folder: Path, kill_at: int) -> str:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "torch.distributed.run", "--standalone"),
            *("--nproc-per-node=2", "--max-restarts=1", "--monitor-interval=0.1"),
            *("-m", "kin4d.benchmarks.reliability.distributed_training", str(folder)),
            str(kill_at),
        ],
        capture_output=True, text=True, check=False, timeout=_LONGEST,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"torchrun: {done.stderr.strip()[-500:]}")
    return done.stderr


def _losses(said: str) -> dict[str, str]:
    """The last line of each step, without times."""
    lines = re.findall(r"step \d+/\d+.*", said)
    kept: list[Any] = [re.sub(r"  [0-9.]+ s/step.*", "", line) for line in lines]
    return {line.split()[1]: line for line in kept}
