"""DROID: episodes as annotation/N.json with videos/N/{0,1,2}.mp4, as Ctrl-World keeps them."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from kin4d.episodes.recording import CameraStream, Recording
from kin4d.errors import InputError
from kin4d.export.video import read_frames
from kin4d.files import read_json
from kin4d.kinematics.actions import Actions
from kin4d.reading import reading

DROID_FPS = 15.0


def read_droid(path: str | Path) -> Recording:
    """An episode of DROID (Franka Panda, Robotiq 2F-85) from its annotation JSON, 15 Hz.

    Joints are panda_joint1 to 7. Poses are of the flange "panda_link8" in the base frame, with
    extrinsic xyz Euler angles: forward kinematics of the recorded joints gives them back exactly.
    Views are the videos in ../videos/N, if they are there; DROID's calibration is not with them.
    """
    path = Path(path)
    data = read_json(path)
    with reading(path, "DROID annotation"):
        return _recording(path, data)


def _recording(path: Path, data: Any) -> Recording:
    if not isinstance(data, dict):
        raise InputError(f"{path} is not a DROID annotation", allowed="a JSON object")
    motions = {}
    for source, key in (("state", "observation.state"), ("action", "action")):
        # DROID counts closing: 0 is open, 1 is closed.
        gripper = 1.0 - _field(data, f"{key}.gripper_position", path).reshape(-1).clip(0.0, 1.0)
        motions[f"{source}_joint"] = Actions(
            kind="joint",
            values=_field(data, f"{key}.joint_position", path),
            fps=DROID_FPS,
            gripper=gripper,
            names=tuple(f"panda_joint{i}" for i in range(1, 8)),
            link="panda_link8",
        )
        motions[f"{source}_pose"] = Actions(
            kind="pose",
            values=_field(data, f"{key}.cartesian_position", path),
            fps=DROID_FPS,
            gripper=gripper,
            rotation="euler_xyz",
            link="panda_link8",
        )
    success = data.get("success")
    name = str(data.get("episode_id", path.stem))
    videos = sorted((path.parent.parent / "videos" / path.stem).glob("*.mp4"))
    return Recording(
        name=name,
        motions=motions,
        views={video.stem: CameraStream(read=partial(read_frames, video)) for video in videos},
        language=str(next(iter(data.get("texts") or ()), "")),
        success=None if success is None else bool(success),
        robot="panda",
        source="droid",
        licence="CC-BY-4.0",
    )


class DroidFolder:
    """The annotations of a folder, in order."""

    def __init__(self, path: str | Path) -> None:
        path = Path(path)
        if path.is_file():
            self._files = [path]
        else:
            inner = path / "annotation"
            files = (inner if inner.is_dir() else path).glob("*.json")
            self._files = sorted(files, key=lambda file: (len(file.stem), file.stem))
        if not self._files:
            raise InputError(f"{path} holds no DROID annotations", allowed="annotation/N.json")

    def __len__(self) -> int:
        return len(self._files)

    def read(self, index: int) -> Recording:
        """Episode number `index`."""
        return read_droid(self._files[index])


def _field(data: dict, key: str, path: Path) -> np.ndarray:
    if key not in data:
        raise InputError(f"{path} has no '{key}'", allowed="a DROID annotation")
    try:
        return np.array(data[key], np.float64)
    except (TypeError, ValueError):
        raise InputError(f"'{key}' in {path} is not an array of numbers") from None
