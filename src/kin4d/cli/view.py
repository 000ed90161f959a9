"""`kin4d view`: look at a file in the browser, move it, push it, correct it, save it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from kin4d.cli.ranges import Metres, Natural, Port, Seed
from kin4d.cli.serving import steady_memory
from kin4d.geometry.up_axis import UpAxis
from kin4d.loading import BodyType


def view_command(
    file: Annotated[str, tyro.conf.Positional],
    *,
    body_type: BodyType | None = None,
    weights: str = "small",
    up: UpAxis | None = None,
    size: Metres | None = None,
    seed: Seed = 0,
    camera: Path | None = None,
    episode: Natural = 0,
    world_weights: str = "tiny",
    html: Path | None = None,
    port: Port = 8080,
    host: str = "127.0.0.1",
) -> None:
    """Serve a page that shows a file, until interrupted; or write one that needs no server.

    Args:
        file: A mesh, a clip (.npz), a robot (.urdf, .xml), a scene (.yaml, .json), a pointmap video
            (.npz) or a folder of them, a store of episodes, or the name of a robot or of an object
            category.
        body_type: What a mesh file becomes; it can be changed in the page. If not given, it becomes
            articulated, and a GLB or glTF file with animations of its own plays them.
        weights: Of learned and articulated bodies: a name that ships, a file, a folder or a hub id.
        up: The axis that points up in a mesh file; y by default, or what a DAE file states.
        size: Metres of the diagonal of a mesh file's bounding box; the file's own if not given.
        seed: Of an object category.
        camera: JSON as written by kin4d: what a robot is looked at with.
        episode: Which episode of a store is shown first.
        world_weights: Of the world model that imagines episodes.
        html: Write a page that plays by itself to this file, and serve nothing: a clip as it is, a
            scene as it runs, an episode beside what is imagined of it, of other files each joint in
            turn.
        port: Port of the page, or the next that is free; 0 for any.
        host: Address to listen on; 0.0.0.0 for all of this machine's. Any but 127.0.0.1 serves
            other machines, through a link with a token, without encryption.
    """
    from kin4d.geometry.camera import Camera
    from kin4d.viewer.open_file import ViewOptions

    options = ViewOptions(
        body_type=body_type,
        weights=weights,
        up=up,
        size=size,
        seed=seed,
        camera=None if camera is None else Camera.load(camera),
        episode=episode,
        world_weights=world_weights,
    )
    if html is not None:
        from kin4d.viewer.write_view import write_view

        frames, written = write_view(file, html, options)
        print(f"{frames} frames in {written}, {written.stat().st_size / 1e6:.2g} MB")
        return
    from kin4d.viewer.player import show

    steady_memory()
    show(file, port=port, host=host, options=options)
