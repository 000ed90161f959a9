"""Training loss of the part dynamics, and its validation by whole rollouts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor, nn

from kin4d.training.loop import unwrapped
from kin4d.world.object_world.contact_features import transformed_points
from kin4d.world.object_world.dynamics import PartDynamics
from kin4d.world.object_world.dynamics_sample import DynamicsSample
from kin4d.world.object_world.dynamics_windows import Windows
from kin4d.world.object_world.part_rollout import rollout_parts

_ERROR_SCALE = 0.002  # m: the loss is quadratic below, linear above
_LOG_STD_RANGE = (-3.0, 3.0)  # logarithms of mm
_MIN_MOTION = 0.01  # m from first to last frame above which a part counts as moving


def dynamics_loss(
    model: nn.Module, windows: Windows, done: float, *, noise: float = 0.0005
) -> tuple[Tensor, dict[str, Tensor]]:
    """Robust distance between predicted and true points, in units of `_ERROR_SCALE`.

    Parts start `noise` m off, so that the dynamics learns to tolerate its own errors.
    """
    path = transformed_points(
        windows.poses.flatten(0, 1), windows.part.repeat_interleave(windows.length + 2, 0)
    )
    path = path.unflatten(0, (len(windows.part), -1))
    offset = noise * torch.randn(len(path), 1, 1, 3)
    path = path + offset
    previous = path[:, 0] + 0.3 * noise * torch.randn(len(path), 1, 3)
    dynamics = cast(PartDynamics, unwrapped(model))
    predicted, log_std = model(windows, dynamics.initial_state(path[:, 1], previous))
    error = (predicted - path[:, 2:]).norm(dim=-1).mean(-1)
    loss = (1 + (error / _ERROR_SCALE).square()).sqrt() - 1
    moved = (path[:, -1] - path[:, 1]).norm(dim=-1).mean(-1)
    # The uncertainty is fitted to the error of the steps, and has no other gradient.
    centres = torch.cat([path[:, 1:2], predicted], 1).mean(2)
    error_mm = 1000 * (centres.diff(dim=1) - path[:, 1:].mean(2).diff(dim=1)).detach()
    log_std = log_std.clamp(*_LOG_STD_RANGE)  # Static parts would drive it to -infinity.
    # Of a Cauchy distribution, robust to outliers.
    nll = ((error_mm * (-log_std).exp()).square().log1p() + log_std).mean()
    return loss.mean() + 0.01 * nll, {
        "mm": 1000 * error[:, -1].mean(),
        "nll": nll,
        "moved_mm": 1000 * moved.mean(),
    }


@torch.no_grad()
def evaluate_dynamics(
    dynamics: PartDynamics, samples: Sequence[DynamicsSample]
) -> dict[str, float]:
    """Roll out whole episodes from the first frame: error of the parts in the last frame.

    `ratio` is the mean error of moving parts over their mean motion; `still_mm` is the mean error
    of parts that do not move.
    """
    errors, motions = [], []
    for sample in samples:
        predicted = rollout_parts(dynamics, *sample.tensors(), sample.seconds)[-1]
        points = torch.from_numpy(sample.parts)
        true = transformed_points(torch.from_numpy(sample.motions[-1].copy()), points)
        errors.append((transformed_points(predicted, points) - true).norm(dim=-1).mean(-1))
        motions.append((true - points).norm(dim=-1).mean(-1))
    error, motion = torch.cat(errors), torch.cat(motions)
    moving = motion > _MIN_MOTION
    return {
        "ratio": float(error[moving].mean() / motion[moving].mean()),
        "mm": float(1000 * error[moving].mean()),
        "still_mm": float(1000 * error[~moving].mean()),
    }
