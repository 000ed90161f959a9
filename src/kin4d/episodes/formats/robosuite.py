"""HDF5 files of LIBERO, robosuite and robomimic: demonstrations with images and joint states.

    data (attributes: problem_info or env_args)/demo_N (attribute: model_file)/
        actions [T, 7]   normalised change of the gripper's pose, and the gripper: -1 open, 1 closed
        obs/joint_states or robot0_joint_pos [T, 7], obs/gripper_states or robot0_gripper_qpos,
        obs/agentview_rgb or agentview_image [T, H, W, 3]

Each demonstration carries its MuJoCo model as text, which says where fixed cameras stand, so no
calibration is needed for them. Actions are changes in the base's axes, as robosuite's OSC_POSE
controller takes them, at 20 Hz unless the file says otherwise.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from kin4d.episodes.formats.hdf5 import Hdf5Group, open_hdf5
from kin4d.episodes.formats.robosuite_camera import fixed_cameras
from kin4d.episodes.recording import CameraStream, Recording
from kin4d.errors import InputError
from kin4d.files import existing_file
from kin4d.kinematics.actions import Actions
from kin4d.reading import parse_json, reading

_FPS = 20.0
_JOINTS = ("joint_states", "robot0_joint_pos")
_GRIPPER = ("gripper_states", "robot0_gripper_qpos")
_OPEN = 0.08  # m between the fingers of robosuite's Panda gripper when it is open
# What OSC_POSE makes of an action of 1, if the file does not say: metres and radians.
_OUTPUT_MAX = (0.05, 0.05, 0.05, 0.5, 0.5, 0.5)


class RobosuiteFile:
    """The demonstrations of one file, or of all of a folder."""

    def __init__(self, path: str | Path) -> None:
        path = Path(path)
        files = sorted(f for f in path.rglob("*") if f.suffix in (".hdf5", ".h5"))
        files = files if path.is_dir() else [existing_file(path)]
        self._demos: list[tuple[Path, str | InputError]] = []
        for file in files:
            try:
                self._demos += [(file, name) for name in _names(file)]
            except InputError as error:
                if len(files) == 1:
                    raise
                # A broken file counts as one episode that cannot be read.
                self._demos.append((file, error))
        if not self._demos:
            raise InputError(f"{path} holds no demonstrations", allowed="data/demo_N in HDF5")
        self._several = len(files) > 1

    def __len__(self) -> int:
        return len(self._demos)

    def read(self, index: int) -> Recording:
        """Demonstration number `index`."""
        file, name = self._demos[index]
        if isinstance(name, InputError):
            raise name
        with reading(file, "HDF5 file", place=name), open_hdf5(file) as data:
            return _recording(data, file, name, f"{file.stem}.{name}" if self._several else name)


def _names(path: Path) -> list[str]:
    with reading(path, "HDF5 file"), open_hdf5(path) as file:
        if "data" not in file.names():
            raise InputError(
                f"{path} has no group 'data'",
                value=file.names(),
                allowed="a LIBERO or robomimic file",
            )
        names = [name for name in file.group("data").names() if name.startswith("demo")]
    return sorted(names, key=lambda name: (len(name), name))


def _recording(file: Hdf5Group, path: Path, demo: str, name: str) -> Recording:
    top, group = file.group("data").attributes, file.group("data").group(demo)
    where = f"{demo} of {path}"
    if not {"obs", "actions"} <= set(group.names()):
        raise InputError(f"{where} has no 'obs' or no 'actions'", value=group.names())
    obs = group.group("obs")
    arguments = _json(top.get("env_args", "{}"))
    options = arguments.get("env_kwargs", {})
    fps = float(options.get("control_freq", _FPS))
    if not 0 < fps < np.inf:
        raise ValueError(f"control_freq is {fps}")
    joints = _first(obs, _JOINTS, where)
    fingers = _first(obs, _GRIPPER, where)
    state = Actions(
        kind="joint",
        values=joints,
        fps=fps,
        gripper=(np.abs(fingers).sum(1) / _OPEN).clip(0.0, 1.0),
        names=tuple(f"panda_joint{i + 1}" for i in range(joints.shape[1])),
    )
    problem = _json(top.get("problem_info", "{}"))
    language = problem.get("language_instruction", "")
    rewards = group.array("rewards") if "rewards" in group.names() else np.zeros(0)
    cameras = fixed_cameras(str(group.attributes.get("model_file", "")))
    upside_down = str(top.get("macros_image_convention", "opengl")) == "opengl"
    views = {}
    for key, shape in obs.shapes().items():
        if len(shape) == 4 and shape[-1] == 3:
            camera = key.removesuffix("_rgb").removesuffix("_image")
            read = partial(_images, path, f"data/{demo}/obs/{key}", fps, upside_down)
            make_camera = cameras.get(camera)
            views[camera] = CameraStream(
                read=read, camera=make_camera and make_camera(*shape[2:0:-1])
            )
    return Recording(
        name=name,
        motions={"state_joint": state, "action_pose_delta": _commands(group, arguments, fps)},
        # The fixed view first: an eye in the hand sees little of the arm.
        views=dict(sorted(views.items(), key=lambda item: "eye_in_hand" in item[0])),
        language="".join(map(str, language)),
        task=str(problem.get("problem_name", arguments.get("env_name", ""))),
        success=bool(rewards.max() > 0) if len(rewards) else None,
        robot="panda",
        source="libero" if "problem_info" in top else "robosuite",
        licence="MIT",
        leads=True,
    )


def _commands(group: Hdf5Group, arguments: dict[str, Any], fps: float) -> Actions:
    values = np.asarray(group.array("actions"), np.float64)
    if values.ndim != 2 or values.shape[1] != 7:
        raise InputError("actions are [T, 7]: OSC_POSE and gripper", value=values.shape)
    controller = arguments.get("env_kwargs", {}).get("controller_configs", {})
    reach = (
        controller.get("output_max", _OUTPUT_MAX) if isinstance(controller, dict) else _OUTPUT_MAX
    )
    return Actions(
        kind="pose_delta",
        values=values[:, :6].clip(-1.0, 1.0) * np.asarray(reach, np.float64),
        fps=fps,
        gripper=((1.0 - values[:, 6]) / 2).clip(0.0, 1.0),
        rotation="rotvec",
    )


def _images(path: Path, key: str, fps: float, upside_down: bool) -> tuple[np.ndarray, np.ndarray]:
    with reading(path, "HDF5 file", place=key), open_hdf5(path) as file:
        *groups, name = key.split("/")
        for group in groups:
            file = file.group(group)
        frames = file.array(name)
        if frames.dtype != np.uint8:
            raise ValueError(f"its images are {frames.dtype}")
    # robosuite writes the bottom row first, as OpenGL does.
    frames = frames[:, ::-1] if upside_down else frames
    return np.ascontiguousarray(frames), np.arange(len(frames)) / fps


def _first(obs: Hdf5Group, names: tuple[str, ...], where: str) -> np.ndarray:
    for name in names:
        if name in obs.names():
            values = np.asarray(obs.array(name), np.float64)
            if values.ndim != 2:
                raise ValueError(f"'{name}' has the shape {values.shape}")
            return values
    raise InputError(f"{where} has no {' or '.join(names)}", value=obs.names())


def _json(text: Any) -> dict[str, Any]:
    try:
        found = parse_json(str(text))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
