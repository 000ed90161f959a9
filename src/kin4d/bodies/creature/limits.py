"""Soft limits of joints: as far as the skin around them bends without much distortion."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from kin4d.bodies.skin_distortion import FACTOR, SkinDistortion

_ANGLES = np.radians(range(10, 65, 5)).tolist()


def skin_limit(
    distortion: SkinDistortion,
    vertices: np.ndarray,
    share: np.ndarray,
    *,
    point: np.ndarray,
    axis: np.ndarray,
    most: float,
    budget: float,
) -> float:
    """The largest angle (rad), up to `most`, to both sides, that distorts few edges.

    Args:
        distortion: The surface's edges.
        vertices: [V, 3] m, at rest.
        share: [V] how much each follows the rotation: that of the joint's bone and of all on it.
        point: [3] m, on the axis.
        axis: [3] unit.
        most: rad.
        budget: Share of all edges that may be distorted.
    """
    pairs = distortion.pairs
    ends = share[pairs]
    bent = (ends.max(1) > 1e-3) & (ends.min(1) < 1 - 1e-3)
    start, end = pairs[bent].T
    lengths, allowed = distortion.lengths[bent], budget * len(pairs)
    angles = [*(angle for angle in _ANGLES if angle < most), most]
    best = angles[0]
    for angle in angles:
        for signed in (angle, -angle):
            rotation = Rotation.from_rotvec(signed * axis).as_matrix()

            def moved(index: np.ndarray, rotation: np.ndarray = rotation) -> np.ndarray:
                arm = vertices[index] - point
                return vertices[index] + share[index, None] * (arm @ rotation.T - arm)

            ratio = np.linalg.norm(moved(start) - moved(end), axis=1) / lengths
            if ((ratio > FACTOR) | (ratio < 1 / FACTOR)).sum() > allowed:
                return best
        best = angle
    return best
