"""What a dynamics is trained to make small, and how it is judged while it trains."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from kin4d.world.object_world.contact_features import transformed_points
from kin4d.world.object_world.dynamics import PartDynamics
from kin4d.world.object_world.dynamics_sample import DynamicsSample
from kin4d.world.object_world.rollout import rollout_parts
from kin4d.world.object_world.windows import Windows

_SLACK = 0.002  # m: errors well below this hardly count
_UNSURE = (-3.0, 3.0)  # logarithms of mm
_MOVES = 0.01  # m from first frame to last that make a part one that moves


def dynamics_loss(
    model: nn.Module, windows: Windows, done: float, *, noise: float = 0.0005
) -> tuple[Tensor, dict[str, Tensor]]:
    """How far points are from where they went, in units of `_SLACK`, robustly.

    Parts begin `noise` m from where they were: the dynamics will have to live with its own errors.
    """
    path = transformed_points(
        windows.poses.flatten(0, 1), windows.part.repeat_interleave(windows.length + 2, 0)
    )
    path = path.unflatten(0, (len(windows.part), -1))
    off = noise * torch.randn(len(path), 1, 1, 3)
    path = path + off
    before = path[:, 0] + 0.3 * noise * torch.randn(len(path), 1, 3)
    dynamics: PartDynamics = model.module if hasattr(model, "module") else model  # pyright: ignore
    told, unsure = model(windows, dynamics.begin(path[:, 1], before))
    error = (told - path[:, 2:]).norm(dim=-1).mean(-1)
    loss = (1 + (error / _SLACK).square()).sqrt() - 1
    moved = (path[:, -1] - path[:, 1]).norm(dim=-1).mean(-1)
    # How unsure it is has to fit how wrong its steps are, and changes nothing else.
    middles = torch.cat([path[:, 1:2], told], 1).mean(2)
    off = 1000 * (middles.diff(dim=1) - path[:, 1:].mean(2).diff(dim=1)).detach()
    unsure = unsure.clamp(*_UNSURE)  # What never moves would otherwise be ever surer.
    doubt = ((off * (-unsure).exp()).square().log1p() + unsure).mean()  # Cauchy's: it forgives
    return loss.mean() + 0.01 * doubt, {
        "mm": 1000 * error[:, -1].mean(),
        "doubt": doubt,
        "moved_mm": 1000 * moved.mean(),
    }


@torch.no_grad()
def evaluate_dynamics(
    dynamics: PartDynamics, samples: Sequence[DynamicsSample]
) -> dict[str, float]:
    """Whole episodes from the first frame alone: how far parts end from where they ended.

    `ratio` is the error of parts that move, as a share of how far they move, on average; `still_mm`
    is how far parts are moved that stay where they are.
    """
    errors, moves = [], []
    for one in samples:
        told = rollout_parts(dynamics, *one.tensors(), one.seconds)[-1]
        points = torch.from_numpy(one.parts)
        true = transformed_points(torch.from_numpy(one.motions[-1].copy()), points)
        errors.append((transformed_points(told, points) - true).norm(dim=-1).mean(-1))
        moves.append((true - points).norm(dim=-1).mean(-1))
    error, move = torch.cat(errors), torch.cat(moves)
    moving = move > _MOVES
    return {
        "ratio": float(error[moving].mean() / move[moving].mean()),
        "mm": float(1000 * error[moving].mean()),
        "still_mm": float(1000 * error[~moving].mean()),
    }
