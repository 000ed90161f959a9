"""Random motion: smooth, through plausible states of a body."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor

from kin4d.bodies.body import Body
from kin4d.bodies.capabilities import StateSampler
from kin4d.errors import InputError


def random_motion(body: Body, states: int, *, frames: int = 48, seed: int = 0) -> Tensor:
    """[states * frames, k] float64: from rest to one random state after another.

    States are those a body samples, if it can; else each coordinate is uniform within its limits
    (or within one of rest, rad or m, where there are none).

    Args:
        body: Any.
        states: Number of random states.
        frames: From each to the next.
        seed: Of the random states.
    """
    if states < 1 or frames < 1:
        raise InputError(
            "a random motion has states and frames", value=(states, frames), allowed=">= 1"
        )
    if isinstance(body, StateSampler):
        visited = body.sample(states, seed=seed)
    else:
        rest, limits = body.q0, body.limits
        low = torch.where(limits[:, 0].isfinite(), limits[:, 0], rest - 1)
        high = torch.where(limits[:, 1].isfinite(), limits[:, 1], rest + 1)
        generator = torch.Generator().manual_seed(seed)
        uniform = torch.rand(states, len(rest), generator=generator, dtype=torch.float64)
        visited = low + uniform * (high - low)
    path = torch.cat([body.q0[None], visited])
    time = torch.linspace(0, 1, frames + 1, dtype=torch.float64)[1:, None]
    share = time * time * (3 - 2 * time)  # starts and stops gently
    return torch.cat([a + share * (b - a) for a, b in itertools.pairwise(path)])
