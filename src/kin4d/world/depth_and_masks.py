"""Depth and masks of a first image, read from files."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kin4d.files import existing_file, read_array
from kin4d.geometry.io.texture import decode_image
from kin4d.reading import reading


def read_depth(path: Path) -> np.ndarray:
    """[H, W] m."""
    path = existing_file(path)
    with reading(path, "depth image", hint="give a .npy in m, or a .png in mm"):
        if path.suffix == ".npy":
            return read_array(path, what="depth image").astype(np.float32)
        return np.asarray(decode_image(path.read_bytes(), name=str(path)), np.float32) / 1000


def read_labels(path: Path) -> np.ndarray:
    """[H, W] integers of a .npy, or of a .png with one channel or a palette."""
    path = existing_file(path)
    with reading(path, "masks", hint="give a .npy or .png of one id per pixel"):
        if path.suffix == ".npy":
            return read_array(path, what="masks")
        return np.asarray(decode_image(path.read_bytes(), name=str(path)))
