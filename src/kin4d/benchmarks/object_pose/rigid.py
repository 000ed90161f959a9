"""The best rigid alignment of a shape to points: iterated closest points from several starts."""

from __future__ import annotations

import numpy as np
from scipy.spatial import KDTree

from kin4d.geometry.mesh import Mesh
from kin4d.geometry.procrustes import best_motion
from kin4d.geometry.sampling import sample_surface

_STARTS = 8  # starts: as it stands, and rotated about the upright
_COARSE, _FINE = 15, 60  # rounds from every start, and from the best
_POINTS = 2000
_ENOUGH = 1e-7  # of the box: motion in a round below which nothing changes any more


class RigidAlignment:
    """Aligns one mesh, z up, as a whole.

    A round pairs every point of either set with the nearest of the other, and takes the rigid
    motion that brings the pairs together best. Starts are the mesh as it stands and rotated about
    the upright axis through its middle; the one that ends with the least mean distance wins.
    """

    def __init__(self, mesh: Mesh, *, seed: int = 0) -> None:
        self.mesh = mesh
        self._points = sample_surface(mesh, _POINTS, seed=seed).points(mesh.vertices)

    def __call__(self, target: np.ndarray) -> np.ndarray:
        """[V, 3] vertices aligned to `target` [M, 3]."""
        tree = KDTree(target)
        middle = self._points.mean(0)
        found = []
        for angle in np.arange(_STARTS) * 2 * np.pi / _STARTS:
            c, s = np.cos(angle), np.sin(angle)
            rotation = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]])
            found.append(self._refine(rotation, middle - rotation @ middle, target, tree, _COARSE))
        rotation, translation, _ = min(found, key=lambda one: one[2])
        rotation, translation, _ = self._refine(rotation, translation, target, tree, _FINE)
        return self.mesh.vertices @ rotation.T + translation

    def _refine(
        self,
        rotation: np.ndarray,
        translation: np.ndarray,
        target: np.ndarray,
        tree: KDTree,
        rounds: int,
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """The motion after some rounds, and the mean distance it leaves."""
        some = target[: len(self._points)]
        best = (rotation, translation, np.inf)
        for _ in range(rounds):
            moved = self._points @ rotation.T + translation
            there, near = tree.query(moved)
            back, own = KDTree(moved).query(some)
            left = float(there.mean() + back.mean()) / 2
            if left < best[2]:
                best = (rotation, translation, left)
            start = np.concatenate([self._points, self._points[own]])
            after, offset = best_motion(start, np.concatenate([target[near], some]))
            change = np.abs(after - rotation).max() + np.abs(offset - translation).max()
            rotation, translation = after, offset
            if change < _ENOUGH:
                break
        return best
