"""Writers: clips as animated files that standard tools play, frames as videos."""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import Any

from kin4d.errors import InputError
from kin4d.export.gltf import write_glb
from kin4d.export.html import write_html
from kin4d.export.pc2 import write_pc2
from kin4d.export.sequence import write_sequence
from kin4d.export.usd import USD_SUFFIXES, write_usd
from kin4d.export.video import VIDEO_SUFFIXES, write_video
from kin4d.geometry.clip import Clip
from kin4d.geometry.io.clip_file import save_clip

_WRITERS = {
    ".glb": write_glb,
    **dict.fromkeys(USD_SUFFIXES, write_usd),
    ".pc2": write_pc2,
    ".html": write_html,
    ".npz": save_clip,
    "": write_sequence,
}
CLIP_SUFFIXES = tuple(filter(None, _WRITERS))


def write_clip(clip: Clip, path: str | Path, **options: Any) -> Path:
    """Write `clip` in the format that the suffix of `path` names.

    Args:
        clip: The animation.
        path: ``.glb``; ``.usd``, ``.usda``, ``.usdc``, ``.usdz``; ``.pc2`` (with OBJ); ``.npz``
            (kin4d's own, nothing lost); ``.html``, a page that plays by itself; ``.mp4`` or
            ``.gif``, rendered; or a folder (no suffix) for one mesh file per frame.
        options: Those of the format's own writer, e.g. ``normals=True`` for GLB or
            ``format="ply"`` for a folder; of `Clip.render` for movies.

    OBJ and PLY files have the up axis of the mesh's source (y if it has none), GLB is y-up by
    specification, and USD states that it is z-up.
    """
    suffix = Path(path).suffix.lower()
    if suffix in VIDEO_SUFFIXES:
        return write_video(clip.render(**options).rgb, path, fps=clip.fps)
    write = _WRITERS.get(suffix, write_sequence if Path(path).is_dir() else None)
    if write is None:
        raise InputError(
            f"no writer for {path}",
            value=suffix,
            allowed=", ".join((*CLIP_SUFFIXES, *VIDEO_SUFFIXES))
            + ", or a folder (no suffix) for OBJ or PLY frames",
        )
    known = [name for name, p in signature(write).parameters.items() if p.kind is p.KEYWORD_ONLY]
    for name in options:
        if name not in known:
            raise InputError(
                f"writing {suffix or 'a folder of frames'} has no option '{name}'",
                allowed=", ".join(known) or "none",
            )
    return write(clip, path, **options)
