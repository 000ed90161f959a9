"""Procrustes: the rigid motion that takes points to others with least squares (Kabsch)."""

from __future__ import annotations

import numpy as np


def best_rotation(moment: np.ndarray) -> np.ndarray:
    """[..., 3, 3]: the rotation R of largest trace(R^T moment).

    For vectors a [..., N, 3] and b, ``best_rotation(b.mT @ a)`` brings a nearest to b.
    """
    u, _, vt = np.linalg.svd(moment)
    u[..., 2] *= np.sign(np.linalg.det(u @ vt))[..., None]
    return u @ vt


def best_motion(start: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rotations [..., 3, 3] and translations [..., 3] that bring points [..., N, 3] to others."""
    middle, goal = start.mean(-2, keepdims=True), end.mean(-2, keepdims=True)
    rotation = best_rotation((end - goal).mT @ (start - middle))
    return rotation, (goal - middle @ rotation.mT)[..., 0, :]
