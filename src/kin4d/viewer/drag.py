"""Dragging: what a mouse does to the shown surfaces, as calls in the page's loop."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np

from kin4d.viewer.page import Page


class Draggable(Protocol):
    """What can be taken hold of."""

    def grab(self, point: np.ndarray) -> None:
        """The surface point [3] (m) that is taken."""
        ...

    def drag(self, target: np.ndarray) -> None:
        """Where it is drawn to, [3] m."""
        ...

    def drop(self) -> None:
        """It is let go."""
        ...


def on_drag(page: Page, handles: Iterable[Any], what: Draggable) -> None:
    """Report drags of viser's `handles` with the left button to `what`."""
    for handle in handles:

        @handle.on_drag("left")
        async def _(event: Any) -> None:
            grabbed, target = np.array(event.start_position), np.array(event.end_position)
            if event.phase == "start":
                page.loop.post(lambda: what.grab(grabbed))
            page.loop.post(lambda: what.drag(target), key=(id(what), "drag"))
            if event.phase == "end":
                page.loop.post(what.drop)
