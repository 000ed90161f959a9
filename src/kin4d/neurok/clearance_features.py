"""Clearance features: how the gap between a part and the rest changes along each candidate axis.

A drawer keeps its distance from the side walls when pulled, and hits them when pushed sideways.
`JointAxisHead` takes these features as input.
"""

from __future__ import annotations

import torch
from torch import Tensor

from kin4d.geometry.transforms import quaternion_rotate
from kin4d.neurok.twists import twist_to_rotation_translation

STEPS = (-0.6, -0.2, 0.2, 0.6)
"""Lengths of the twists that parts are moved by, along each axis."""

CLEARANCE_FEATURES = 4 * len(STEPS)
"""Features per axis."""

_MAX_GAP = 0.5  # unit boxes: larger gaps are clipped


@torch.no_grad()
def clearance_features(
    twists: Tensor, own: Tensor, rest: Tensor, centres: Tensor, radii: Tensor
) -> Tensor:
    """[M, C, CLEARANCE_FEATURES] of M parts, each moved along C axes by `STEPS`.

    For each step: mean and mean absolute change of the gap between the part's points and the rest,
    share of its points in contact (gap below 0.03 unit boxes), and smallest gap. Gaps are in tenths
    of a unit box, to be about one.

    Args:
        twists: [M, C, 6] of length one.
        own: [M, K, 3] points of the parts, in unit boxes; NaN where there are none.
        rest: [M, L, 3] points around them; NaN where there are none.
        centres: [M, 3] of the parts.
        radii: [M] of the parts.
    """
    valid = ~own[..., 0].isnan()
    count = valid.sum(-1, keepdim=True).clamp(min=1)
    around = torch.where(rest.isnan(), rest.new_tensor(18 * _MAX_GAP), rest)
    own = own.nan_to_num(0.0)
    before = torch.cdist(own, around).amin(-1).clamp(max=_MAX_GAP)[:, None]
    mine = valid[:, None]
    centres = centres[:, None].expand_as(twists[..., :3])
    radii = radii[:, None].expand(twists.shape[:2])
    features = []
    for step in STEPS:
        rotation, translation = twist_to_rotation_translation(step * twists, centres, radii)
        moved = quaternion_rotate(rotation[:, :, None], own[:, None]) + translation[:, :, None]
        gap = torch.cdist(moved.flatten(1, 2), around).amin(-1).unflatten(1, moved.shape[1:3])
        gap = gap.clamp(max=_MAX_GAP)
        change = (gap - before) * mine
        features += [
            10.0 * change.sum(-1) / count,
            10.0 * change.abs().sum(-1) / count,
            ((gap < 0.03) & mine).sum(-1) / count,
            10.0 * torch.where(mine, gap, _MAX_GAP).amin(-1),
        ]
    return torch.stack(features, -1)
