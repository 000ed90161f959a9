"""What is on disk of a store, and a writer that is killed at work."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from pathlib import Path


def checksums(path: Path) -> dict[str, str]:
    """Those of all shards of a store."""
    files = path.glob("shards/*/checksums.json")
    return {str(file.relative_to(path)): file.read_text() for file in files}


def kill_after_a_shard(write: Callable[[Path], object], path: Path, *, how: str) -> None:
    """Write a store in another process, started by `how`, that does not live to end it."""
    process = multiprocessing.get_context(how).Process(target=write, args=(path,))  # pyright: ignore[reportAttributeAccessIssue]
    process.start()
    while process.is_alive() and not [*path.glob("shards/[0-9]*")]:
        process.join(0.01)
    process.kill()
    process.join()
