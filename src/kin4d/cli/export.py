"""`kin4d export`: a saved clip, or a still mesh, to any other format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from kin4d.cli.output import load_clip_input, print_result, save_clip_output
from kin4d.cli.ranges import Pixels
from kin4d.geometry.up_axis import UpAxis


def export_command(
    file: Annotated[Path, tyro.conf.Positional],
    *,
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"])],
    up: UpAxis | None = None,
    width: Pixels = 720,
    height: Pixels = 480,
    json: bool = False,
) -> None:
    """Convert a clip to GLB, USD, PC2, an OBJ sequence, MP4 or GIF.

    Args:
        file: A clip (.npz) of another command, or a mesh, which becomes a clip of one frame.
        output: Target; its suffix chooses the format, and no suffix means a folder of OBJs.
        up: The axis that points up in a mesh file; y by default, or what a DAE file states.
        width: Movie width in pixels.
        height: Movie height in pixels.
        json: Print JSON for machines.
    """
    clip = load_clip_input(file, up=up)
    save_clip_output(clip, output, width=width, height=height)
    print_result(
        f"{len(clip)} frames of {len(clip.mesh.vertices)} vertices written to {output}",
        {"written": str(output), "frames": len(clip), "vertices": len(clip.mesh.vertices)},
        as_json=json,
    )
