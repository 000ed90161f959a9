"""MirrorPlane: the plane in which a shape is its own mirror image, if there is one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import KDTree


@dataclass(frozen=True, eq=False, kw_only=True)
class MirrorPlane:
    """The plane of points x with normal . x = offset.

    Attributes:
        normal: [3] unit.
        offset: m.
    """

    normal: np.ndarray
    offset: float

    def height(self, points: np.ndarray) -> np.ndarray:
        """[...] m of points [..., 3] from the plane, signed."""
        return points @ self.normal - self.offset

    def reflect(self, points: np.ndarray) -> np.ndarray:
        """The mirror images of points [..., 3] (m)."""
        return points - 2 * self.height(points)[..., None] * self.normal

    def project(self, points: np.ndarray) -> np.ndarray:
        """The nearest points [..., 3] (m) in the plane."""
        return points - self.height(points)[..., None] * self.normal


def find_mirror_plane(
    points: np.ndarray, *, tolerance: float, share: float = 0.97, seed: int = 0
) -> MirrorPlane | None:
    """The upright or principal plane that mirrors a shape onto itself; None if none does.

    Args:
        points: [N, 3] m, that fill the shape or cover it.
        tolerance: m, how far a mirrored point may be from the shape.
        share: Of the points that must come that near.
        seed: Of the points that are tried.
    """
    middle = points.mean(0)
    principal = np.linalg.eigh(np.cov((points - middle).T))[1].T
    tree = KDTree(points)
    some = points[np.random.default_rng(seed).permutation(len(points))[:1500]]
    best, found = share, None
    for normal in (*np.eye(3), *principal):
        # The mean and the middle of the extent: appendages on one side move only the latter.
        along = points @ normal
        for offset in (float(middle @ normal), float(along.min() + along.max()) / 2):
            plane = MirrorPlane(normal=normal, offset=offset)
            near = np.asarray(tree.query(plane.reflect(some))[0]) < tolerance
            # Coordinate planes come first: a principal one must be clearly better.
            if near.mean() > best + (0.0 if found is None else 0.02):
                best, found = float(near.mean()), plane
    return found
