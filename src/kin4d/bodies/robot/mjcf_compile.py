"""Compile strangers' MJCF: in a child process, which may crash or run out of time or memory."""

from __future__ import annotations

import faulthandler
import os
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

from kin4d.errors import InputError

_CPU_SECONDS = 8  # a robot of a hundred detailed meshes takes about three
_SECONDS = 60.0
_MEMORY = 2 * 1024**3


def compile_mjcf(mujoco: Any, path: Path) -> Any:
    """The compiled model; what MuJoCo refuses, or breaks on, is an `InputError`.

    The child is a fork of this process, so it has MuJoCo loaded already. Where there is no fork,
    the model is compiled here.
    """
    if not hasattr(os, "fork"):
        return mujoco.MjModel.from_xml_path(str(path))
    with tempfile.TemporaryDirectory(prefix="kin4d-mjcf-") as folder:
        target, message = Path(folder) / "model.mjb", Path(folder) / "message"
        with warnings.catch_warnings():
            # The child runs MuJoCo alone and none of the threads that are warned about.
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            _compile(mujoco, path, target, message)
        if not _wait(child):
            raise InputError(
                f"MuJoCo cannot compile {path}: it takes too long, too much memory, or crashes",
                allowed=f"{_CPU_SECONDS} s and {_MEMORY / 2**30:g} GiB",
            )
        if not target.is_file():
            raise InputError(f"MuJoCo cannot compile {path}: {message.read_text()}")
        return mujoco.MjModel.from_binary_path(str(target))


def _compile(mujoco: Any, path: Path, target: Path, message: Path) -> None:
    """In the child: leaves the model or a message, and never returns."""
    code = 1
    try:
        _limit()
        faulthandler.disable()  # what it dies of is said by the parent
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        model = mujoco.MjModel.from_xml_path(str(path))
        part = target.with_suffix(".part")
        mujoco.mj_saveModel(model, str(part), None)
        part.rename(target)
        code = 0
    except ValueError as error:
        message.write_text(str(error), "utf-8", "replace")
        code = 0
    finally:
        os._exit(code)


def _limit() -> None:
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    spent = int(time.process_time()) + _CPU_SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (spent, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * os.sysconf("SC_PAGE_SIZE") + _MEMORY
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        known = [one for one in (most, soft, hard) if one != resource.RLIM_INFINITY]
        resource.setrlimit(resource.RLIMIT_AS, (min(known), hard))


def _wait(child: int) -> bool:
    """Whether the child ended by itself and well."""
    pause, end = 0.001, time.monotonic() + _SECONDS
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status == 0
        time.sleep(pause)
        pause = min(pause * 1.5, 0.01)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return False
