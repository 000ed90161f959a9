"""WorkLoop: all work of a page is done in one thread, in order; events only queue it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

Task = Callable[[], None]


class WorkLoop:
    """Tasks by key, run by whoever calls `run` or `drain`.

    Browsers send events faster than a fit or a simulation answers them. Of tasks with the same key
    only the latest is run, so a slider that is dragged never builds a queue.

    Args:
        on_error: Called with what a task raised; the loop goes on.
    """

    def __init__(self, on_error: Callable[[Exception], None]) -> None:
        self._on_error = on_error
        self._tasks: dict[Any, Task] = {}
        self._changed = threading.Condition()
        self._stopped = False

    def post(self, task: Task, *, key: Any = None) -> None:
        """Queue a task, from any thread. One with the same `key` that still waits is replaced, and
        keeps its place in the queue; without a key none is."""
        with self._changed:
            self._tasks[object() if key is None else key] = task
            self._changed.notify()

    def drain(self) -> None:
        """Run what is queued now."""
        with self._changed:
            tasks, self._tasks = [*self._tasks.values()], {}
        for task in tasks:
            self._guarded(task)

    def run(self, tick: Callable[[], float | None]) -> None:
        """Run tasks as they come until `stop`.

        Args:
            tick: Called again and again; returns the seconds until it wants to be called next, or
                None if only after the next task.
        """
        while not self._stopped:
            self.drain()
            wait = None
            try:
                wait = tick()
            except Exception as error:
                self._on_error(error)
            until = None if wait is None else time.monotonic() + wait
            with self._changed:
                while not self._tasks and not self._stopped:
                    left = 3600.0 if until is None else until - time.monotonic()
                    if left <= 0:
                        break
                    self._changed.wait(left)

    def stop(self) -> None:
        """End `run` after the task at hand."""
        with self._changed:
            self._stopped = True
            self._changed.notify()

    def _guarded(self, task: Task) -> None:
        try:
            task()
        except Exception as error:
            self._on_error(error)
