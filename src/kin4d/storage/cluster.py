"""map_on_ray: work on the machines of a Ray cluster; what a lost worker had is done again."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from kin4d.extras import require

Item = TypeVar("Item")
Result = TypeVar("Result")

_RETRIES = 3  # of an item whose worker is lost


def map_on_ray(
    work: Callable[[Item], Result], items: Iterable[Item], *, workers: int, purpose: str
) -> Iterator[tuple[Item, Result]]:
    """Each item with what `work` makes of it, in the order in which they are done.

    Args:
        work: Sent to other processes; its result depends on the item alone.
        items: Sent one by one.
        workers: Size of a cluster started here if none is running and the environment variable
            RAY_ADDRESS names none.
        purpose: For the message if Ray is not installed.
    """
    ray: Any = require("ray", extra="cluster", purpose=purpose)
    ours = not ray.is_initialized()
    if ours and os.environ.get("RAY_ADDRESS"):
        ray.init(log_to_driver=False)
    elif ours:
        ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False)
    try:
        remote = ray.remote(max_retries=_RETRIES)(lambda item: work(item))
        # A few in hand, so that results do not pile up in memory.
        abreast = 2 * max(int(ray.cluster_resources().get("CPU", 1)), 1)
        queue, running = iter(items), {}
        while True:
            while len(running) < abreast and (item := next(queue, None)) is not None:
                running[remote.remote(item)] = item
            if not running:
                return
            (done, *_), _ = ray.wait([*running], num_returns=1)
            yield running.pop(done), ray.get(done)
    finally:
        if ours:
            ray.shutdown()
