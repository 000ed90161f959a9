"""Basis: the coordinates of a segmented shape, from its spectrum or the screws of its parts."""

from __future__ import annotations

import torch
from torch import Tensor

from kin4d.neurok.decoder import SkinnedDecoder
from kin4d.neurok.reduction import Metric, Reduction, along_screws, reduce_state
from kin4d.neurok.segmented_shape import SegmentedShape
from kin4d.neurok.twists import TWIST, TWIST_UNIT


@torch.no_grad()
def spectral_basis(
    segmented: SegmentedShape, some: Tensor, mass: Tensor, *, count: int | None, metric: Metric
) -> Reduction:
    """See `reduce_state`; looked at are the samples `some` [P], of mass [P]."""
    shape, net = segmented.shape, segmented.net
    # Directions need no more than float32, and many derivatives are taken here.
    points, assignment = shape.surface.points[:, some], shape.assignment.rows(some)
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
    """See `along_screws`."""
    share = segmented.shape.assignment.weights[0, :, 1:].mean(0).sqrt()
    gains = segmented.shape.encoding.gains[0]
    return along_screws((TWIST_UNIT * share[:, None] * gains).flatten())
