"""Page: the server, the loop in which all work is done, what is open, and what went wrong."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from kin4d.errors import Kin4dError
from kin4d.viewer.lighting import Lighting
from kin4d.viewer.server import start_server
from kin4d.viewer.work_loop import WorkLoop

IDLE = 0.5


class View(Protocol):
    """What a page shows of one file."""

    def tick(self) -> float | None:
        """Go on; returns the seconds until the next tick, None if nothing moves by itself."""
        ...


class Page:
    """One page, which any number of browsers look at together.

    Args:
        port: See `start_server`.
        host: See `start_server`.

    Attributes:
        port: That is used.
        url: Of the page.
        scene: viser's.
        gui: viser's.
        loop: Runs all work.
        view: What is open.
        header: Adds what is at the top of the page whatever is open.
        problems: Everything that was reported.
    """

    def __init__(self, *, port: int = 8080, host: str = "127.0.0.1") -> None:
        self._server = start_server(port=port, host=host)
        self.port, self.url = self._server.port, self._server.url
        self.viser = self._server.viser
        self.scene, self.gui = self.viser.scene, self.viser.gui
        self.loop = WorkLoop(self.report)
        self.view: View | None = None
        self.header: Callable[[], None] | None = None
        self.problems: list[str] = []
        self._kept, self._paths, self._shadows = "", 0, False
        self._lighting = Lighting(self.scene)
        self.clear()

    def clear(self) -> None:
        """Close what is open; a warning stays."""
        self.view = None
        self.gui.reset()
        self.scene.reset()
        self.scene.set_up_direction("+z")
        self._lighting.add(shadows=self._shadows)
        self._notice = self.gui.add_markdown(
            _notice(self._kept), visible=bool(self._kept), order=-10
        )
        if self.header is not None:
            self.header()
        shadows = self.gui.add_checkbox("shadows", initial_value=self._shadows, order=1e6)
        self.on_change(shadows, lambda: self._shade(shadows.value))

    def show(self, view: View) -> None:
        """What `tick` is called of."""
        self.view = view

    def path(self, name: str) -> str:
        """A path in the scene tree that nothing had before: browsers may miss what changes about
        a node that is removed and made again at once."""
        self._paths += 1
        return f"/{name}{self._paths}"

    def on_change(self, handle: Any, work: Callable[[], None]) -> None:
        """Call `work` when somebody changes an input; changes by program are not reported."""

        @handle.on_update
        async def _(event: Any) -> None:
            if event.client is not None:
                self.loop.post(work, key=id(handle))

    def on_click(self, button: Any, work: Callable[[Any], None]) -> None:
        """Call `work` with the browser (viser's client) that pressed a button."""

        @button.on_click
        async def _(event: Any) -> None:
            client = event.client
            self.loop.post(lambda: work(client))

    def notice(self, title: str, text: str) -> None:
        """Say something to every browser, for a few seconds."""
        for client in self.viser.get_clients().values():
            client.add_notification(title, text, auto_close_seconds=8.0)

    def report(self, error: Exception) -> None:
        """Say what went wrong, in the page and on standard error; the page goes on."""
        text = str(error)
        if not isinstance(error, Kin4dError):
            text = f"unexpected {type(error).__name__}: {error}. This is a bug in kin4d."
        self.warn(text)

    def warn(self, text: str) -> None:
        """Keep a text at the top of the page until the next one, and print it."""
        self.problems.append(text)
        print(f"kin4d: {text}", file=sys.stderr, flush=True)
        self._keep(text)

    def settle(self) -> None:
        """Take the last warning away."""
        self._keep("")

    def _shade(self, on: bool) -> None:
        self._shadows = on
        self._lighting.set_shadows(on)

    def _keep(self, text: str) -> None:
        self._kept = text
        self._notice.content = _notice(text)
        self._notice.visible = bool(text)

    def floor(self, bounds: np.ndarray) -> None:
        """A grid under a box [2, 3] (m), and cameras that see all of the box."""
        origin, reach = bounds.mean(0), max(float(np.ptp(bounds, axis=0).max()), 1e-6)
        # Lines, because a plane that is shaded per pixel costs as much as the object on it.
        at = np.linspace(-reach, reach, 21)
        along = np.stack([np.column_stack([at, one + 0 * at]) for one in (-reach, reach)], 1)
        ends = np.concatenate([along, along[..., ::-1]])
        self.scene.add_line_segments(
            "/floor",
            np.concatenate([ends, np.zeros((len(ends), 2, 1))], 2).astype(np.float32),
            (190, 192, 196),
            thickness=1.0,
            thickness_units="screen",
            position=(*origin[:2].tolist(), float(bounds[0, 2])),
        )
        distance = 0.9 * max(float(np.linalg.norm(np.ptp(bounds, axis=0))), 1e-6)
        self.look(origin + distance * np.array([0.7, -1.0, 0.55]), origin)

    def look(self, eye: np.ndarray, target: np.ndarray) -> None:
        """Put all browsers' cameras at `eye` [3], looking at `target` [3] (m)."""
        distance = max(float(np.linalg.norm(eye - target)), 1e-6)
        camera = self.viser.initial_camera
        camera.look_at, camera.position = tuple(target.tolist()), tuple(eye.tolist())
        camera.up = (0.0, 0.0, 1.0)
        camera.near, camera.far = 0.005 * distance, 200 * distance
        for client in self.viser.get_clients().values():
            # A camera that is moved takes the point it looks at along.
            client.camera.position = np.array(camera.position)
            client.camera.look_at = np.array(camera.look_at)

    def run(self) -> None:
        """Work until interrupted or closed."""

        def tick() -> float | None:
            return IDLE if self.view is None else self.view.tick()

        self.loop.run(tick)

    def close(self) -> None:
        """Stop serving."""
        self.loop.stop()
        self._server.close()


def _notice(text: str) -> str:
    return f"**Notice.** {plain(text)}" if text else ""


def plain(text: str) -> str:
    """Text as Markdown that shows it letter by letter: names come from files of others."""
    return "".join(
        f"\\{letter}" if letter in "\\`*_{}[]()<>#+-!|$~&" else letter for letter in text
    )
