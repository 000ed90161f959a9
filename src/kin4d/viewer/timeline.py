"""Timeline: play, pause and scrub through frames."""

from __future__ import annotations

import time
from collections.abc import Callable

from kin4d.viewer.page import Page


class Timeline:
    """A slider and a checkbox.

    Args:
        page: Where.
        count: Frames.
        fps: Frames per second.
        show: Shows one of them.
        playing: Whether it plays at once.
        order: Among the inputs of the page; after those that are there if None.
    """

    def __init__(
        self,
        page: Page,
        *,
        count: int,
        fps: float,
        show: Callable[[int], None],
        playing: bool,
        order: float | None = None,
    ) -> None:
        self.count, self._fps, self._show = count, fps, show
        self.slider = page.gui.add_slider(
            "frame",
            min=0,
            max=max(count - 1, 1),
            step=1,
            initial_value=0,
            disabled=count < 2,
            order=order,
        )
        self.play = page.gui.add_checkbox(
            "play", initial_value=playing, disabled=count < 2, order=order
        )
        self._clock, self._at = time.monotonic(), 0.0
        page.on_change(self.slider, self._scrubbed)
        page.on_change(self.play, self._started)

    @property
    def frame(self) -> int:
        """That is shown."""
        return min(int(self.slider.value), self.count - 1)

    def tick(self) -> float | None:
        """Show the frame that is due; seconds until the next."""
        if not self.play.value or self.count < 2:
            return None
        now = time.monotonic()
        self._at = (self._at + (now - self._clock) * self._fps) % self.count
        self._clock = now
        if int(self._at) != self.frame:
            self.slider.value = int(self._at)
            self._show(self.frame)
        return max(1 / self._fps - (time.monotonic() - now), 0.001)

    def _scrubbed(self) -> None:
        self._at, self._clock = float(self.slider.value), time.monotonic()
        self._show(self.frame)

    def _started(self) -> None:
        self._clock = time.monotonic()
