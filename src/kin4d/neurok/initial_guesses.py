"""Initial guesses: states for a target point cloud, to start a fit from."""

from __future__ import annotations

import torch
from torch import Tensor

from kin4d.neurok.model import EncodedShape, Neurok

_TARGET_POINTS = 512  # points of the target the network is shown


@torch.no_grad()
def initial_guesses(
    net: Neurok, shape: EncodedShape, basis: Tensor, target: Tensor, *, rounds: int = 6
) -> Tensor:
    """[S, K] states within the span of basis [K, k], for unordered points target [M, 3] in the box.

    Read by the network that was trained to, and from rest; each refined by letting the posterior
    read the nearest target of every point, again and again.
    """
    some = torch.linspace(0, len(target) - 1, min(_TARGET_POINTS, len(target))).long()
    first = net.guess(shape, target[some][None])
    found = []
    for z in (first, torch.zeros_like(first)):
        for _ in range(rounds):
            found.append(z)
            moved = shape.rig.move(z)
            near = torch.cdist(moved[0], target).argmin(1)
            z = net.encode_pose(shape, target[near][None])[0]
            z = (basis @ (basis.mT @ z.flatten())).view_as(z)
        found.append(z)
    return torch.stack([z.flatten() for z in found])
