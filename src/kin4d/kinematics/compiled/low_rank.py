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
from kin4d.kinematics.compiled.compiled_kinematics import CompiledKinematics, Configuration
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
        surface: Points on its rest surface.
        floating: Whether to add the root of `FloatingBase`.
        mass_scale: Factor on the masses.
        seed: Of the samples and features.
    """

    def __init__(
        self,
        body: Body,
        surface: SurfaceSamples,
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
        moved = [_sample_body(body, surface, middle + half * s) for s in (train, test)]
        (points, on_surface), (test_points, test_surface) = moved
        root = np.sqrt(self.mass)[:, None]
        mean = points.mean(0)
        basis, modes = _modes((points - mean) * root)
        tracks = np.einsum("npi,pir->nr", (points - mean) * root, basis)
        self._mean, self._basis = mean, basis / root[:, :, None]
        features = fit_features(train, tracks, (middle, half), rng)
        first = 6 if floating else 0
        surface_mean, surface_basis = _fit_surface(tracks, on_surface)
        self._surface = (np.ones(len(surface_mean)), surface_mean, surface_basis)
        lumps = (np.zeros(0), np.zeros((0, 3)), np.zeros((0, 3, modes)))
        self._to_lumps = np.zeros((0, 0))
        if floating:
            lumps, self._to_lumps = self._lumps()
        self.data = LowRankData(first, features, *map(np.ascontiguousarray, lumps))
        self.width, self.size = first + k, 3 * len(lumps[0]) if floating else modes
        self.error = self._measure(middle + half * test, test_points, test_surface)

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

    def _measure(self, q: np.ndarray, points: np.ndarray, surface: np.ndarray) -> float:
        """Root mean square distance (m) from the body at q [N, k], of mass and surface points."""
        squares = []
        for row, x, s in zip(q, points, surface, strict=True):
            fitted = self.at(np.concatenate([np.zeros(6), row]) if self.floating else row)
            gaps = [x - fitted.mass_points, s - fitted.surface_points]
            squares += [float((gap**2).sum(-1).mean()) for gap in gaps if len(gap)]
        return float(np.sqrt(np.mean(squares)))

    def embed(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """c, or where the lumps are, and its Jacobian."""
        from kin4d.kinematics.compiled.low_rank_kernels import low_rank_embed

        y, jacobian = np.empty(self.size), np.empty((self.size, self.width))
        low_rank_embed(self.data, q, y, jacobian, True)
        return y, jacobian

    def mass_points(self, configuration: Configuration) -> np.ndarray:
        """Mass points [P, 3] (m)."""
        if not self.floating:
            return self._mean + self._basis @ configuration.y
        points = (np.ones(len(self._mean)), self._mean, self._basis)
        return self._evaluate(points, configuration.q, False)[0]

    def velocities(self, configuration: Configuration, qd: np.ndarray) -> np.ndarray:
        """Velocities [P, 3] (m/s) of the mass points."""
        if not self.floating:
            return self._basis @ (configuration.jacobian @ qd)
        points = (np.ones(len(self._mean)), self._mean, self._basis)
        return self._evaluate(points, configuration.q, True)[1] @ qd

    def pull_back(self, force: np.ndarray) -> np.ndarray:
        """[n] covector of forces [P, 3] (N)."""
        if not self.floating:
            return np.einsum("pi,pir->r", force, self._basis)
        return (self._to_lumps @ force).ravel()

    def surface_points(self, configuration: Configuration) -> np.ndarray:
        """All chosen points on the surface [S, 3] (m)."""
        return self._evaluate(self._surface, configuration.q, False)[0]

    def points_and_jacobians(
        self, configuration: Configuration, index: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Surface points [N, 3] (m) and their Jacobians [N, 3, k]."""
        chosen = tuple(part[index] for part in self._surface)
        return self._evaluate(chosen, configuration.q, True)

    def _evaluate(self, points, q: np.ndarray, with_jacobian: bool):
        """Positions [N, 3] and Jacobians [N, 3, k] of points (shift, mean, basis)."""
        shift, mean, basis = points
        c, slope = coefficients(self.data.features, q[self.data.first :], with_jacobian)
        if not self.floating:
            return mean + basis @ c, basis @ slope
        rotation, angular = np.empty((3, 3)), np.empty((3, 3))
        root_pose(q, rotation, angular)
        return low_rank_points(shift, mean, basis, c, slope, rotation, angular, q, with_jacobian)


def _sample_body(
    body: Body, surface: SurfaceSamples, q: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Mass points [N, P, 3] and surface points [N, S, 3] of the body."""
    points, on_surface, surface_at = [], [], surface_map(body, surface)
    with torch.no_grad():
        for rows in torch.from_numpy(q).split(8):
            points.append(body.points(rows).numpy())
            on_surface.append(surface_at(rows).numpy())
    return np.concatenate(points), np.concatenate(on_surface)


def _modes(moves: np.ndarray) -> tuple[np.ndarray, int]:
    """Orthonormal modes [P, 3, r] of moves [N, P, 3], as many as matter."""
    flat = moves.reshape(len(moves), -1)
    values, vectors = np.linalg.eigh(flat @ flat.T)
    values, vectors = values[::-1], vectors[:, ::-1]
    left = 1 - np.cumsum(values) / max(values.sum(), 1e-300)
    count = int(np.clip((left > 1e-7).sum() + 1, 1, min(_MOST_MODES, len(values))))
    modes = flat.T @ vectors[:, :count] / np.sqrt(np.maximum(values[:count], 1e-300))
    return modes.reshape(*moves.shape[1:], count), count


def _fit_surface(tracks: np.ndarray, surface: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean [S, 3] and basis [S, 3, r] of points [N, S, 3] as linear functions of tracks [N, r]."""
    count = surface.shape[1]
    design = np.concatenate([np.ones((len(tracks), 1)), tracks], axis=1)
    normal = design.T @ design
    normal[np.diag_indices_from(normal)] += 1e-10 * np.diag(normal)
    solution = np.linalg.solve(normal, design.T @ surface.reshape(len(surface), -1))
    solution = solution.reshape(design.shape[1], count, 3)
    return solution[0].copy(), np.ascontiguousarray(np.moveaxis(solution[1:], 0, -1))
