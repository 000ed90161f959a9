"""own_motion: what a body can do by itself, as a clip."""

from __future__ import annotations

import torch

from kin4d.bodies.body import Body, bake, sweep_joints
from kin4d.bodies.capabilities import fixed_base
from kin4d.geometry.clip import Clip

FRAMES, FPS = 40, 24.0


def own_motion(body: Body) -> Clip:
    """Each coordinate in turn to its limits and back, a floating root left where it is; one frame
    of a body that cannot move."""
    inner = fixed_base(body)
    if not inner.coordinates:
        return bake(body, body.q0[None], fps=FPS)
    rows = sweep_joints(inner, frames=FRAMES)
    root = body.q0[: len(body.coordinates) - len(inner.coordinates)]
    return bake(body, torch.cat([root.expand(len(rows), -1), rows], 1), fps=FPS)
