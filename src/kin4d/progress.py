"""Progress bars with a time estimate: shown on a terminal after two seconds, silent elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TypeVar

from tqdm import tqdm

T = TypeVar("T")


def track(items: Iterable[T], what: str, *, total: int | None = None) -> Iterable[T]:
    """Iterate over `items`, showing progress on standard error if a person is watching."""
    return tqdm(
        items, desc=what, total=total, delay=2.0, leave=False, disable=not sys.stderr.isatty()
    )
