"""Recordings of real robots: DROID annotations and Bridge records, as actions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kin4d.data.actions import read_actions
from kin4d.errors import InputError
from kin4d.files import read_json
from kin4d.motion.actions import Actions
from kin4d.motion.conventions import matrix_to_rotation, rotation_to_matrix

DROID_FPS = 15.0
BRIDGE_FPS = 5.0
# Bridge writes rotations relative to a gripper that points straight down: its x axis (the
# direction of approach in the WidowX's gripper frame) along -z of the base.
_BRIDGE_DOWN = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])


@dataclass(frozen=True, eq=False, kw_only=True)
class Recording:
    """One episode of a real robot.

    Attributes:
        name: Which one it is in its source.
        motions: Measured and commanded motions by name, all of the same length: "state_joint",
            "state_pose", "action_joint", "action_pose" or "action_pose_delta".
        language: What the robot was asked to do; empty if unknown.
        success: Whether it did, or None if unknown.
    """

    name: str
    motions: Mapping[str, Actions]
    language: str = ""
    success: bool | None = None


def read_motion(
    path: str | Path, *, motion: str = "state_joint", episode: int = 0, **options: Any
) -> Actions:
    """One motion from any file: a table of actions, or a recording (.json, .tfrecord).

    Args:
        path: The file.
        motion: Which motion of a recording.
        episode: Which recording of a file that holds several.
        options: For tables; see `read_actions`.
    """
    path = Path(path)
    if path.suffix.lower() != ".json" and ".tfrecord" not in path.name:
        return read_actions(path, **options)
    recordings = [read_droid(path)] if path.suffix.lower() == ".json" else read_bridge(path)
    if not recordings:
        raise InputError(f"{path} holds no episode")
    if not 0 <= episode < len(recordings):
        raise InputError(
            f"{path} has no such episode", value=episode, allowed=f"0 to {len(recordings) - 1}"
        )
    motions = recordings[episode].motions
    if motion not in motions:
        raise InputError(f"{path} has no such motion", value=motion, allowed=", ".join(motions))
    return motions[motion]


def read_droid(path: str | Path) -> Recording:
    """An episode of DROID (Franka Panda, Robotiq 2F-85) from its annotation JSON, 15 Hz.

    Joints are panda_joint1 to 7. Poses are of the flange "panda_link8" in the base frame, with
    extrinsic xyz Euler angles: forward kinematics of the recorded joints gives them back exactly.
    """
    data = read_json(path)
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
    return Recording(
        name=str(data.get("episode_id", Path(path).stem)),
        motions=motions,
        language=next(iter(data.get("texts") or ()), ""),
        success=None if success is None else bool(success),
    )


def read_bridge(path: str | Path) -> list[Recording]:
    """Episodes of Bridge V2 (WidowX 250) from an RLDS TFRecord file, 5 Hz.

    "state_pose" is the gripper's frame in the base frame, its x axis the direction of approach;
    "action_pose_delta" the commanded change in base axes, about the gripper's own origin.
    """
    from kin4d.data.episodes.tfrecord import read_examples

    recordings = []
    for i, example in enumerate(read_examples(path)):
        state = _steps(example, "steps/observation/state", path)
        action = _steps(example, "steps/action", path)
        rotation = rotation_to_matrix(state[:, 3:6], "euler_xyz") @ _BRIDGE_DOWN
        quaternion = matrix_to_rotation(rotation, "quaternion_wxyz")
        language = example.get("steps/language_instruction") or [b""]
        recordings.append(
            Recording(
                name=str(i),
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
                language=bytes(language[0]).decode(errors="replace"),
            )
        )
    return recordings


def _field(data: dict, key: str, path: str | Path) -> np.ndarray:
    if key not in data:
        raise InputError(f"{path} has no '{key}'", allowed="a DROID annotation")
    try:
        return np.array(data[key], np.float64)
    except (TypeError, ValueError):
        raise InputError(f"'{key}' in {path} is not an array of numbers") from None


def _steps(example: Mapping[str, object], key: str, path: str | Path) -> np.ndarray:
    """[T, 7] of a flattened feature."""
    values = example.get(key)
    if not isinstance(values, np.ndarray) or len(values) == 0 or len(values) % 7:
        raise InputError(
            f"{path} has no '{key}' of seven numbers a step", allowed="a Bridge record"
        )
    return values.reshape(-1, 7).astype(np.float64)
