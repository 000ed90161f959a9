"""Reading with libraries that may crash: in a child process with limits of time and memory.

The child is a fork of this process, so it has its modules loaded already. It answers requests, one
by one, with JSON and bytes; nothing that it sends can run code here. Where there is no fork, the
same requests are answered in this process.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import signal
import socket
import struct
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from kin4d.errors import InputError, Kin4dError
from kin4d.reading import Budget

Answer = tuple[Any, bytes | bytearray]
"""A JSON value, and bytes that are sent as they are; a `bytearray` where they are received."""

Ask = Callable[..., Answer]
"""Requests are JSON values; whatever the other side raises is raised here: an `InputError` as it
was, another exception as a `ValueError` or `MemoryError`."""

_SECONDS = 8.0  # of processor time, for a small file
_SECONDS_PER_BYTE = 4e-6
_MEMORY = 2 * 1024**3
_STALLED = 60.0  # s without an answer, beyond the processor time that is allowed
_HEADER = struct.Struct("<II")  # bytes of JSON, and whether bytes follow
_SIZE = struct.Struct("<Q")


@contextmanager
def isolated(
    path: str | Path, library: str, make_answer: Callable[[], AbstractContextManager[Ask]]
) -> Iterator[Ask]:
    """What answers requests about the file `path`, in a child process.

    Args:
        path: The file, for messages and limits.
        library: What reads it, as in "FFmpeg cannot read".
        make_answer: Opens the file and returns what answers requests; run in the child.
    """
    if not hasattr(os, "fork"):
        with make_answer() as answer:
            yield answer
        return
    seconds, memory = _limits(Path(path))
    ours, theirs = socket.socketpair()
    with warnings.catch_warnings():
        # The child runs the library alone and none of the threads that are warned about.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        ours.close()
        _serve(theirs, make_answer, seconds, memory)
    theirs.close()
    ours.settimeout(seconds + _STALLED)
    lost = InputError(
        f"{library} cannot read {path}: it takes too long, too much memory, or crashes",
        allowed=f"{seconds:.3g} s and {memory / 2**30:.3g} GiB",
    )
    try:
        yield lambda *request: _ask(ours, request, lost)
    finally:
        ours.close()
        _end(child)


def _limits(path: Path) -> tuple[float, int]:
    """Seconds of processor time and bytes that reading a file may take."""
    size = path.stat().st_size if path.is_file() else 0
    return _SECONDS + _SECONDS_PER_BYTE * size, _MEMORY + int(2 * Budget(path).most)


def _ask(stream: socket.socket, request: tuple[Any, ...], lost: InputError) -> Answer:
    try:
        _send(stream, request)
        (kind, value), data = _receive(stream)
    except (OSError, EOFError):
        raise lost from None
    if kind == "answer":
        return value, data
    if kind == "refused":
        what, shown, allowed, hint = value
        raise InputError(what, value=shown, allowed=allowed, hint=hint)
    if kind == "memory":
        raise MemoryError
    raise ValueError(value)


def _serve(
    stream: socket.socket,
    make_answer: Callable[[], AbstractContextManager[Ask]],
    seconds: float,
    memory: int,
) -> None:
    """In the child: answers until the other side is gone, and never returns."""
    try:
        _limit(seconds, memory)
        _answer_all(stream, make_answer)
    except BaseException:
        pass  # whoever asked is gone, or sees that this process is
    finally:
        os._exit(0)


def _answer_all(
    stream: socket.socket, make_answer: Callable[[], AbstractContextManager[Ask]]
) -> None:
    with contextlib.ExitStack() as stack:
        answer: Ask | None = None
        while True:
            request, _ = _receive(stream)
            try:
                if answer is None:
                    answer = stack.enter_context(make_answer())
                value, data = answer(*request)
                _send(stream, ("answer", value), data)
            except InputError as error:
                shown = None if error.value is None else _plain(error.value)
                _send(stream, ("refused", (error.what, shown, error.allowed, error.hint)))
            except MemoryError:
                _send(stream, ("memory", None))
            except (Kin4dError, ValueError) as error:
                _send(stream, ("failed", str(error)))
            except Exception as error:
                text = error.strerror if isinstance(error, OSError) and error.strerror else None
                _send(stream, ("failed", text or f"{type(error).__name__}: {error}"))


def _plain(value: Any) -> Any:
    try:
        return json.loads(json.dumps(value))
    except (TypeError, ValueError):
        return str(value)


def _send(stream: socket.socket, value: Any, data: bytes | bytearray = b"") -> None:
    text = json.dumps(value).encode()
    stream.sendall(_HEADER.pack(len(text), bool(data)) + text)
    if data:
        stream.sendall(_SIZE.pack(len(data)))
        stream.sendall(data)


def _receive(stream: socket.socket) -> Answer:
    length, more = _HEADER.unpack(_exactly(stream, _HEADER.size))
    value = json.loads(_exactly(stream, length))
    if not more:
        return value, b""
    (size,) = _SIZE.unpack(_exactly(stream, _SIZE.size))
    return value, _exactly(stream, size)


def _exactly(stream: socket.socket, size: int) -> bytearray:
    data = bytearray(size)
    view, got = memoryview(data), 0
    while got < size:
        count = stream.recv_into(view[got:])
        if not count:
            raise EOFError
        got += count
    return data


def _limit(seconds: float, memory: int) -> None:
    import resource

    faulthandler.disable()  # what it dies of is said by the parent
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time() + seconds) + 1, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * os.sysconf("SC_PAGE_SIZE") + memory
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        known = [one for one in (most, soft, hard) if one != resource.RLIM_INFINITY]
        resource.setrlimit(resource.RLIMIT_AS, (min(known), hard))


def _end(child: int) -> None:
    """The child leaves when its stream is closed; one that does not is ended."""
    for pause in (0.0, 0.001, 0.01, 0.1):
        time.sleep(pause)
        if os.waitpid(child, os.WNOHANG)[0]:
            return
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
