"""Roll: parts moved on from the first frame alone, frame by frame, while the robot does its part.

The dynamics is trained on randomly rotated and mirrored scenes, and still predicts slightly
different motions for them. So it is queried with several such views at once, and parts go
where these agree on the whole; each view goes on from there.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from kin4d.world.object_world.contact_features import transformed_points
from kin4d.world.object_world.dynamics import PartDynamics, PartState
from kin4d.world.object_world.dynamics_sample import AWAY

VIEWS = 4
"""How many, every other one of them mirrored."""
_APART = 0.1  # rad: by which they are off the quarters, where boxes look alike


@torch.no_grad()
def rollout_parts(
    dynamics: PartDynamics,
    track: Tensor,
    parts: Tensor,
    others: Tensor,
    owner: Tensor,
    felt: Tensor,
    seconds: float,
    chance: torch.Generator | None = None,
) -> Tensor:
    """[T, P, 3, 4]: how parts move while the robot does what it does.

    Args:
        dynamics: That says so.
        track: [T, N, 3] m: the robot's points, in the frame of its base.
        parts: [P, M, 3] m: where the parts' points are at first.
        others: [S, 3] m: all that is seen besides the robot, at first.
        owner: [S] the part each of these belongs to, -1 for the room.
        felt: [T, 4]; see `Lesson`.
        seconds: Between frames.
        chance: Of one of many futures, seen in one view; the likeliest one if None.
    """
    count = len(parts)
    turns = _turns(VIEWS if chance is None else 1)
    views = len(turns)
    turns = turns.repeat_interleave(count, 0)  # all parts of a view, then those of the next
    state = dynamics.begin(parts.repeat(views, 1, 1) @ turns.mT)
    mine = owner[None] == torch.arange(count)[:, None]
    still = torch.eye(3, 4)[None]
    pose = still.repeat(count, 1, 1)
    poses = [pose]
    for (now, then), touch in zip(pairwise(track), pairwise(felt), strict=True):
        here = transformed_points(torch.cat([pose, still])[owner], others[:, None])[:, 0]
        around = torch.where(mine[..., None], AWAY, here[None])
        felt_now = torch.stack(touch).repeat(len(turns), 1, 1)
        felt_now[..., 1:] = felt_now[..., 1:] @ turns.mT
        moved, _ = dynamics.step(
            state,
            now @ turns.mT,
            then @ turns.mT,
            around.repeat(views, 1, 1) @ turns.mT,
            torch.full((len(turns),), seconds),
            felt_now,
            chance,
        )
        pose = _agreed(_seen(moved.pose, turns.mT).unflatten(0, (views, count)), parts.mean(1))
        points = transformed_points(pose, parts).repeat(views, 1, 1) @ turns.mT
        again = _seen(pose.repeat(views, 1, 1), turns)
        state = PartState(points, state.points, moved.memory, again)
        poses.append(pose)
    return torch.stack(poses)


def _turns(count: int) -> Tensor:
    """[count, 3, 3] turns about z, the first of them none; every other one mirrors as well."""
    angle = torch.arange(count) * (2 * np.pi / count + _APART)
    c, s, o, i = angle.cos(), angle.sin(), torch.zeros(count), torch.ones(count)
    turns = torch.stack([c, -s, o, s, c, o, o, o, i], -1).view(-1, 3, 3)
    turns[1::2, :, 1] *= -1
    return turns


def _seen(poses: Tensor, turns: Tensor) -> Tensor:
    """Motions [B, 3, 4] in axes turned by [B, 3, 3]."""
    return torch.cat([turns @ poses[..., :3] @ turns.mT, turns @ poses[..., 3:]], -1)


def _agreed(poses: Tensor, middles: Tensor) -> Tensor:
    """[P, 3, 4] between motions [V, P, 3, 4] of parts whose middles are at [P, 3] at first."""
    if len(poses) == 1:
        return poses[0]
    places = transformed_points(poses.flatten(0, 1), middles.repeat(len(poses), 1)[:, None])
    place = places.unflatten(0, poses.shape[:2]).mean(0)
    u, _, vh = torch.linalg.svd(poses[..., :3].mean(0))
    u = torch.cat([u[..., :2], u[..., 2:] * torch.linalg.det(u @ vh)[:, None, None]], -1)
    rotation = u @ vh
    return torch.cat([rotation, place.mT - rotation @ middles[..., None]], -1)
