"""Clips as PC2 point caches with the mesh as OBJ beside, for Blender's Mesh Cache modifier."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import numpy as np

from kin4d.errors import OutputError
from kin4d.files import atomic_path
from kin4d.geometry.clip import Clip
from kin4d.geometry.io.mesh_file import save_mesh
from kin4d.geometry.up_axis import DEFAULT_UP, from_z_up


def write_pc2(clip: Clip, path: str | Path) -> Path:
    """Write `clip` as a PC2 point cache, and its rest mesh as OBJ with the same name beside it.

    In Blender: import the OBJ, add a Mesh Cache modifier, choose the PC2 file. Vertices are in the
    same order in both. Blender counts frames at its own rate: set the scene's to `clip.fps`.

    A PC2 file is little-endian: a header of 32 bytes (the 12 characters ``POINTCACHE2`` and a zero,
    int32 version = 1, int32 points, float32 first frame, float32 frames per sample, int32
    samples), then the points of all samples, [samples, points, 3] float32.
    """
    path = Path(path)
    if path.is_dir():
        raise OutputError(f"cannot write {path}: it is a folder", hint="name a file")
    frames, points = clip.vertices.shape[:2]
    with atomic_path(path) as temporary:
        with temporary.open("wb") as file:
            file.write(struct.pack("<12siiffi", b"POINTCACHE2", 1, points, 0.0, 1.0, frames))
            vertices = from_z_up(clip.vertices, clip.mesh.source_up or DEFAULT_UP)
            file.write(np.ascontiguousarray(vertices, "<f4").data)
        # One object: importers split a file at object names, and the cache would not fit a piece.
        whole = replace(clip.mesh, groups=(clip.mesh.name,), face_group=None)
        save_mesh(whole, path.with_suffix(".obj"))
    return path
