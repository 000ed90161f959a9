"""PointmapVideo: what a camera sees over time, as colour and metric geometry together."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kin4d.errors import InputError
from kin4d.files import atomic_path, read_arrays
from kin4d.geometry.camera import Camera
from kin4d.reading import parse_json, reading

_FORMAT = "kin4d.pointmap/1"


@dataclass(frozen=True, eq=False, kw_only=True)
class PointmapVideo:
    """RGB, XYZ and body ids of every pixel and frame, from one fixed camera.

    Attributes:
        rgb: [T, H, W, 3] uint8.
        xyz: [T, H, W, 3] float32 metres in the camera frame (OpenCV); NaN where nothing is seen.
        mask: [T, H, W] uint8: 0 for background, then one id per body.
        camera: The camera; its size is (W, H).
        fps: Frames per second.
        names: Name of each mask id, starting with id 1.
    """

    rgb: np.ndarray
    xyz: np.ndarray
    mask: np.ndarray
    camera: Camera
    fps: float
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        size = (self.camera.height, self.camera.width)
        for name, dtype, tail in (
            ("rgb", np.uint8, (*size, 3)),
            ("xyz", np.float32, (*size, 3)),
            ("mask", np.uint8, size),
        ):
            value = getattr(self, name)
            if value.dtype != dtype or value.shape != (len(self.rgb), *tail):
                raise InputError(
                    f"pointmap video '{name}' has the wrong shape or type",
                    value=(value.shape, str(value.dtype)),
                    allowed=f"{(len(self.rgb), *tail)} {np.dtype(dtype)}",
                )
        if not (np.isfinite(self.fps) and self.fps > 0):
            raise InputError("pointmap video fps must be positive", value=self.fps)

    def __len__(self) -> int:
        return len(self.rgb)

    def save(self, path: str | Path) -> Path:
        """Write one compressed ``.npz``: float XYZ, never 8-bit, with its camera."""
        meta = {
            "format": _FORMAT,
            "camera": self.camera.to_dict(),
            "fps": self.fps,
            "names": list(self.names),
        }
        with atomic_path(path) as temporary, temporary.open("wb") as file:
            np.savez_compressed(
                file, rgb=self.rgb, xyz=self.xyz, mask=self.mask, meta=np.array(json.dumps(meta))
            )
        return Path(path)

    @classmethod
    def load(cls, path: str | Path) -> PointmapVideo:
        """Read what `save` wrote."""
        data = read_arrays(path, what="pointmap video")
        with reading(path, "pointmap video"):
            arrays = {name: data[name] for name in ("rgb", "xyz", "mask")}
            meta = parse_json(str(data["meta"]))
            if meta["format"] != _FORMAT:
                raise InputError(
                    f"{path} has another format", value=meta["format"], allowed=_FORMAT
                )
            camera, fps = Camera.from_dict(meta["camera"]), float(meta["fps"])
            names = tuple(map(str, meta["names"]))
            return cls(**arrays, camera=camera, fps=fps, names=names)
