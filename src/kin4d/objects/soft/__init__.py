"""Soft bodies, simulated: cloth, elastic solids, ropes and chains, with their physics kept.

``simulate_soft("flag", seed=3)`` is a `VertexSequence`; `KINDS` lists what there is.
"""

from kin4d.objects.soft.kinds import KINDS, simulate_soft, soft_sequences
from kin4d.objects.soft.scene import SoftDivergedError

__all__ = ["KINDS", "SoftDivergedError", "simulate_soft", "soft_sequences"]
