"""LowRankKinematics: a smooth body with few coordinates, distilled to a map of microseconds.

The points of a body with k coordinates move in a linear space of few dimensions, to any accuracy
one asks for: x(q) = mean + B c(q), with B orthonormal in the mass metric. So c itself is the
embedding of `CompiledKinematics`; stepping costs the same for a hundred points and a million. c(q)
is fitted, see `features`.
"""

from __future__ import annotations

import numpy as np
import torch

from kin4d.bodies.body import Body
from kin4d.bodies.capabilities import surface_map
from kin4d.geometry.sampling import SurfaceSamples
from kin4d.kinematics.compiled.compiled_kinematics import CompiledKinematics
from kin4d.kinematics.compiled.features import (
    coefficients,
    coordinate_box,
    extreme_coordinates,
    fit_features,
    latin_samples,
)
from kin4d.kinematics.compiled.low_rank_kernels import LowRankData, low_rank_points
from kin4d.kinematics.compiled.rotation import root_pose

_MOST_MODES = 40


class LowRankKinematics(CompiledKinematics):
    """See the module.

    Args:
        body: The body, without a floating root.
        places: Places on its rest surface.
        floating: Whether to add the root of `Floating`.
        mass_scale: Factor on the masses.
        seed: Of the samples and features.
    """

    def __init__(
        self,
        body: Body,
        places: SurfaceSamples,
        *,
        floating: bool,
        mass_scale: float,
        seed: int = 0,
    ) -> None:
        k, rng = len(body.coordinates), np.random.default_rng(seed)
        self.mass, self.floating = body.mass.numpy() * mass_scale, floating
        middle, half = coordinate_box(body)
        train = np.concatenate([latin_samples(60 + 120 * k, k, rng), extreme_coordinates(k)])
        test = latin_samples(64, k, rng)
        moved = [_evaluate(body, places, middle + half * s) for s in (train, test)]
        (points, spots), (test_points, test_spots) = moved
        root = np.sqrt(self.mass)[:, None]
        mean = points.mean(0)
        basis, modes = _modes((points - mean) * root)
        tracks = np.einsum("npi,pir->nr", (points - mean) * root, basis)
        self._mean, self._basis = mean, basis / root[:, :, None]
        features = fit_features(train, tracks, (middle, half), rng)
        first = 6 if floating else 0
        spot_mean, spot_basis = _follow(tracks, spots)
        self._spots = (np.ones(len(spot_mean)), spot_mean, spot_basis)
        lumps = (np.zeros(0), np.zeros((0, 3)), np.zeros((0, 3, modes)))
        self._to_lumps = np.zeros((0, 0))
        if floating:
            lumps, self._to_lumps = self._lumps()
        self.data = LowRankData(first, features, *map(np.ascontiguousarray, lumps))
        self.width, self.size = first + k, 3 * len(lumps[0]) if floating else modes
        self.error = self._measure(middle + half * test, test_points, test_spots)

    def _lumps(self):
        """Virtual points that move with exactly the kinetic energy of all mass points.

        In each axis a point is linear in z = (t, R, R c): x = w.z. The Gram matrix of all w,
        weighted by mass, has far smaller rank than there are points; its factor's columns are
        points too.
        """
        count, rank = len(self.mass), self._basis.shape[2]
        rows = np.concatenate(
            [np.ones((count, 1)), self._mean, self._basis.reshape(count, 3 * rank)], axis=1
        )
        gram = np.einsum("p,pa,pb->ab", self.mass, rows, rows)
        size = np.sqrt(np.maximum(np.diag(gram), 1e-300))
        values, vectors = np.linalg.eigh(gram / size[:, None] / size)
        kept = values > 1e-10 * values[-1]
        factor = (vectors[:, kept] * np.sqrt(values[kept])) * size[:, None]
        lumps = (factor[0], factor[1:4].T, factor[4:].T.reshape(-1, 3, rank))
        return lumps, np.linalg.pinv(factor) @ rows.T

    def _measure(self, q: np.ndarray, points: np.ndarray, spots: np.ndarray) -> float:
        """Root mean square distance (m) from the body at q [N, k], of points and places alike."""
        squares = []
        for row, x, s in zip(q, points, spots, strict=True):
            full = np.concatenate([np.zeros(6), row]) if self.floating else row
            near = [x - self.points(full, np.zeros(0)), s - self.places(full)]
            squares += [float((gap**2).sum(-1).mean()) for gap in near if len(gap)]
        return float(np.sqrt(np.mean(squares)))

    def embed(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """c, or where the lumps are, and its Jacobian."""
        from kin4d.kinematics.compiled.low_rank_kernels import low_rank_embed

        y, jacobian = np.empty(self.size), np.empty((self.size, self.width))
        low_rank_embed(self.data, q, y, jacobian, True)
        return y, jacobian

    def points(self, q: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Mass points [P, 3] (m)."""
        if not self.floating:
            c = y if len(y) else coefficients(self.data.features, q, False)[0]
            return self._mean + self._basis @ c
        return self._carried((np.ones(len(self._mean)), self._mean, self._basis), q, False)[0]

    def velocities(self, q: np.ndarray, jacobian: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Velocities [P, 3] (m/s) of the mass points."""
        if not self.floating:
            return self._basis @ (jacobian @ qd)
        points = (np.ones(len(self._mean)), self._mean, self._basis)
        return self._carried(points, q, True)[1] @ qd

    def lift(self, force: np.ndarray) -> np.ndarray:
        """[n] covector of forces [P, 3] (N)."""
        if not self.floating:
            return np.einsum("pi,pir->r", force, self._basis)
        return (self._to_lumps @ force).ravel()

    def places(self, q: np.ndarray) -> np.ndarray:
        """Places on the surface [S, 3] (m)."""
        return self._carried(self._spots, q, False)[0]

    def followed(self, q: np.ndarray, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Some places [N, 3] (m) and their Jacobians [N, 3, k]."""
        return self._carried(tuple(part[index] for part in self._spots), q, True)

    def _carried(self, points, q: np.ndarray, with_jacobian: bool):
        """Places [N, 3] and Jacobians [N, 3, k] of (shift, mean, basis)."""
        shift, mean, basis = points
        c, slope = coefficients(self.data.features, q[self.data.first :], with_jacobian)
        if not self.floating:
            return mean + basis @ c, basis @ slope
        rotation, turning = np.empty((3, 3)), np.empty((3, 3))
        root_pose(q, rotation, turning)
        return low_rank_points(shift, mean, basis, c, slope, rotation, turning, q, with_jacobian)


def _evaluate(body: Body, places: SurfaceSamples, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mass points [N, P, 3] and places [N, S, 3] of the body."""
    points, spots, probe = [], [], surface_map(body, places)
    with torch.no_grad():
        for rows in torch.from_numpy(q).split(8):
            points.append(body.points(rows).numpy())
            spots.append(probe(rows).numpy())
    return np.concatenate(points), np.concatenate(spots)


def _modes(moves: np.ndarray) -> tuple[np.ndarray, int]:
    """Orthonormal modes [P, 3, r] of moves [N, P, 3], as many as matter."""
    flat = moves.reshape(len(moves), -1)
    values, vectors = np.linalg.eigh(flat @ flat.T)
    values, vectors = values[::-1], vectors[:, ::-1]
    left = 1 - np.cumsum(values) / max(values.sum(), 1e-300)
    count = int(np.clip((left > 1e-7).sum() + 1, 1, min(_MOST_MODES, len(values))))
    modes = flat.T @ vectors[:, :count] / np.sqrt(np.maximum(values[:count], 1e-300))
    return modes.reshape(*moves.shape[1:], count), count


def _follow(tracks: np.ndarray, spots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean [S, 3] and basis [S, 3, r] of places as linear functions of the coefficients."""
    count = spots.shape[1]
    design = np.concatenate([np.ones((len(tracks), 1)), tracks], axis=1)
    gram = design.T @ design
    gram[np.diag_indices_from(gram)] += 1e-10 * np.diag(gram)
    solution = np.linalg.solve(gram, design.T @ spots.reshape(len(spots), -1))
    solution = solution.reshape(design.shape[1], count, 3)
    return solution[0].copy(), np.ascontiguousarray(np.moveaxis(solution[1:], 0, -1))
