"""Reduction: from the state z of all tokens to the few coordinates q of a shape, z = basis @ q.

A spectral basis holds the directions of z that move the points most, over the shape's own prior
N(mean, 1). The paper uses the gradient of the displacement norm, which is blind to motion of
constant norm; the default here is the mean kinetic metric E[J^T M J]. A screw basis holds the
screws of all parts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from kin4d.errors import InputError
from kin4d.neurok.decoder import SkinnedDecoder
from kin4d.neurok.segmented_shape import SegmentedShape
from kin4d.neurok.twists import TWIST, TWIST_UNIT

Metric = Literal["mass", "norm"]
MAX_COORDINATES = 12
"""Coordinates of a spectral basis, unless their number is given."""
MAX_SCREWS = 24
"""Coordinates of a screw basis."""
MIN_MOTION = 0.004
"""Root mean square motion, in unit boxes at one standard deviation, below which a direction is
ignored."""


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


@torch.no_grad()
def spectral_basis(
    segmented: SegmentedShape, index: Tensor, mass: Tensor, *, count: int | None, metric: Metric
) -> Reduction:
    """The directions that move the samples `index` [P], of mass [P], most; see `reduce_state`."""
    shape, net = segmented.shape, segmented.net
    points, assignment = shape.surface.points[:, index], shape.assignment.select(index)
    rig = net.decoder.rig(shape.encoding, points, assignment)
    live = None
    if isinstance(net.decoder, SkinnedDecoder):
        live = (shape.assignment.weights[0, :, 1:] > 0).any(0).repeat_interleave(TWIST)
    return reduce_state(
        lambda z: rig.move(z.unflatten(0, (1, -1, TWIST)))[0],
        shape.encoding.mean.flatten(),
        mass.float(),
        count=count,
        metric=metric,
        live=live,
    )


def screw_basis(segmented: SegmentedShape) -> Reduction:
    """One coordinate for every screw of every part that moves visibly; see `along_screws`."""
    share = segmented.shape.assignment.weights[0, :, 1:].mean(0).sqrt()
    gains = segmented.shape.encoding.gains[0]
    return along_screws((TWIST_UNIT * share[:, None] * gains).flatten())


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
    """Find the coordinates of one shape by an eigendecomposition.

    Args:
        move: State [K] to points [P, 3], differentiable.
        mean: [K] of the prior.
        mass: [P] weights of the points.
        count: How many coordinates; by default those before the widest gap in the spectrum (the
            largest ratio of one motion to the next), among the directions that visibly move the
            shape, at most `MAX_COORDINATES`, at least as many as hold 95 % of the energy.
        metric: "mass", or "norm" for the paper's.
        live: [K] bool: numbers of the state that move anything; all by default. The others cost
            time.
        samples: States the metric is averaged over.
        seed: Seed of those states.
    """
    if metric not in get_args(Metric):
        raise InputError("metric of a reduction", value=metric, allowed=", ".join(get_args(Metric)))
    share = mass / mass.sum()
    rest = move(torch.zeros_like(mean))
    generator = torch.Generator().manual_seed(seed)
    index = torch.arange(len(mean)) if live is None else torch.nonzero(live).flatten()
    total = torch.zeros(len(index), len(index), dtype=mean.dtype)
    # Forward-mode derivatives exist only for the plain attention kernel.
    with sdpa_kernel(SDPBackend.MATH):
        for _ in range(samples):
            z = mean + torch.randn(mean.shape, generator=generator, dtype=mean.dtype)
            jacobian = torch.func.jacfwd(lambda chosen, z=z: move(z.index_copy(0, index, chosen)))(
                z[index]
            )
            if metric == "norm":
                displacement = move(z) - rest
                weighted = displacement * share[:, None]
                length = (weighted * displacement).sum().sqrt().clamp(min=1e-9)
                gradient = torch.einsum("pi,pik->k", weighted, jacobian) / length
                total += torch.outer(gradient, gradient) / samples
            else:
                flat = (share.sqrt()[:, None, None] * jacobian).flatten(0, 1)
                total += flat.mT @ flat / samples
    whole = torch.zeros(len(mean), len(mean), dtype=torch.float64)
    whole[index[:, None], index] = total.double()
    values, vectors = (part.to(mean.dtype) for part in torch.linalg.eigh(whole))
    motions, vectors = values.flip(0).clamp(min=0).sqrt(), vectors.flip(1)
    kept = _largest_gap(motions) if count is None else count
    if not 0 <= kept <= len(mean):
        raise InputError("number of coordinates", value=kept, allowed=f"0 to {len(mean)}")
    basis = varimax(vectors[:, :kept])
    sign = torch.where(basis.mT @ mean < 0, -1.0, 1.0).to(basis.dtype)
    return Reduction(basis * sign, motions)


def along_screws(motions: Tensor) -> Reduction:
    """A coordinate for every number of the state that moves the points visibly.

    Args:
        motions: [K] root mean square motion of all points by each, in unit boxes.
    """
    sizes, order = motions.sort(descending=True, stable=True)
    kept = order[: min(int((sizes > MIN_MOTION).sum()), MAX_SCREWS)]
    return Reduction(torch.eye(len(motions), dtype=motions.dtype)[:, kept], sizes)


def _largest_gap(motions: Tensor) -> int:
    """Number of the descending motions before their largest gap; see `reduce_state`."""
    visible = min(int((motions > MIN_MOTION).sum()), MAX_COORDINATES)
    if visible == 0:
        return 0
    energy = motions.square().cumsum(0) / motions.square().sum()
    least = min(int((energy < 0.95).sum()) + 1, visible)
    after = torch.cat([motions[1:], motions.new_zeros(1)])
    ratio = motions[:visible] / after[:visible].clamp(min=MIN_MOTION / 4)
    return least + int(ratio[least - 1 :].argmax())


def varimax(basis: Tensor, *, rounds: int = 50) -> Tensor:
    """Rotate orthonormal columns [K, k] within their span until each has few large entries.

    Eigenvectors of equal eigenvalues are arbitrary mixtures; afterwards a coordinate moves one part
    where that is possible (Kaiser 1958).
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
