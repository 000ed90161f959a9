"""The motion of a made creature as a vertex sequence: two cycles of its gait, then random poses."""

from __future__ import annotations

import numpy as np
import torch

from kin4d.objects.creatures.creature import Creature
from kin4d.objects.sequence import VertexSequence

_FPS = 24.0
_HOLD = 8  # frames from one random pose to the next


def creature_sequence(
    creature: Creature, *, seed: int, licence: str, gait: int = 24, poses: int = 4
) -> VertexSequence:
    """Rest, two cycles of the gait, and smooth ways through random poses within the limits.

    Args:
        creature: What moves.
        seed: Of the poses.
        licence: Terms of use.
        gait: Frames of a cycle.
        poses: How many.
    """
    body, floating = creature.body, creature.floating
    walk = torch.from_numpy(creature.gait(2 * gait, cycles=2.0))
    keys = torch.cat([body.q0[None], body.sample(poses, seed=seed), body.q0[None]])
    share = torch.linspace(0, len(keys) - 1, _HOLD * (len(keys) - 1) + 1, dtype=torch.float64)
    before = share.floor().long().clamp(max=len(keys) - 2)
    ease = (share - before)[:, None]
    ease = ease * ease * (3 - 2 * ease)
    random = keys[before] + ease * (keys[before + 1] - keys[before])
    q = torch.cat(
        [floating.q0[None], walk, torch.cat([random.new_zeros(len(random), 6), random], 1)]
    )
    with torch.no_grad():
        vertices = floating.vertices(q).numpy()
    return VertexSequence(
        name=body.rest.name,
        category=creature.kind,
        source="creatures",
        licence=licence,
        seed=seed,
        vertices=vertices.astype(np.float32),
        faces=body.rest.faces,
        fps=_FPS,
        meta={"length": creature.length},
    )
