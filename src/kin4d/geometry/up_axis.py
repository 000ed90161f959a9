"""Which axis points up: z inside kin4d; mesh files differ and are converted where they are read."""

from __future__ import annotations

from typing import Literal

import numpy as np

from kin4d.errors import InputError

UpAxis = Literal["y", "z"]
DEFAULT_UP: UpAxis = "y"
"""Of mesh files: glTF's by specification, and the usual one of OBJ, PLY, STL and OFF, which do not
state theirs. COLLADA does. Link meshes of robots are read with z up."""


def to_z_up(vectors: np.ndarray, up: str) -> np.ndarray:
    """Vectors [..., 3] of a file whose axis `up` points up, turned so that z does."""
    if up not in ("y", "z"):
        raise InputError("unknown up axis", value=up, allowed="'y' or 'z'")
    if up == "z":
        return vectors
    x, y, z = np.moveaxis(np.asarray(vectors), -1, 0)
    return np.stack([x, 0 - z, y], axis=-1)


def from_z_up(vectors: np.ndarray, up: str) -> np.ndarray:
    """Vectors [..., 3] with z up, turned so that the axis `up` points up: undoes `to_z_up`."""
    if up == "z":
        return vectors
    x, y, z = np.moveaxis(np.asarray(vectors), -1, 0)
    return np.stack([x, z, 0 - y], axis=-1)
