"""How a scene file drives a robot: keyframes or recorded actions to a prescribed motion."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from scipy.interpolate import PchipInterpolator
from scipy.spatial.transform import Rotation, Slerp

from kin4d.bodies.articulated import ArticulatedBody
from kin4d.bodies.body import Body
from kin4d.bodies.capabilities import EndEffector
from kin4d.dynamics.motion import PrescribedMotion
from kin4d.errors import InputError
from kin4d.kinematics.control import actions_to_q, link_poses
from kin4d.kinematics.grippers import gripper_coordinates, gripper_opening
from kin4d.kinematics.ik import solve_ik, track_poses
from kin4d.scenes.schema import KeyframeSpec, MotionSpec

_FPS = 60.0
_ROTATION_TOLERANCE = 0.02  # rad


def build_motion(
    spec: MotionSpec, body: Body, start: np.ndarray, folder: Path, *, name: str
) -> PrescribedMotion:
    """The motion of a body that is at `start` [k] before; actions lie in `folder`."""
    if (spec.actions is None) == (not spec.keyframes):
        raise InputError(
            f"the motion of '{name}' is keyframes or actions",
            allowed="exactly one of keyframes and actions",
        )
    if spec.actions is not None:
        q, fps = _from_actions(spec, body, start, folder, name)
    else:
        q, fps = _from_keyframes(spec, body, start, name), _FPS
    low, high = body.limits.numpy().T
    beyond = np.argwhere((q < low - 1e-6) | (q > high + 1e-6))
    if len(beyond):
        row, column = beyond[0]
        raise InputError(
            f"the motion of '{name}' takes '{body.coordinates[column]}' beyond its limits "
            f"at {row / fps:.3g} s",
            value=float(q[row, column]),
            allowed=f"{low[column]:g} to {high[column]:g}",
        )
    return PrescribedMotion(q, fps=fps, max_force=spec.max_force)


def _from_actions(
    spec: MotionSpec, body: Body, start: np.ndarray, folder: Path, name: str
) -> tuple[np.ndarray, float]:
    from kin4d.episodes.formats.action_files import read_actions
    from kin4d.scenes.build import scene_path

    options: dict[str, Any] = {} if spec.fps is None else {"fps": spec.fps}
    actions = read_actions(scene_path(folder, str(spec.actions)), **options)
    q, result = actions_to_q(actions, _robot(body, name), q_start=start)
    if result is not None:
        missed = float(result.position_error.max())
        if missed > spec.tolerance:
            raise InputError(
                f"the actions of '{name}' lead out of reach: {result}",
                value=missed,
                allowed=f"within {spec.tolerance:g} m, or a larger tolerance",
            )
    # Row t leads to the state at (t + 1) / fps.
    return np.concatenate([start[None], q.numpy()]), actions.fps


def _from_keyframes(spec: MotionSpec, body: Body, start: np.ndarray, name: str) -> np.ndarray:
    """[T, k]: rest before the first keyframe, then from each to the next."""
    keys = spec.keyframes
    times = np.array([key.time for key in keys])
    if (np.diff(times) <= 0).any():
        raise InputError(f"the keyframes of '{name}' are not in order of time", value=list(times))
    frames = np.arange(int(np.ceil(times[-1] * _FPS)) + 1) / _FPS
    by_pose = any(key.position is not None or key.rotation is not None for key in keys)
    if by_pose and any(key.q for key in keys):
        raise InputError(
            f"the keyframes of '{name}' mix coordinates and poses",
            allowed="q in all of them, or position and rotation in all of them",
        )
    if by_pose:
        q = _track(spec, _robot(body, name), start, frames, name)
    else:
        rows, now = [], start.copy()
        for key in keys:
            for coordinate, value in key.q.items():
                if coordinate not in body.coordinates:
                    raise InputError(
                        f"'{name}' has no coordinate '{coordinate}'",
                        allowed=", ".join(body.coordinates),
                    )
                now[body.coordinates.index(coordinate)] = value
            rows.append(now.copy())
        # A first keyframe after the start is the end of the way from there.
        first = [start] if times[0] > 0 else []
        q = _smooth(np.array([0.0] * len(first) + [*times]), np.array(first + rows), frames)
    return _with_gripper(q, keys, body, start, frames, name)


def _track(
    spec: MotionSpec, body: ArticulatedBody, start: np.ndarray, frames: np.ndarray, name: str
) -> np.ndarray:
    """Coordinates whose end effector goes straight from pose to pose."""
    assert isinstance(body, EndEffector)
    keys, link = spec.keyframes, body.end_effector
    pose = link_poses(body, torch.from_numpy(start), link)
    times, poses = [], []
    if keys[0].time > 0 or keys[0].position is None or keys[0].rotation is None:
        times, poses = [0.0], [pose.copy()]
    for key in keys:
        if key.position is not None:
            pose[:3, 3] = key.position
        if key.rotation is not None:
            pose[:3, :3] = Rotation.from_euler("xyz", key.rotation, degrees=True).as_matrix()
        if times and times[-1] == key.time:
            times, poses = times[:-1], poses[:-1]
        times.append(key.time)
        poses.append(pose.copy())
    known, path = np.array(poses), np.tile(np.eye(4), (len(frames), 1, 1))
    path[:, :3, 3] = _smooth(np.array(times), known[:, :3, 3], frames)
    if len(times) > 1:
        turned = Slerp(np.arange(len(times)), Rotation.from_matrix(known[:, :3, :3]))
        phase = _smooth(np.array(times), np.arange(len(times))[:, None].astype(float), frames)
        path[:, :3, :3] = turned(phase[:, 0]).as_matrix()
    else:
        path[:, :3, :3] = known[0, :3, :3]
    first = solve_ik(body, path[0], q_start=start)
    result = track_poses(body, path, q_start=first.q)
    off = result.position_error.numpy() > spec.tolerance
    off |= result.rotation_error.numpy() > _ROTATION_TOLERANCE
    if off.any():
        row = int(off.argmax())
        raise InputError(
            f"'{name}' cannot follow its keyframes: at {frames[row]:.3g} s it misses the pose by "
            f"{result.position_error[row]:.3g} m and "
            f"{result.rotation_error[row].rad2deg():.3g} degrees",
            value=path[row, :3, 3].round(4).tolist(),
            allowed=f"poses within reach of '{link}'",
            hint="move the keyframe or the robot, or go round the other way",
        )
    return result.q.numpy().copy()


def _with_gripper(
    q: np.ndarray,
    keys: Sequence[KeyframeSpec],
    body: Body,
    start: np.ndarray,
    frames: np.ndarray,
    name: str,
) -> np.ndarray:
    given = [(key.time, key.gripper) for key in keys if key.gripper is not None]
    if not given:
        return q
    robot = _robot(body, name)
    now = gripper_opening(robot, start[None])
    if now is not None and given[0][0] > 0:
        given.insert(0, (0.0, float(np.clip(now[0], 0, 1))))
    # It stays as it was at keyframes that do not mention it, and moves before those that do.
    times, values, last = [], [], given[0][1]
    openings = dict(given)
    for time in sorted({0.0, *(key.time for key in keys)}):
        last = openings.get(time, last)
        times.append(time)
        values.append(last)
    opening = _smooth(np.array(times), np.array(values)[:, None], frames)[:, 0]
    columns, fingers = gripper_coordinates(robot, opening, link=None, unit="fraction")
    q[:, columns] = fingers.numpy()
    return q


def _smooth(times: np.ndarray, values: np.ndarray, at: np.ndarray) -> np.ndarray:
    """[T, n] through the values [N, n]: at rest at both ends and where it turns back or waits,
    and nowhere beyond two neighbouring values."""
    # A value that repeats has no slope: so do the ends, with themselves as neighbours.
    padded = np.concatenate([times[:1] - 1.0, times, times[-1:] + 1.0])
    through = PchipInterpolator(padded, np.concatenate([values[:1], values, values[-1:]]))
    return through(np.clip(at, times[0], times[-1]))


def _robot(body: Body, name: str) -> ArticulatedBody:
    if not isinstance(body, EndEffector):
        raise InputError(
            f"'{name}' is not a robot: only coordinates (q) can be given for it",
            allowed="a robot with an end effector",
        )
    return cast(ArticulatedBody, body)
