"""Which files and folders hold pointmap videos or episodes, and the videos in them."""

from __future__ import annotations

import zipfile
from pathlib import Path

from kin4d.geometry.pointmap import PointmapVideo

_VIDEOS = "pointmap*.npz"


def is_store(path: str | Path) -> bool:
    """Whether a folder is a store of episodes, or looks like one."""
    return (Path(path) / "store.json").is_file()


def is_video(path: str | Path) -> bool:
    """Whether a file is a pointmap video, or a folder holds some; what cannot be read does not."""
    path = Path(path)
    if path.is_dir():
        return any(path.glob(_VIDEOS))
    if path.suffix.lower() != ".npz":
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            return {"rgb.npy", "xyz.npy", "mask.npy"} <= set(archive.namelist())
    except (OSError, zipfile.BadZipFile):
        return False


def load_videos(path: str | Path) -> dict[str, PointmapVideo]:
    """The video in a file, or all that `kin4d imagine` or `kin4d robot` wrote into a folder."""
    path = Path(path)
    files = sorted(path.glob(_VIDEOS)) if path.is_dir() else [path]
    return {file.stem: PointmapVideo.load(file) for file in files}
