"""From actions to coordinates of a robot, and back."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from kin4d.bodies.articulated import ArticulatedBody
from kin4d.bodies.body import check_coordinates
from kin4d.errors import InputError
from kin4d.kinematics.actions import KINDS, Actions, differentiate, integrate
from kin4d.kinematics.chain import chain_to, link_or_default
from kin4d.kinematics.conventions import poses_to_values, values_to_poses
from kin4d.kinematics.grippers import gripper_coordinates
from kin4d.kinematics.ik import IkResult, track_poses


def actions_to_q(
    actions: Actions,
    body: ArticulatedBody,
    *,
    link: str | None = None,
    q_start: Tensor | np.ndarray | None = None,
    posture: Tensor | np.ndarray | None = None,
    max_step: float = 1.0,
) -> tuple[Tensor, IkResult | None]:
    """Coordinates [T, k] that follow `actions`, and for poses the errors that are left.

    Joint values are used as given; deltas are summed from the start; poses out of reach are
    reported in the `IkResult` frame by frame.

    Args:
        actions: T actions.
        body: The robot.
        link: The link that poses describe; default: the actions' own, else the end effector.
        q_start: [k] state before the first action. Joints without a command keep these values.
            Default: q0; for absolute poses the first frame is then solved from random starts.
        posture: [k] preferred coordinates for poses; see `track_poses`.
        max_step: The most a joint may move per frame for poses, rad or m; see `track_poses`.
    """
    link = link or actions.link
    start = body.q0 if q_start is None else check_coordinates(body, q_start).to(torch.float64)
    if start.ndim != 1:
        raise InputError("q_start is one configuration", value=tuple(start.shape))
    result = None
    if actions.is_pose:
        link = link_or_default(body, link)
        poses = values_to_poses(actions.values, actions.rotation)
        if actions.is_delta:
            first = np.linalg.inv(body.root) @ link_poses(body, start, link)
            poses = integrate(poses, first, frame=actions.frame)
        cold = q_start is None and not actions.is_delta
        result = track_poses(
            body,
            body.root @ poses,
            link=link,
            q_start=None if cold else start,
            posture=posture,
            max_step=max_step,
        )
        q = result.q.clone()
    else:
        columns = _joint_columns(actions, body, link)
        values = torch.from_numpy(actions.values)
        q = start.repeat(len(actions), 1)
        q[:, columns] = start[columns] + values.cumsum(0) if actions.is_delta else values
    if actions.gripper is not None:
        columns, values = gripper_coordinates(
            body, actions.gripper, link=link, unit=actions.gripper_unit
        )
        q[:, columns] = values
    return q, result


def q_to_actions(
    q: Tensor | np.ndarray,
    body: ArticulatedBody,
    *,
    kind: str,
    fps: float,
    link: str | None = None,
    rotation: str = "rotvec",
    frame: str = "base",
    q_start: Tensor | np.ndarray | None = None,
) -> Actions:
    """The actions of a kind that lead through coordinates q [T, k] of `body`.

    Args:
        q: [T, k] coordinates.
        body: The robot.
        kind: See `Actions`; joint kinds take all of the body's coordinates.
        fps: Frames per second of q.
        link: The link that poses describe; default: the end effector.
        rotation: Convention of pose values.
        frame: Axes of pose deltas.
        q_start: [k] state before the first action; default: the first row, a first delta of zero.
    """
    if kind not in KINDS:
        raise InputError("unknown kind of actions", value=kind, allowed=", ".join(KINDS))
    q = check_coordinates(body, q).to(torch.float64)
    start = q[0] if q_start is None else check_coordinates(body, q_start).to(torch.float64)
    if kind == "joint":
        return Actions(kind=kind, values=q.numpy(), fps=fps, names=body.coordinates)
    if kind == "joint_delta":
        deltas = torch.cat([start[None], q]).diff(dim=0).numpy()
        return Actions(kind=kind, values=deltas, fps=fps, names=body.coordinates)
    link = link_or_default(body, link)
    inverse = np.linalg.inv(body.root)
    poses = inverse @ link_poses(body, q, link)
    if kind == "pose_delta":
        poses = differentiate(poses, inverse @ link_poses(body, start, link), frame=frame)
    values = poses_to_values(poses, rotation)
    return Actions(kind=kind, values=values, fps=fps, rotation=rotation, frame=frame, link=link)


def link_poses(body: ArticulatedBody, q: Tensor, link: str) -> np.ndarray:
    """World poses [..., 4, 4] of one link at q [..., k]."""
    with torch.no_grad():
        return body.link_poses(q)[..., body.link_index(link), :, :].numpy()


def _joint_columns(actions: Actions, body: ArticulatedBody, link: str | None) -> list[int]:
    """Which coordinate each column of joint actions commands."""
    names, width = body.coordinates, actions.values.shape[1]
    if actions.names is not None:
        unknown = [name for name in actions.names if name not in names]
        if unknown:
            raise InputError(
                f"actions command joint '{unknown[0]}', which '{body.name}' does not have",
                allowed=", ".join(names),
            )
        return [names.index(name) for name in actions.names]
    if width == len(names):
        return list(range(width))
    arm = chain_to(body, link).coordinates.tolist()
    if width == len(arm):
        return arm
    raise InputError(
        f"joint actions for '{body.name}' have the wrong width",
        value=width,
        allowed=f"{len(arm)} columns: {', '.join(names[i] for i in arm)}"
        + (f"; or all {len(names)}: {', '.join(names)}" if len(names) > len(arm) else ""),
    )
