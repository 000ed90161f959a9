"""Work killed at random moments and resumed: nothing finished is lost, and the end is the same.

Every job is done once undisturbed. Then, again and again, it gets into trouble at a random
operation on files, or a random time after it, and is run again in the same folder: SIGKILL,
SIGTERM, a disk on which no file can grow, a disk that cannot be written any more.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import shutil
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kin4d.benchmarks.reliability.kill_jobs import JOBS, report_figures
from kin4d.benchmarks.reliability.killed_job import TROUBLES, Trouble, run_job
from kin4d.benchmarks.report import Check, Report

_LONGEST = 300.0  # s that a job may take
_PLACES = ("inside saving", "inside validation", "elsewhere")
_WRONG = {
    "lost": "finished work is gone or done again",
    "corrupt": "the next run fails",
    "litter": "files are left that an undisturbed run does not leave",
    "differs": "the result is not that of an undisturbed run",
    "not said": "a full or read-only disk is not said to be one",
}


@dataclass(frozen=True)
class Ending:
    """How a run of a job ended.

    Attributes:
        code: Exit code, negative for a signal.
        operations: On files, in order.
        finished: Whether it came to its end.
        seconds: That it took.
    """

    code: int | None
    operations: list[str]
    finished: bool
    seconds: float


@dataclass
class Tally:
    """What was found over all trials of a job."""

    troubles: Counter[str] = field(default_factory=Counter)
    places: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    notes: dict[str, str] = field(default_factory=dict)

    def fail(self, what: str, why: str) -> None:
        self.wrong[what] += 1
        self.notes.setdefault(what, why)


def kill_often(name: str, trials: int, *, seed: int) -> Report:
    """The row of a job of `kill_jobs.JOBS`.

    Args:
        name: Of the job.
        trials: How often it gets into trouble.
        seed: Of when.
    """
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        tally = pool.submit(_tally, name, trials, seed).result()
    row = {"job": name}
    row |= {kind: tally.troubles[kind] for kind in TROUBLES}
    row |= {place: tally.places[place] for place in _PLACES}
    row |= {what: tally.wrong[what] for what in _WRONG}
    return Report(rows=[row], notes=[f"{name}, {key}: {why}" for key, why in tally.notes.items()])


def job_checks(rows: Sequence[dict[str, Any]]) -> list[Check]:
    """What is promised of all jobs together."""
    total = sum(row[kind] for row in rows for kind in TROUBLES)
    found = [
        Check(
            f"of {total} runs in trouble, those after which {text}", sum(r[what] for r in rows), 0
        )
        for what, text in _WRONG.items()
    ]
    for place in _PLACES[:2]:
        count = sum(row[place] for row in rows)
        found.append(Check(f"of {total} runs in trouble, those {place}", count, 1, at_least=True))
    return found


def run_in_child(
    context: Any, name: str, folder: Path, episodes: Path, trouble: Trouble | None
) -> Ending:
    """Run a job in a process of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    (heard, tell), (said, say) = (context.Pipe(duplex=False) for _ in range(2))
    begun = time.monotonic()
    process = context.Process(target=run_job, args=(name, folder, episodes, trouble, tell, say))
    process.start()
    tell.close()
    say.close()
    reader = threading.Thread(target=_write_down, args=(said, folder / "said"))
    reader.start()
    operations: list[str] = []
    try:
        while heard.poll(_LONGEST):
            operations.append(heard.recv())
        process.kill()
    except EOFError:
        pass
    process.join()
    reader.join()
    finished = operations[-1:] == ["end"]
    if finished:
        operations.pop()
    return Ending(process.exitcode, operations, finished, time.monotonic() - begun)


def _write_down(said: Any, file: Path) -> None:
    with file.open("ab") as out:
        while text := os.read(said.fileno(), 65536):
            out.write(text)


def _tally(name: str, trials: int, seed: int) -> Tally:
    """In a process of its own, which does the job once: its forks have all it needs in memory."""
    with tempfile.TemporaryDirectory(prefix="kin4d-kills-") as home:
        episodes = Path(home) / "episodes"
        if JOBS[name].needs_episodes:
            episodes.mkdir()
            JOBS["data episodes"].run(episodes, episodes)
        (Path(home) / "first").mkdir()
        JOBS[name].run(Path(home) / "first", episodes / "result")
        rng = np.random.default_rng([seed, *name.encode()])
        return _trials(name, Path(home), episodes / "result", trials, rng)


def _trials(name: str, home: Path, episodes: Path, trials: int, rng: np.random.Generator) -> Tally:
    context = multiprocessing.get_context("fork")
    folder, whole, tally = home / "trial", home / "whole", Tally()
    complete = run_in_child(context, name, whole, episodes, None)
    if complete.code != 0:
        raise RuntimeError(f"'{name}' fails undisturbed: {_said(whole)}")
    pause = complete.seconds / len(complete.operations)
    while tally.troubles.total() < trials:
        kind = TROUBLES[tally.troubles.total() % len(TROUBLES)]
        delay = float(rng.choice([0.0, rng.exponential(0.002), rng.exponential(pause)]))
        operation = int(rng.integers(len(complete.operations)))
        trouble = Trouble(kind, operation, delay if kind.startswith("SIG") else 0.0)
        shutil.rmtree(folder, ignore_errors=True)
        ending = run_in_child(context, name, folder, episodes, trouble)
        if ending.finished and ending.code == 0 and kind.startswith("SIG"):
            continue  # it was over before the signal came
        tally.troubles[kind] += 1
        place = place_of(ending.operations)
        tally.places[place] += 1
        where = f"{kind} at operation {operation} + {delay:.4f} s ({place}): "
        if "disk" in kind and ending.code not in (0, 2):
            tally.fail("not said", where + _said(folder))
        before = _finished_files(folder)
        again = run_in_child(context, name, folder, episodes, None)
        after = _finished_files(folder)
        if again.code != 0 and "exists already" not in _said(folder):
            tally.fail("corrupt", where + _said(folder))
            continue
        gone = [path for path, made in before.items() if after.get(path) != made]
        if gone:
            tally.fail("lost", where + ", ".join(gone[:3]))
        names, expected = (_names(one) for one in (folder, whole))
        if extra := sorted(names - expected):
            tally.fail("litter", where + ", ".join(extra[:3]))
        if difference := difference_of(JOBS[name].kind, folder, whole):
            tally.fail("differs", where + difference)
    return tally


def place_of(operations: list[str]) -> str:
    """Where a run stopped: while a file was written, between checkpoint and weights, or elsewhere.

    A file is written from the making of its workspace to the end of that.
    """
    place, inside = "elsewhere", ".unfinished"
    for one in operations:
        what, _, path = one.partition(" ")
        if what == "mkdir" and path.endswith(inside):
            place = "inside saving"
        elif what == "rename" and inside not in path:
            place = "inside validation" if path.endswith("checkpoint.safetensors") else "elsewhere"
        elif what == "rmtree" and place == "inside saving":
            place = "elsewhere"
    return place


def _finished_files(root: Path) -> dict[str, tuple[int, int]]:
    """Inode and time of each file that is work done, not state that every run writes again."""
    found = {}
    for path in root.rglob("*"):
        name = str(path.relative_to(root))
        kept = "shards/" in name or "parts/" in name
        if path.is_file() and kept and not any(part.startswith(".") for part in Path(name).parts):
            status = path.stat()
            found[name] = (status.st_ino, status.st_mtime_ns)
    return found


def _names(root: Path) -> set[str]:
    """Files and folders, without what was said; logs have times in their names."""
    names = {str(path.relative_to(root)) for path in root.rglob("*")} - {"said"}
    return {name for name in names if not re.search(r"(^|/)logs/", name)}


def difference_of(kind: str, folder: Path, whole: Path) -> str:
    """What two results differ in; "" if in nothing."""
    for name in sorted(_names(whole)):
        path, other = whole / name, folder / name
        if not path.is_file():
            continue
        if not other.is_file():
            return f"{name} is missing"
        if path.suffix == ".safetensors" and kind == "training":
            if wrong := _different_tensors(path, other):
                return f"{name}: {wrong}"
        elif kind == "report":
            if report_figures(path) != report_figures(other):
                return name
        elif path.read_bytes() != other.read_bytes():
            return name
    if kind == "training" and _losses(folder) != _losses(whole):
        return "losses"
    return ""


def _different_tensors(path: Path, other: Path) -> str:
    import torch

    from kin4d.training import load_tensors

    (first, facts), (second, others) = load_tensors(path), load_tensors(other)
    if first.keys() != second.keys():
        return "tensors"
    for key, tensor in first.items():
        if not torch.equal(tensor, second[key]):
            return key
    dev = [one.get("training", {}).get("dev") for one in (facts, others)]
    return "" if dev[0] == dev[1] else "figures of the validation"


def _losses(folder: Path) -> dict[str, str]:
    """The last line that was said of each step and validation, without times."""
    lines = (folder / "said").read_text(errors="replace").splitlines()
    kept = [re.sub(r"  (\(.*|[0-9.]+ s/step.*)", "", line) for line in lines]
    return {line[:16]: line for line in kept if re.match(r"step \d", line)}


def _said(folder: Path) -> str:
    lines = (folder / "said").read_text(errors="replace").strip().splitlines()
    return lines[-1][:200] if lines else "it says nothing"
