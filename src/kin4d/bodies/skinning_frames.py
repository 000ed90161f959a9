"""SkinningFrames: rigid frames whose motions the points of a body blend."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from torch import Tensor


@dataclass(frozen=True, eq=False, kw_only=True)
class SkinningFrames:
    """T rigid frames and what follows them: points blend their motions as dual quaternions.

    Attributes:
        twists: q [..., k] to [..., T, 6]: the motion of each frame, translation (m), then
            rotation (rad); zero at rest.
        centres: [T, 3] m: origins of the twists.
        points: [P, 3] m: the body's mass points at rest.
        point_weights: [P, T] how much each follows; what the T lack to one stays where it is.
        vertex_weights: [V, T] the same of the surface's vertices.
    """

    twists: Callable[[Tensor], Tensor]
    centres: np.ndarray
    points: np.ndarray
    point_weights: np.ndarray
    vertex_weights: np.ndarray
