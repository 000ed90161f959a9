"""`kin4d view`: look at a clip or a mesh in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import tyro

from kin4d.cli.output import load_clip_input, print_warning


def view_command(
    file: Annotated[Path, tyro.conf.Positional],
    *,
    up: Literal["y", "z"] | None = None,
    port: int = 8080,
) -> None:
    """Serve a page that plays a clip, until interrupted.

    Args:
        file: A clip (.npz) or a mesh.
        up: The axis that points up, where the file does not say: a clip knows, a mesh is y-up.
        port: Local port of the page, or the next that is free; 0 for any.
    """
    from kin4d.viewer.player import Player

    player = Player(load_clip_input(file, up=up), port=port)
    if player.port != port != 0:
        print_warning(f"port {port} is taken")
    print(f"open http://localhost:{player.port} and press Ctrl-C here when done", flush=True)
    player.run()
