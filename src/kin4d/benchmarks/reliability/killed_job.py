"""A job in a process of its own that gets into trouble at a chosen moment.

Moments are counted in operations on files below its folder, which Python's audit hooks tell: the
process says each to its parent before it happens.
"""

from __future__ import annotations

import errno
import os
import resource
import signal
import sys
import threading
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TROUBLES = ("SIGKILL", "SIGTERM", "full disk", "read-only disk")

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_CHANGES = {"os.mkdir": 1, "os.rename": 2, "os.remove": 1, "os.rmdir": 1, "shutil.rmtree": 1}
"""Events that change files, and how many of their arguments are paths."""


@dataclass(frozen=True)
class Trouble:
    """What happens, and when.

    Attributes:
        kind: One of `TROUBLES`.
        operation: Before which operation on files, from 0.
        delay: s after it that a signal comes.
    """

    kind: str
    operation: int
    delay: float = 0.0


def run_job(
    name: str, folder: Path, episodes: Path, trouble: Trouble | None, report_to: Any, said: Any
) -> None:
    """Run a job of `kill_jobs.JOBS` and leave with its exit code.

    Args:
        name: Of the job.
        folder: Where all its files lie.
        episodes: A store that some jobs read.
        trouble: What happens to it.
        report_to: Connection; takes each operation, and "end".
        said: Connection; takes what the job prints. A file could not grow on a full disk.
    """
    from kin4d.benchmarks.reliability.kill_jobs import JOBS
    from kin4d.errors import Kin4dError

    os.dup2(said.fileno(), 1)
    os.dup2(said.fileno(), 2)
    said.close()
    warnings.simplefilter("ignore")
    # As the command line does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    _watch(folder, trouble, report_to)
    try:
        code = JOBS[name].run(folder, episodes)
    except Kin4dError as error:
        print(f"kin4d: {error}", file=sys.stderr)
        code = 2
    except KeyboardInterrupt:
        code = 130
    report_to.send("end")
    sys.stdout.flush()
    os._exit(code)


def _watch(root: Path, trouble: Trouble | None, report_to: Any) -> None:
    count, read_only, inside = 0, False, str(root)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal count, read_only
        if event == "open":
            path, mode, flags = arguments
            writes = flags & _WRITES if isinstance(flags, int) else set(str(mode)) & set("wax+")
            paths = (path,) if writes else ()
        else:
            paths = arguments[: _CHANGES.get(event, 0)]
        paths = [str(path) for path in paths if isinstance(path, str | os.PathLike)]
        if not any(path == inside or path.startswith(inside + os.sep) for path in paths):
            return
        if trouble is not None and count == trouble.operation:
            if trouble.kind in ("SIGKILL", "SIGTERM"):
                _signal(getattr(signal, trouble.kind), trouble.delay)
            elif trouble.kind == "full disk":
                # No file can grow: what any writer meets, in whatever language.
                _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
                resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
            else:
                read_only = True
        count += 1
        report_to.send(f"{event.rpartition('.')[2]} {paths[-1].removeprefix(inside)}")
        if read_only and event != "shutil.rmtree":  # which only tells of what follows
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), paths[-1])

    sys.addaudithook(hook)


def _signal(number: int, delay: float) -> None:
    def send() -> None:
        os.kill(os.getpid(), number)

    if delay:
        threading.Timer(delay, send).start()
    else:
        send()
