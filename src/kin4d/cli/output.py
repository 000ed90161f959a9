"""What verbs share: printing for people or machines, and writing a motion in any format."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kin4d.geometry.clip import Clip


def say(text: str, data: dict[str, Any], *, as_json: bool) -> None:
    """Print `text` for people, or `data` as JSON for machines."""
    print(json.dumps(data, indent=2) if as_json else text)


def warn(text: str) -> None:
    """Tell a person something on standard error, where it does not disturb the output."""
    print(f"kin4d: warning: {text}", file=sys.stderr)


def write_motion(clip: Clip, path: Path, *, width: int = 720, height: int = 480) -> Path:
    """Write a clip by suffix: files and folders by `kin4d.export`, movies by rendering first.

    Args:
        clip: The motion.
        path: Target; see `kin4d.export.write_clip` for the suffixes, and .mp4 or .gif.
        width: Movie width in pixels.
        height: Movie height in pixels.
    """
    from kin4d.export import write_clip
    from kin4d.export.video import VIDEO_SUFFIXES, write_video

    if path.suffix.lower() in VIDEO_SUFFIXES:
        from kin4d.render.pointmaps import render_clip

        video = render_clip(clip, width=width, height=height)
        return write_video(video.rgb, path, fps=clip.fps)
    return write_clip(clip, path)


def load_motion(path: Path, *, up: str | None = None) -> Clip:
    """Read a clip (.npz), or a mesh as a clip of one frame.

    `up` says which axis points up where the file does not: a clip knows, a mesh is taken as y-up.
    """
    from kin4d.geometry.clip import Clip
    from kin4d.geometry.mesh import Mesh

    if path.suffix.lower() == ".npz":
        clip = Clip.load(path)
        return replace(clip, up=up) if up else clip
    mesh = Mesh.load(path)
    return Clip(mesh=mesh, vertices=mesh.vertices[None], fps=24.0, up=up or "y")
