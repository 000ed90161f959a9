"""Reduction: from the state z of all tokens to the few coordinates q that move a shape.

Per shape, over its own prior N(mean, 1), these are the directions of z that move the points most.
The paper uses the gradient of the displacement norm, which does not see motion of constant norm.
The default here is the mean kinetic metric E[J^T M J], which sees every motion.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from kin4d.errors import InputError

Metric = Literal["mass", "norm"]
MOST = 12
"""Coordinates at most, where the spectrum decides."""
MOST_SCREWS = 24
"""The same where every screw of a part is one."""
_VISIBLE = 0.004  # of the box: motion below it, at one standard deviation, does not count


@dataclass(frozen=True, eq=False)
class Reduction:
    """z = basis @ q, with q = 0 the shape as given.

    Attributes:
        basis: [K, k] orthonormal columns.
        motions: [K] root mean square motion of the points along each direction found, at one
            standard deviation of the prior, in unit boxes, largest first.
    """

    basis: Tensor
    motions: Tensor


def reduce_state(
    move: Callable[[Tensor], Tensor],
    mean: Tensor,
    mass: Tensor,
    *,
    count: int | None = None,
    metric: Metric = "mass",
    live: Tensor | None = None,
    samples: int = 6,
    seed: int = 0,
) -> Reduction:
    """Find the coordinates of one shape.

    Args:
        move: State [K] to points [P, 3], differentiable.
        mean: [K] of the prior.
        mass: [P] weights of the points.
        count: How many coordinates; by default those before the widest gap in the spectrum (the
            largest ratio of one motion to the next), among the directions that visibly move the
            shape, at most `MOST`, at least as many as hold 95 % of the energy.
        metric: "mass", or "norm" for the paper's.
        live: [K] bool, which numbers of the state move anything; all by default. Looking at the
            others costs time.
        samples: States the metric is averaged over.
        seed: Of those states.
    """
    if metric not in get_args(Metric):
        raise InputError("unknown metric", value=metric, allowed=", ".join(get_args(Metric)))
    share = mass / mass.sum()
    rest = move(torch.zeros_like(mean))
    generator = torch.Generator().manual_seed(seed)
    some = torch.arange(len(mean)) if live is None else torch.nonzero(live).flatten()
    total = torch.zeros(len(some), len(some), dtype=mean.dtype)
    # Forward-mode derivatives exist only for the plain attention kernel.
    with sdpa_kernel(SDPBackend.MATH):
        for _ in range(samples):
            z = mean + torch.randn(mean.shape, generator=generator, dtype=mean.dtype)
            jacobian = torch.func.jacfwd(lambda own, z=z: move(z.index_copy(0, some, own)))(z[some])
            if metric == "norm":
                away = (move(z) - rest) * share[:, None]
                length = (away * (move(z) - rest)).sum().sqrt().clamp(min=1e-9)
                gradient = torch.einsum("pi,pik->k", away, jacobian) / length
                total += torch.outer(gradient, gradient) / samples
            else:
                flat = (share.sqrt()[:, None, None] * jacobian).flatten(0, 1)
                total += flat.mT @ flat / samples
    whole = torch.zeros(len(mean), len(mean), dtype=torch.float64)
    whole[some[:, None], some] = total.double()
    values, vectors = (part.to(mean.dtype) for part in torch.linalg.eigh(whole))
    motions, vectors = values.flip(0).clamp(min=0).sqrt(), vectors.flip(1)
    kept = _gap(motions) if count is None else count
    if not 0 <= kept <= len(mean):
        raise InputError("number of coordinates", value=kept, allowed=f"0 to {len(mean)}")
    basis = varimax(vectors[:, :kept])
    sign = torch.where(basis.mT @ mean < 0, -1.0, 1.0).to(basis.dtype)
    return Reduction(basis * sign, motions)


def along_screws(motions: Tensor) -> Reduction:
    """Every number of the state that can be seen to move something, as a coordinate of its own.

    Args:
        motions: [K] root mean square motion of all points by each, in unit boxes.
    """
    sizes, order = motions.sort(descending=True, stable=True)
    kept = order[: min(int((sizes > _VISIBLE).sum()), MOST_SCREWS)]
    return Reduction(torch.eye(len(motions), dtype=motions.dtype)[:, kept], sizes)


def _gap(motions: Tensor) -> int:
    """How many of the descending motions to keep."""
    visible = min(int((motions > _VISIBLE).sum()), MOST)
    if visible == 0:
        return 0
    energy = motions.square().cumsum(0) / motions.square().sum()
    least = min(int((energy < 0.95).sum()) + 1, visible)
    after = torch.cat([motions[1:], motions.new_zeros(1)])
    ratio = motions[:visible] / after[:visible].clamp(min=_VISIBLE / 4)
    return least + int(ratio[least - 1 :].argmax())


def varimax(basis: Tensor, *, rounds: int = 50) -> Tensor:
    """Rotate orthonormal columns [K, k] within their span until each has few large entries.

    Directions that move equally far come out of an eigendecomposition mixed at will; afterwards a
    coordinate moves one part where that is possible (Kaiser 1958).
    """
    k = basis.shape[1]
    if k < 2:
        return basis
    rotation = torch.eye(k, dtype=basis.dtype)
    for _ in range(rounds):
        rotated = basis @ rotation
        cubic = rotated**3 - rotated * rotated.square().mean(0)
        u, _, vh = torch.linalg.svd(basis.mT @ cubic)
        rotation = u @ vh
    return basis @ rotation
