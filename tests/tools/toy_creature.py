"""A creature of blocks: trunk, neck with head, tail and four legs, one closed surface."""

from __future__ import annotations

import numpy as np

from kin4d.geometry.mesh import Mesh
from kin4d.objects.soft.shapes import blocks

LEGS = 4


def toy_creature() -> Mesh:
    """About 1.3 m long, facing +y, its own mirror image in x = 0."""
    filled = np.zeros((5, 13, 10), bool)
    filled[1:4, 4:10, 5:7] = True  # trunk
    filled[2, 10:12, 6:9] = True  # neck
    filled[2, 10:13, 8:10] = True  # head
    filled[2, 0:4, 6] = True  # tail
    for x in (0, 4):
        for y in (4, 9):
            filled[x, y, 0:6] = True
    return blocks(filled, (0.5, 1.3, 1.0), 2, "toy creature")
