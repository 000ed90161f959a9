"""Clips as folders of numbered mesh files, one per frame."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from kin4d.errors import InputError
from kin4d.files import atomic_path
from kin4d.geometry.clip import Clip
from kin4d.geometry.io.obj import write_obj
from kin4d.geometry.io.ply import write_ply
from kin4d.geometry.up_axis import DEFAULT_UP, from_z_up
from kin4d.progress import track


def write_sequence(
    clip: Clip, folder: str | Path, *, format: Literal["obj", "ply"] = "obj"
) -> Path:
    """Write each frame of `clip` as ``frame_0000.obj`` (or ``.ply``) and so on into `folder`.

    OBJ keeps texture coordinates and materials: all frames share the first one's MTL and textures.
    PLY (binary) keeps texture coordinates and vertex colours. The folder appears whole or not at
    all; one that is there is replaced.
    """
    if format not in ("obj", "ply"):
        raise InputError("unknown sequence format", value=format, allowed="'obj' or 'ply'")
    folder = Path(folder)
    present = folder.iterdir() if folder.is_dir() else ()
    others = [entry.name for entry in present if not entry.name.startswith("frame_")]
    if others:
        raise InputError(
            f"{folder} holds other files, which would be lost",
            value=others[0],
            hint="name a new or empty folder",
        )
    up = clip.mesh.source_up or DEFAULT_UP
    with atomic_path(folder) as temporary:
        temporary.mkdir()
        for i, vertices in track(enumerate(clip.vertices), "writing frames", total=len(clip)):
            mesh = clip.mesh.replace_vertices(from_z_up(vertices, up))
            path = temporary / f"frame_{i:04d}.{format}"
            if format == "ply":
                write_ply(mesh, path)
            else:
                write_obj(mesh, path, library="frame_0000.mtl" if i else None)
    return folder
