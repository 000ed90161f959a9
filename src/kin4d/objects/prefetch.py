"""Making batches ahead in other processes, in order and none twice."""

from __future__ import annotations

import multiprocessing
import queue
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kin4d.errors import Kin4dError
from kin4d.storage.worker import init_worker

if TYPE_CHECKING:
    from kin4d.objects.pairs import PairBatch
    from kin4d.objects.stream import PairStream

_AHEAD = 2  # batches each worker may have ready
_PATIENCE = 5.0  # seconds between looks at whether a silent worker still lives


def prefetch(stream: PairStream, *, workers: int, start: int = 0) -> Iterator[PairBatch]:
    """Batches of `stream` from `start` on, worker w making those numbered w modulo `workers`."""
    context = multiprocessing.get_context("spawn")
    shelves: list[Any] = [context.Queue(maxsize=_AHEAD) for _ in range(workers)]
    processes = [
        context.Process(target=_work, args=(stream, shelf, start + first, workers), daemon=True)
        for first, shelf in enumerate(shelves)
    ]
    for process in processes:
        process.start()
    try:
        while True:
            for process, shelf in zip(processes, shelves, strict=True):
                yield _take(process, shelf)
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.join()


def _work(stream: PairStream, shelf: Any, first: int, step: int) -> None:
    init_worker()
    index = first
    while True:
        try:
            shelf.put(stream[index])
        except Exception as error:
            shelf.put(f"{type(error).__name__}: {error}")
            return
        index += step


def _take(process: Any, shelf: Any) -> PairBatch:
    while True:
        try:
            found = shelf.get(timeout=_PATIENCE)
        except queue.Empty:
            if process.is_alive():
                continue
            raise Kin4dError(
                f"a worker that makes training pairs died with exit code {process.exitcode}",
                hint="try fewer workers; it may have run out of memory",
            ) from None
        if isinstance(found, str):
            raise Kin4dError(f"a worker that makes training pairs failed: {found}")
        return found
