"""How kernels are compiled here: free of the interpreter's lock, and once per machine."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from numba import njit

from kin4d.errors import InputError


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile on first use and keep the result on disk for the next start.

    Kernels are plain loops run from ordinary threads: unlike numba's own parallel loops they may
    be called from several threads at once and from forked data-loading workers. Floating-point
    operations are never fused or reordered, which the fill rule relies on.
    """
    try:
        return njit(nogil=True, error_model="numpy", cache=True)(function)
    except RuntimeError:
        # No folder to cache in (a read-only installation without a home): compile every time.
        return njit(nogil=True, error_model="numpy")(function)


def thread_count(threads: int | None) -> int:
    """`threads` if given, else as many as the cores this process may run on."""
    if threads is None:
        affinity = getattr(os, "sched_getaffinity", None)
        return len(affinity(0)) if affinity else os.cpu_count() or 1
    if threads < 1:
        raise InputError("number of threads must be positive", value=threads)
    return threads
