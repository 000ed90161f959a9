"""What commands share: printing for people or machines, and writing a motion in any format."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kin4d.errors import InputError
from kin4d.files import json_text

if TYPE_CHECKING:
    from kin4d.geometry.camera import Camera
    from kin4d.geometry.clip import Clip
    from kin4d.geometry.mesh import Mesh
    from kin4d.geometry.up_axis import UpAxis


def print_result(text: str, data: dict[str, Any], *, as_json: bool, flush: bool = False) -> None:
    """Print `text` for people, or `data` as JSON for machines; `flush` if more is to come."""
    print(json_text(data) if as_json else text, flush=flush)


def print_warning(text: str) -> None:
    """Print on standard error, where it does not disturb the output."""
    print(f"kin4d: warning: {text}", file=sys.stderr)


def check_memory(frames: int, *, vertices: int = 0, pixels: int = 0) -> None:
    """Refuse a motion that cannot fit, before the system ends the program for it.

    Args:
        frames: How many.
        vertices: Of the moving surface, kept as float32 for every frame.
        pixels: Of an image, kept as colour, XYZ and mask for every frame.
    """
    if not hasattr(os, "sysconf"):
        return
    needed = frames * (12 * vertices + 16 * pixels)
    available = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > available:
        raise InputError(
            f"{frames} frames need {needed / 1e9:.0f} GB of memory",
            allowed=f"{available / 1e9:.0f} GB on this machine",
            hint="ask for fewer frames or smaller images",
        )


def print_choice(text: str) -> None:
    """Say on stderr what body was chosen, and how to choose another."""
    print(f"{text} (--body-type takes another)", file=sys.stderr)


def warn_of_several_objects(mesh: Mesh) -> None:
    """Say so if a mesh looks like a scene of several objects, which are taken as one."""
    from kin4d.geometry.separate_objects import separate_objects

    count = int(separate_objects(mesh).max(initial=-1)) + 1
    if count > 1:
        print_warning(
            f"the mesh has {count} parts with a gap around them, and is taken as one object: if "
            "they are several, 'kin4d inspect FILE --split FOLDER' writes each to a file"
        )


def save_clip_output(
    clip: Clip,
    path: Path,
    *,
    width: int = 720,
    height: int = 480,
    camera: Camera | None = None,
) -> Path:
    """Write a clip by suffix: files and folders by `kin4d.export`, movies by rendering first.

    Args:
        clip: The motion.
        path: Target; see `kin4d.export.write_clip` for the suffixes, and .mp4 or .gif.
        width: Movie width in pixels.
        height: Movie height in pixels.
        camera: The movie's view, with a width and a height of its own; chosen if not given.
    """
    from kin4d.export.video import VIDEO_SUFFIXES

    if path.suffix.lower() not in VIDEO_SUFFIXES:
        return clip.save(path)
    if camera is not None:
        check_memory(len(clip), pixels=camera.width * camera.height)
        return clip.save(path, camera=camera)
    check_memory(len(clip), pixels=width * height)
    return clip.save(path, width=width, height=height)


def load_clip_input(path: Path, *, up: UpAxis | None = None) -> Clip:
    """Read a clip (.npz), or a mesh, whose axis `up` points up, as a clip of one frame."""
    from kin4d.geometry.clip import Clip
    from kin4d.geometry.mesh import Mesh

    if path.suffix.lower() != ".npz":
        return Clip.still(Mesh.load(path, up=up))
    if up is not None:
        raise InputError("clips are z-up: --up is for mesh files", value=up)
    return Clip.load(path)
