"""Processor time of other processes, from Linux's /proc."""

from __future__ import annotations

import os
from pathlib import Path

from kin4d.errors import InputError


def process_seconds(pid: int) -> float:
    """Seconds of processor time that a process has taken in all of its threads."""
    return _read(pid)[1]


def browser_seconds() -> float:
    """Seconds of processor time of all browser processes that this one started."""
    known = {}
    for name in (entry.name for entry in Path("/proc").iterdir()):
        if name.isdigit():
            try:
                known[int(name)] = _read(int(name))
            except InputError:
                continue  # it has ended
    children: dict[int, list[int]] = {}
    for pid, (parent, _, _) in known.items():
        children.setdefault(parent, []).append(pid)
    total, left = 0.0, [os.getpid()]
    while left:
        for pid in children.get(left.pop(), ()):
            left.append(pid)
            _, seconds, command = known[pid]
            total += seconds if "chrom" in command else 0.0
    return total


def _read(pid: int) -> tuple[int, float, str]:
    """Parent, processor seconds and name of a process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError as error:
        raise InputError(f"the processor time of process {pid} is not known: {error}") from None
    name, rest = text[text.index("(") + 1 :].rsplit(")", 1)
    fields = rest.split()
    ticks = int(fields[11]) + int(fields[12])
    return int(fields[1]), ticks / os.sysconf("SC_CLK_TCK"), name
