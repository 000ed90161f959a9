"""Clearance features: how the gap between a part and the rest changes along each candidate axis.

A drawer keeps its distance from the side walls when pulled and hits them when pushed sideways. The
axis network takes these features as input.
"""

from __future__ import annotations

import torch
from torch import Tensor

from kin4d.geometry.transforms import quaternion_rotate
from kin4d.neurok.twists import twist_to_parts

STEPS = (-0.6, -0.2, 0.2, 0.6)
"""Twists that parts are moved by."""

FACTS = 4 * len(STEPS)
"""Numbers that tell of an axis."""

_FAR = 0.5  # unit boxes beyond which it does not matter how far
_TOUCH = 0.03  # unit boxes within which things touch
_UNIT = 10.0  # of distances, so that they are about one


@torch.no_grad()
def clearance_features(
    twists: Tensor, own: Tensor, rest: Tensor, centres: Tensor, radii: Tensor
) -> Tensor:
    """[M, C, FACTS] of M parts, each moved along C axes a little and further, both ways: how the
    gap changes on average, and by how much, how much of the part then touches, and its least gap.

    Args:
        twists: [M, C, 6] of length one.
        own: [M, K, 3] points of the parts, in unit boxes; NaN where there are none.
        rest: [M, L, 3] points of what is around them; NaN where there are none.
        centres: [M, 3] of the parts.
        radii: [M].
    """
    valid = ~own[..., 0].isnan()
    count = valid.sum(-1, keepdim=True).clamp(min=1)
    far_away = rest.new_tensor(2 * _FAR)
    around = torch.where(rest.isnan(), far_away * 9, rest)
    own = own.nan_to_num(0.0)
    before = torch.cdist(own, around).amin(-1).clamp(max=_FAR)[:, None]
    mine = valid[:, None]
    centres = centres[:, None].expand_as(twists[..., :3])
    radii = radii[:, None].expand(twists.shape[:2])
    facts = []
    for step in STEPS:
        rotation, translation = twist_to_parts(step * twists, centres, radii)
        moved = quaternion_rotate(rotation[:, :, None], own[:, None]) + translation[:, :, None]
        gap = torch.cdist(moved.flatten(1, 2), around).amin(-1).unflatten(1, moved.shape[1:3])
        gap = gap.clamp(max=_FAR)
        change = (gap - before) * mine
        facts += [
            _UNIT * change.sum(-1) / count,
            _UNIT * change.abs().sum(-1) / count,
            ((gap < _TOUCH) & mine).sum(-1) / count,
            _UNIT * torch.where(mine, gap, _FAR).amin(-1),
        ]
    return torch.stack(facts, -1)
