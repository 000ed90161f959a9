"""Shards of a plan, made by this process, by many, or by a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from kin4d.errors import InputError
from kin4d.progress import track
from kin4d.storage.cluster import map_on_ray
from kin4d.storage.shard import ShardRecord
from kin4d.storage.store import StoreWriter

Shards = Iterator[tuple[int, list[ShardRecord]]]


class ShardPlan(Protocol):
    """What says what every shard holds. It is sent to other processes."""

    @property
    def shards(self) -> int:
        """How many."""
        ...

    def make(self, number: int) -> list[ShardRecord]:
        """The records of a shard, which depend on the plan and this number alone."""
        ...


def make_shards(
    plan: ShardPlan, writer: StoreWriter, *, workers: int = 1, cluster: bool = False
) -> None:
    """Make the shards that a store does not have yet.

    Args:
        plan: What to make.
        writer: Of the store.
        workers: Processes; with `cluster`, the size of a cluster started here if none is running.
        cluster: Spread the work over Ray (extra ``[cluster]``): the cluster that the environment
            variable RAY_ADDRESS names, or one on this machine.
    """
    if workers < 1:
        raise InputError("workers", value=workers, allowed=">= 1")
    numbers = [number for number in range(plan.shards) if not writer.has(number)]
    if cluster:
        made = map_on_ray(plan.make, numbers, workers=workers, purpose="generating on a cluster")
    elif workers > 1 and len(numbers) > 1:
        made = _in_processes(plan, numbers, workers)
    else:
        made = ((number, plan.make(number)) for number in numbers)
    for number, records in track(made, "making shards", total=len(numbers)):
        writer.commit(number, records)


def _in_processes(plan: ShardPlan, numbers: Sequence[int], workers: int) -> Shards:
    import multiprocessing
    from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait

    from kin4d.storage.worker import init_worker

    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=init_worker) as pool:
        queue, running = iter(numbers), {}
        try:
            while True:
                # A few in hand, so that finished shards do not pile up in memory.
                while len(running) < 2 * workers and (number := next(queue, None)) is not None:
                    running[pool.submit(plan.make, number)] = number
                if not running:
                    return
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    yield running.pop(future), future.result()
        finally:
            pool.shutdown(cancel_futures=True)
