"""`kin4d view`: look at a clip or a mesh in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from kin4d.cli.output import load_clip_input
from kin4d.cli.ranges import Port
from kin4d.geometry.up_axis import UpAxis


def view_command(
    file: Annotated[Path, tyro.conf.Positional],
    *,
    up: UpAxis | None = None,
    port: Port = 8080,
    host: str = "127.0.0.1",
) -> None:
    """Serve a page that plays a clip, until interrupted.

    Args:
        file: A clip (.npz) or a mesh.
        up: The axis that points up in a mesh file; y by default, or what a DAE file states.
        port: Port of the page, or the next that is free; 0 for any.
        host: Address to listen on; 0.0.0.0 for all of this machine's. Any but 127.0.0.1 serves
            other machines, through a link with a token, without encryption.
    """
    load_clip_input(file, up=up).show(port=port, host=host)
