"""Roll the part dynamics out over a whole robot motion, starting from the first frame.

The dynamics is trained on randomly rotated and mirrored scenes, and still predicts slightly
different motions for them. So it is queried with several such views at once, and their
mean pose is used; each view continues from it.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from kin4d.world.object_world.contact_features import transformed_points
from kin4d.world.object_world.dynamics import PartDynamics, PartState
from kin4d.world.object_world.dynamics_sample import OUT_OF_RANGE

VIEWS = 4
"""Number of rotated views; every other one is mirrored."""
_OFFSET = 0.1  # rad off multiples of 90 degrees, where boxes look alike


class RolloutState(NamedTuple):
    """Where a rollout stops, so that it can go on.

    Attributes:
        pose: [P, 3, 4] of the parts relative to the first frame.
        previous: [P, 3, 4] in the frame before.
        memory: [V P, H] of the network, for each view and part.
    """

    pose: Tensor
    previous: Tensor
    memory: Tensor


def rollout_parts(
    dynamics: PartDynamics,
    robot_points: Tensor,
    parts: Tensor,
    others: Tensor,
    owner: Tensor,
    proprioception: Tensor,
    seconds: float,
    generator: torch.Generator | None = None,
) -> Tensor:
    """[T, P, 3, 4]: poses of the parts relative to the first frame.

    Args: as of `continue_rollout`, from the first frame on.
    """
    frames = (robot_points, parts, others, owner, proprioception)
    return continue_rollout(dynamics, *frames, seconds, generator)[0]


@torch.no_grad()
def continue_rollout(
    dynamics: PartDynamics,
    robot_points: Tensor,
    parts: Tensor,
    others: Tensor,
    owner: Tensor,
    proprioception: Tensor,
    seconds: float,
    generator: torch.Generator | None = None,
    start: RolloutState | None = None,
) -> tuple[Tensor, RolloutState]:
    """[T, P, 3, 4]: poses of the parts relative to the first frame, and where the rollout stops.

    Args:
        dynamics: The network.
        robot_points: [T, N, 3] m: surface points of the robot, in the support frame.
        parts: [P, M, 3] m: points of the parts in the first frame.
        others: [S, 3] m: all visible points besides the robot, in the first frame.
        owner: [S] the part of each of these, -1 for the background.
        proprioception: [T, 4]; see `DynamicsSample`.
        seconds: Seconds between frames.
        generator: Draws a sample, from one view; the most likely motion if None.
        start: Where it goes on from; T then counts from there. The first frame if None.
    """
    count = len(parts)
    rotations = _view_rotations(VIEWS if generator is None else 1)
    views = len(rotations)
    rotations = rotations.repeat_interleave(count, 0)  # all parts of a view, then those of the next
    identity = torch.eye(3, 4)[None]
    own = owner[None] == torch.arange(count)[:, None]
    if start is None:
        still = identity.repeat(count, 1, 1)
        memory = torch.zeros(len(rotations), dynamics.config.memory)
        start = RolloutState(still, still, memory)

    def in_views(pose: Tensor) -> Tensor:
        return transformed_points(pose, parts).repeat(views, 1, 1) @ rotations.mT

    pose, before, memory = start
    poses, points, previous = [pose], in_views(pose), in_views(before)
    for (robot, robot_next), sensed in zip(
        pairwise(robot_points), pairwise(proprioception), strict=True
    ):
        positions = transformed_points(torch.cat([pose, identity])[owner], others[:, None])[:, 0]
        around = torch.where(own[..., None], OUT_OF_RANGE, positions[None])
        sensed_views = torch.stack(sensed).repeat(len(rotations), 1, 1)
        sensed_views[..., 1:] = sensed_views[..., 1:] @ rotations.mT
        view_poses = _rotate_poses(pose.repeat(views, 1, 1), rotations)
        next_state, _ = dynamics.step(
            PartState(points, previous, memory, view_poses),
            robot @ rotations.mT,
            robot_next @ rotations.mT,
            around.repeat(views, 1, 1) @ rotations.mT,
            torch.full((len(rotations),), seconds),
            sensed_views,
            generator,
        )
        before, memory = pose, next_state.memory
        pose = _mean_pose(
            _rotate_poses(next_state.pose, rotations.mT).unflatten(0, (views, count)), parts.mean(1)
        )
        points, previous = in_views(pose), points
        poses.append(pose)
    return torch.stack(poses), RolloutState(pose, before, memory)


def _view_rotations(count: int) -> Tensor:
    """[count, 3, 3] rotations about z, the first the identity; every other one mirrors as well."""
    angle = torch.arange(count) * (2 * np.pi / count + _OFFSET)
    c, s, o, i = angle.cos(), angle.sin(), torch.zeros(count), torch.ones(count)
    rotations = torch.stack([c, -s, o, s, c, o, o, o, i], -1).view(-1, 3, 3)
    rotations[1::2, :, 1] *= -1
    return rotations


def _rotate_poses(poses: Tensor, rotations: Tensor) -> Tensor:
    """Poses [B, 3, 4] in axes rotated by [B, 3, 3]."""
    return torch.cat([rotations @ poses[..., :3] @ rotations.mT, rotations @ poses[..., 3:]], -1)


def _mean_pose(poses: Tensor, centres: Tensor) -> Tensor:
    """[P, 3, 4] mean of poses [V, P, 3, 4] of parts whose centres are at [P, 3] at first."""
    if len(poses) == 1:
        return poses[0]
    positions = transformed_points(poses.flatten(0, 1), centres.repeat(len(poses), 1)[:, None])
    position = positions.unflatten(0, poses.shape[:2]).mean(0)
    u, _, vh = torch.linalg.svd(poses[..., :3].mean(0))
    u = torch.cat([u[..., :2], u[..., 2:] * torch.linalg.det(u @ vh)[:, None, None]], -1)
    rotation = u @ vh
    return torch.cat([rotation, position.mT - rotation @ centres[..., None]], -1)
