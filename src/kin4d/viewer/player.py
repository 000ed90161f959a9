"""show: look at a file, a body or a clip in the browser until interrupted."""

from __future__ import annotations

import sys

from kin4d.bodies.body import Body
from kin4d.errors import Kin4dError
from kin4d.geometry.clip import Clip
from kin4d.viewer.body_view import BodyView
from kin4d.viewer.clip_view import ClipView
from kin4d.viewer.open_file import FileOpener, ViewOptions, check_file
from kin4d.viewer.page import Page


def show(
    what: Clip | Body | str,
    *,
    port: int = 8080,
    host: str = "127.0.0.1",
    options: ViewOptions | None = None,
) -> None:
    """Show something in the browser until interrupted.

    Args:
        what: A clip, a body, a file, or the name of a robot or an object.
        port: Of the page, or the next that is free; 0 for any.
        host: Address to listen on; see `start_server`.
        options: How files are opened.
    """
    if isinstance(what, str):
        check_file(what)
    page = Page(port=port, host=host)
    if page.port != port != 0:
        print(f"kin4d: warning: port {port} is taken", file=sys.stderr)
    print(f"open {page.url} and press Ctrl-C here when done", flush=True)
    try:
        opener = FileOpener(page, options)
        if isinstance(what, Clip):
            ClipView(page, what)
        elif isinstance(what, str):
            opener.open(what)
        else:
            BodyView(page, what)
        page.run()
    except (Kin4dError, KeyboardInterrupt):
        page.close()
        raise
