"""What verbs share: printing for people or machines, and writing a motion in any format."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kin4d.geometry.clip import Clip

_MOVIES = (".mp4", ".gif")
_UP = {"y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


def say(text: str, data: dict[str, Any], *, as_json: bool) -> None:
    """Print `text` for people, or `data` as JSON for machines."""
    print(json.dumps(data, indent=2) if as_json else text)


def warn(text: str) -> None:
    """Tell a person something on standard error, where it does not disturb the output."""
    print(f"kin4d: warning: {text}", file=sys.stderr)


def write_motion(clip: Clip, path: Path, *, up: str = "y", width: int = 720, height: int = 480):
    """Write a clip by suffix: files and folders by `kin4d.export`, movies by rendering first.

    Args:
        clip: The motion.
        path: Target; see `kin4d.export.write_clip` for the suffixes, and .mp4 or .gif.
        up: The axis of the clip's own coordinates that points up, "y" or "z".
        width: Movie width in pixels.
        height: Movie height in pixels.
    """
    if path.suffix.lower() in _MOVIES:
        from kin4d.export.video import write_video
        from kin4d.render.pointmaps import render_clip

        video = render_clip(clip, up=_UP[up], width=width, height=height)
        return write_video(video.rgb, path, fps=clip.fps)
    from kin4d.export import write_clip

    return write_clip(clip, path, up=up)


def load_motion(path: Path) -> Clip:
    """Read a clip (.npz), or a mesh as a clip of one frame."""
    from kin4d.geometry.clip import Clip

    if path.suffix.lower() == ".npz":
        return Clip.load(path)
    from kin4d.geometry.mesh import Mesh

    mesh = Mesh.load(path)
    return Clip(mesh=mesh, vertices=mesh.vertices[None], fps=24.0)
