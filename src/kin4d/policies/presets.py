"""Presets: the keys, units and rates of policy servers, and how they map to ours.

- `kin4d`: our own observation, see `kin4d.policies.policy`; what `kin4d serve-policy` speaks.
- `droid`: openpi's DROID policies. Joint velocities at 15 Hz; 1 is 0.2 rad per action.
- `libero`: openpi's LIBERO policies. End-effector deltas at 20 Hz; 1 is 0.05 m or 0.5 rad.
- `roboarena`: what a RoboArena server asks for in its metadata; never chosen by hand.

There is no wrist camera in our scenes: its image is sent black.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kin4d.errors import InputError
from kin4d.policies.policy import CONTROLS, PolicyError
from kin4d.tasks.trajectory import RATE

_SIDE = 224  # px of the images of openpi's policies
_DROID_FPS, _DROID_EXECUTED, _DROID_RADIANS = 15.0, 8, 0.2
_ROBOARENA = {"image_resolution", "needs_wrist_camera", "n_external_cameras", "action_space"}
_FINGER = 0.04  # m that a finger of LIBERO's gripper moves
_ARM_JOINTS = 7


@dataclass(frozen=True, eq=False)
class ActionContext:
    """What is needed to convert actions: `joints` [n] rad, at the observation."""

    joints: np.ndarray

    @classmethod
    def of_observation(cls, observation: Mapping[str, Any]) -> ActionContext:
        """Of the observation that was sent."""
        return cls(np.asarray(observation["observation/joint_position"], np.float64))


@dataclass(frozen=True, eq=False, kw_only=True)
class Preset:
    """How to talk to a kind of server.

    Attributes:
        name: "droid".
        control: What the converted actions are; one of `CONTROLS`.
        request: From our observation to the server's.
        actions: From the server's actions [H, D] to ours.
        reset_message: Sent before an episode; None if the protocol has none.
    """

    name: str
    control: str
    request: Callable[[Mapping[str, Any]], dict[str, Any]]
    actions: Callable[[np.ndarray, ActionContext], np.ndarray]
    reset_message: Mapping[str, Any] | None = None


def resize_with_padding(image: np.ndarray, height: int, width: int) -> np.ndarray:
    """[height, width, 3] uint8: an image scaled to fit, black around it."""
    from PIL import Image

    scale = min(height / image.shape[0], width / image.shape[1])
    size = (max(1, int(image.shape[1] * scale)), max(1, int(image.shape[0] * scale)))
    scaled = np.asarray(Image.fromarray(image).resize(size, Image.Resampling.BILINEAR))
    padded = np.zeros((height, width, 3), np.uint8)
    top, left = (height - size[1]) // 2, (width - size[0]) // 2
    padded[top : top + size[1], left : left + size[0]] = scaled
    return padded


def _droid_request(observation: Mapping[str, Any]) -> dict[str, Any]:
    image = resize_with_padding(observation["observation/image"], _SIDE, _SIDE)
    return {
        "observation/exterior_image_1_left": image,
        "observation/wrist_image_left": np.zeros_like(image),
        "prompt": observation["prompt"],
        **_droid_state(observation),
    }


def _droid_state(observation: Mapping[str, Any]) -> dict[str, np.ndarray]:
    joints = np.asarray(observation["observation/joint_position"], np.float64)
    if len(joints) != _ARM_JOINTS:
        raise InputError(
            "this policy is for an arm with seven joints",
            value=len(joints),
            hint="choose another arm: --arm panda",
        )
    opening = np.asarray(observation["observation/gripper_position"], np.float64)
    return {
        "observation/joint_position": joints,
        "observation/gripper_position": 1 - opening,  # DROID: 0 open, 1 closed
    }


def _droid_actions(actions: np.ndarray, context: ActionContext) -> np.ndarray:
    """Joint velocities as shares of the largest, and the gripper's position."""
    _check_width(actions, _ARM_JOINTS + 1)
    chosen = actions[:_DROID_EXECUTED].copy()
    chosen[:, :-1] = chosen[:, :-1].clip(-1, 1) * _DROID_RADIANS * _DROID_FPS
    chosen[:, -1] = chosen[:, -1] <= 0.5
    return _at_our_rate(chosen, _DROID_FPS)


def _libero_request(observation: Mapping[str, Any]) -> dict[str, Any]:
    # LIBERO's images are upside down, and its policies are trained on them turned by 180 degrees:
    # upright and mirrored.
    image = np.ascontiguousarray(observation["observation/image"][:, ::-1])
    image = resize_with_padding(image, _SIDE, _SIDE)
    opening = float(np.asarray(observation["observation/gripper_position"])[0])
    pose = np.asarray(observation["observation/eef_pose"], np.float64)
    return {
        "observation/image": image,
        "observation/wrist_image": np.zeros_like(image),
        "observation/state": np.array([*pose, _FINGER * opening, -_FINGER * opening]),
        "prompt": observation["prompt"],
    }


def _libero_actions(actions: np.ndarray, context: ActionContext) -> np.ndarray:
    """Pose deltas as shares of the largest; the gripper is -1 open, 1 closed."""
    _check_width(actions, 7)
    scaled = actions * np.array([0.05] * 3 + [0.5] * 3 + [1.0])
    scaled[:, 6] = ((1 - actions[:, 6]) / 2).clip(0, 1)
    return scaled[:5]


def _roboarena(metadata: Mapping[str, Any]) -> Preset:
    """What a RoboArena server asks for."""
    space = metadata["action_space"]
    if space not in ("joint_position", "joint_velocity"):
        raise InputError(
            "action space of a RoboArena server",
            value=space,
            allowed="joint_position, joint_velocity",
        )
    if metadata.get("needs_stereo_camera") or metadata["n_external_cameras"] > 1:
        raise InputError(
            "this RoboArena server needs more cameras than the scenes have",
            value=metadata["n_external_cameras"],
            allowed="one external camera, without stereo",
        )

    def request(observation: Mapping[str, Any]) -> dict[str, Any]:
        image, size = observation["observation/image"], metadata["image_resolution"]
        image = image if size is None else resize_with_padding(image, *size)
        position = observation["observation/eef_pose"]
        message = {
            "endpoint": "infer",
            "prompt": observation["prompt"],
            "observation/cartesian_position": np.asarray(position, np.float64),
            **_droid_state(observation),
        }
        if metadata["n_external_cameras"]:
            message["observation/exterior_image_0_left"] = image
        if metadata["needs_wrist_camera"]:
            message["observation/wrist_image_left"] = np.zeros_like(image)
        if metadata.get("needs_session_id"):
            message["session_id"] = _session(observation)
        return message

    def actions(values: np.ndarray, context: ActionContext) -> np.ndarray:
        _check_width(values, _ARM_JOINTS + 1)
        chosen = values.copy()
        if space == "joint_position":
            before = np.concatenate([context.joints[None], values[:-1, :-1]])
            chosen[:, :-1] = (values[:, :-1] - before) * _DROID_FPS
        else:
            chosen[:, :-1] = values[:, :-1].clip(-1, 1) * _DROID_RADIANS * _DROID_FPS
        chosen[:, -1] = values[:, -1] <= 0.5
        return _at_our_rate(chosen, _DROID_FPS)

    return Preset(
        name="roboarena",
        control="joint_velocity",
        request=request,
        actions=actions,
        reset_message={"endpoint": "reset"},
    )


def _session(observation: Mapping[str, Any]) -> str:
    return "{}-{}".format(observation["episode/task"], observation["episode/seed"])


def _at_our_rate(actions: np.ndarray, fps: float) -> np.ndarray:
    """Velocities [H, D] held over the same time, at `RATE`."""
    count = max(1, round(len(actions) * RATE / fps))
    rows = ((np.arange(count) + 0.5) / RATE * fps).astype(int)
    return actions[rows.clip(max=len(actions) - 1)]


def _check_width(actions: np.ndarray, width: int) -> None:
    if actions.ndim != 2 or actions.shape[1] != width or not len(actions):
        raise PolicyError(
            "shape",
            "the policy's actions have the wrong shape",
            value=actions.shape,
            allowed=f"[H >= 1, {width}]",
        )


PRESETS = {
    "kin4d": Preset(
        name="kin4d", control=CONTROLS[0], request=dict, actions=lambda actions, context: actions
    ),
    "droid": Preset(
        name="droid", control="joint_velocity", request=_droid_request, actions=_droid_actions
    ),
    "libero": Preset(
        name="libero", control="pose_delta", request=_libero_request, actions=_libero_actions
    ),
}
"""Presets that can be chosen by name."""


def choose_preset(name: str | None, metadata: Mapping[str, Any]) -> Preset:
    """The preset of a server: by name, else by its metadata."""
    if name is None and set(metadata) >= _ROBOARENA:
        return _roboarena(metadata)
    chosen = metadata.get("preset") if name is None else name
    if chosen not in PRESETS:
        raise InputError(
            "the server does not say which observations it needs"
            if name is None
            else "there is no such preset",
            value=name,
            allowed=", ".join(PRESETS),
            hint="name one with --preset",
        )
    preset = PRESETS[chosen]
    if name is None and metadata.get("control") in CONTROLS:
        return replace(preset, control=metadata["control"])
    return preset
