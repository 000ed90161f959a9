"""RLDS: episodes of Bridge V2 in TFRecord files, read without TensorFlow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from kin4d.episodes.formats.tfrecord import Feature, read_example, read_examples, record_offsets
from kin4d.episodes.recording import CameraStream, Recording
from kin4d.errors import InputError
from kin4d.geometry.io.texture import decode_stack
from kin4d.kinematics.actions import Actions
from kin4d.kinematics.conventions import matrix_to_rotation, rotation_to_matrix
from kin4d.reading import reading

BRIDGE_FPS = 5.0
_IMAGES = "steps/observation/image"
# Bridge writes rotations relative to a gripper that points straight down: its x axis (the
# direction of approach in the WidowX's gripper frame) along -z of the base.
_DOWN = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])


def read_bridge(path: str | Path) -> list[Recording]:
    """Episodes of Bridge V2 (WidowX 250) from an RLDS TFRecord file, 5 Hz.

    "state_pose" is the gripper's frame in the base frame, its x axis the direction of approach;
    "action_pose_delta" the commanded change in base axes, about the gripper's own origin.
    """
    return [_recording(i, example, path) for i, example in enumerate(read_examples(path))]


class RldsFiles:
    """The episodes of a TFRecord file, or of all of a folder."""

    def __init__(self, path: str | Path) -> None:
        path = Path(path)
        files = [path] if path.is_file() else sorted(path.glob("*.tfrecord*"))
        if not files:
            raise InputError(f"{path} holds no TFRecord files", allowed="*.tfrecord*")
        self._spans: list[tuple[Path, int, tuple[int, int] | InputError]] = []
        for file in files:
            try:
                for number, span in enumerate(record_offsets(file)):
                    self._spans.append((file, number, span))
            except InputError as error:
                if len(files) == 1 and not self._spans:
                    raise
                # The rest of a broken file counts as one episode that cannot be read.
                self._spans.append((file, -1, error))

    def __len__(self) -> int:
        return len(self._spans)

    def read(self, index: int) -> Recording:
        """Episode number `index`."""
        file, number, span = self._spans[index]
        if isinstance(span, InputError):
            raise span
        found = _recording(number, read_example(file, number, span), file)
        return replace(found, name=f"{index:06d}")


def _recording(number: int, example: Mapping[str, Feature], path: str | Path) -> Recording:
    with reading(path, "Bridge record", place=f"record {number}"):
        return _bridge(number, example, path)


def _bridge(number: int, example: Mapping[str, Feature], path: str | Path) -> Recording:
    state = _steps(example, "steps/observation/state", path)
    action = _steps(example, "steps/action", path)
    rotation = rotation_to_matrix(state[:, 3:6], "euler_xyz") @ _DOWN
    quaternion = matrix_to_rotation(rotation, "quaternion_wxyz")
    language = example.get("steps/language_instruction") or [b""]
    views = {}
    for key, images in example.items():
        if key.startswith(_IMAGES) and isinstance(images, list):
            read = partial(_images, images, f"'{key}' of record {number} of {path}")
            # Cameras that were not there have images of one colour.
            if np.ptp(_images(images[:1], f"'{key}' of {path}")[0]) > 0:
                views[key.rpartition("/")[2]] = CameraStream(read=read)
    return Recording(
        name=f"{number:06d}",
        motions={
            "state_pose": Actions(
                kind="pose",
                values=np.concatenate([state[:, :3], quaternion], 1),
                fps=BRIDGE_FPS,
                gripper=state[:, 6].clip(0.0, 1.0),
                rotation="quaternion_wxyz",
            ),
            "action_pose_delta": Actions(
                kind="pose_delta",
                values=action[:, :6],
                fps=BRIDGE_FPS,
                gripper=action[:, 6].clip(0.0, 1.0),
                rotation="euler_xyz",
            ),
        },
        views=dict(sorted(views.items())),
        language=bytes(language[0]).decode(errors="replace"),
        source="bridge",
        licence="CC-BY-4.0",
    )


def _images(images: list[bytes], where: str) -> tuple[np.ndarray, np.ndarray]:
    frames = decode_stack(images, name=where, rgb=True)
    return frames, np.arange(len(frames)) / BRIDGE_FPS


def _steps(example: Mapping[str, Any], key: str, path: str | Path) -> np.ndarray:
    """[T, 7] of a flattened feature."""
    values = example.get(key)
    if not isinstance(values, np.ndarray) or len(values) == 0 or len(values) % 7:
        raise InputError(
            f"{path} has no '{key}' of seven numbers a step", allowed="a Bridge record"
        )
    return values.reshape(-1, 7).astype(np.float64)
