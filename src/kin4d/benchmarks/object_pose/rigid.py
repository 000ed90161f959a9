"""The best rigid alignment of a shape to points: iterated closest points from several starts."""

from __future__ import annotations

import numpy as np
from scipy.spatial import KDTree

from kin4d.geometry.mesh import Mesh
from kin4d.geometry.procrustes import best_motion
from kin4d.geometry.sampling import sample_surface

_TURNS = 8  # starts: as it stands, and turned about the upright
_COARSE, _FINE = 15, 60  # rounds from every start, and from the best
_POINTS = 2000
_ENOUGH = 1e-7  # of the box: motion in a round below which nothing changes any more


class RigidAlignment:
    """Aligns one mesh, z up, as a whole.

    A round pairs every point with the nearest of the other set, both ways, and takes the rigid
    motion that brings the pairs together best. Starts are the mesh as it stands and turned about
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
        for angle in np.arange(_TURNS) * 2 * np.pi / _TURNS:
            c, s = np.cos(angle), np.sin(angle)
            turn = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]])
            found.append(self._refine(turn, middle - turn @ middle, target, tree, _COARSE))
        turn, shift, _ = min(found, key=lambda one: one[2])
        turn, shift, _ = self._refine(turn, shift, target, tree, _FINE)
        return self.mesh.vertices @ turn.T + shift

    def _refine(
        self, turn: np.ndarray, shift: np.ndarray, target: np.ndarray, tree: KDTree, rounds: int
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """The motion after some rounds, and the mean distance it leaves."""
        some = target[: len(self._points)]
        best = (turn, shift, np.inf)
        for _ in range(rounds):
            moved = self._points @ turn.T + shift
            there, near = tree.query(moved)
            back, own = KDTree(moved).query(some)
            left = float(there.mean() + back.mean()) / 2
            if left < best[2]:
                best = (turn, shift, left)
            start = np.concatenate([self._points, self._points[own]])
            after, offset = best_motion(start, np.concatenate([target[near], some]))
            change = np.abs(after - turn).max() + np.abs(offset - shift).max()
            turn, shift = after, offset
            if change < _ENOUGH:
                break
        return best
