"""steady_memory: a server that many clients come to and leave stays as large as it is."""

from __future__ import annotations

import contextlib
import ctypes
import gc

_ARENA_MAX = -8  # of glibc's mallopt: pools that threads take memory from
_ARENAS = 2


def steady_memory() -> None:
    """Set this process up to serve: call it when all is loaded, before threads are started.

    Connections are circles of objects, which Python frees only in full collections; these are rare
    as long as they must also look at all that was loaded. And glibc gives every few threads a pool
    of memory of their own, each of which grows to the most that its threads ever took.
    """
    gc.collect()
    gc.freeze()
    gc.collect()  # counts what is not frozen: the next full collection waits for a quarter of that
    first, second, _ = gc.get_threshold()
    gc.set_threshold(first, second, 1)
    with contextlib.suppress(OSError, AttributeError):  # elsewhere memory is kept differently
        ctypes.CDLL("libc.so.6").mallopt(_ARENA_MAX, _ARENAS)
