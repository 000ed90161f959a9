"""LowRankMap: any smooth body with few coordinates, distilled to a map that costs microseconds.

The points of a body with k coordinates move in a linear space of few dimensions, to any accuracy
one asks for: x(q) = mean + B c(q), with B orthonormal in the mass metric. So c itself is the
embedding of `PointMap`, and stepping costs the same for a hundred points and a million. c(q) is
fitted by least squares: all products of two coordinates, and for what they leave tanh features of
random directions, in all coordinates at once or in one to three of them.
"""

from __future__ import annotations

import numpy as np
import torch

from kin4d.bodies.body import Body
from kin4d.geometry.sampling import SurfaceSamples
from kin4d.motion.maps.direct import DirectMap, probe_of
from kin4d.motion.maps.low_rank_kernels import LowRankData, carry, coefficients
from kin4d.motion.maps.point_map import PointMap
from kin4d.motion.maps.rotation import root_pose

ACCEPTED = 0.04  # Of the diameter, over the whole box: a fit worse than that is not used.
_MOST_MODES, _MOST_FEATURES = 40, 320
_SCALES = (0.2, 0.5, 1.0)


def fit_map(body: Body, places: SurfaceSamples, *, floating: bool, mass_scale: float) -> PointMap:
    """The distilled map of a body without a floating root, or a `DirectMap` if it fits ill."""
    found = LowRankMap(body, places, floating=floating, mass_scale=mass_scale)
    if found.error <= ACCEPTED * body.rest.diameter:
        return found
    return DirectMap(body, places, floating=floating, mass_scale=mass_scale)


class LowRankMap(PointMap):
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
        middle, half = _box(body)
        train = np.concatenate([_spread(60 + 120 * k, k, rng), _ends(k)])
        test = _spread(64, k, rng)
        moved = [_evaluate(body, places, middle + half * s) for s in (train, test)]
        (points, spots), (test_points, test_spots) = moved
        root = np.sqrt(self.mass)[:, None]
        mean = points.mean(0)
        basis, modes = _modes((points - mean) * root)
        tracks = np.einsum("npi,pir->nr", (points - mean) * root, basis)
        self._mean, self._basis = mean, basis / root[:, :, None]
        linear, square, out, slopes, offsets = _fit_best(train, tracks, rng)
        first = 6 if floating else 0
        spot_mean, spot_basis = _follow(tracks, spots)
        self._spots = (np.ones(len(spot_mean)), spot_mean, spot_basis)
        lumps = (np.zeros(0), np.zeros((0, 3)), np.zeros((0, 3, modes)))
        self._to_lumps = np.zeros((0, 0))
        if floating:
            lumps, self._to_lumps = self._lumps()
        self.data = LowRankData(
            first, middle, half, slopes, offsets, linear, square, out,
            *map(np.ascontiguousarray, lumps),
        )  # fmt: skip
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
        from kin4d.motion.maps.low_rank_kernels import low_rank_embed

        y, jacobian = np.empty(self.size), np.empty((self.size, self.width))
        low_rank_embed(self.data, q, y, jacobian, True)
        return y, jacobian

    def points(self, q: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Mass points [P, 3] (m)."""
        if not self.floating:
            c = y if len(y) else coefficients(self.data, q, False)[0]
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

    def place_jacobians(self, q: np.ndarray, index: np.ndarray) -> np.ndarray:
        """d places / dq [N, 3, k]."""
        return self._carried(tuple(part[index] for part in self._spots), q, True)[1]

    def _carried(self, points, q: np.ndarray, with_jacobian: bool):
        """Places [N, 3] and Jacobians [N, 3, k] of (shift, mean, basis)."""
        shift, mean, basis = points
        c, slope = coefficients(self.data, q, with_jacobian)
        if not self.floating:
            return mean + basis @ c, basis @ slope
        rotation, turning = np.empty((3, 3)), np.empty((3, 3))
        root_pose(q, rotation, turning)
        return carry(shift, mean, basis, c, slope, rotation, turning, q, with_jacobian)


def _box(body: Body) -> tuple[np.ndarray, np.ndarray]:
    """Centre and half size [k] of the coordinates' box; one unit either way where unlimited."""
    limits, rest = body.limits.numpy(), body.q0.numpy()
    lower = np.where(np.isfinite(limits[:, 0]), limits[:, 0], rest - 1)
    upper = np.where(np.isfinite(limits[:, 1]), limits[:, 1], rest + 1)
    return (lower + upper) / 2, np.maximum((upper - lower) / 2, 1e-9)


def _spread(count: int, k: int, rng: np.random.Generator) -> np.ndarray:
    """[count, k] in the unit box, in all directions and evenly from its middle to its sides.

    Evenly in the box itself, nearly all points of many dimensions would be near corners, where
    all coordinates are extreme at once and bodies never go.
    """
    return rng.uniform(-1.05, 1.05, (count, k)) * rng.uniform(0, 1, (count, 1))


def _ends(k: int) -> np.ndarray:
    """The middle of the unit box and the ends of its axes."""
    return np.concatenate([np.eye(k), -np.eye(k), np.zeros((1, k))])


def _evaluate(body: Body, places: SurfaceSamples, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mass points [N, P, 3] and places [N, S, 3] of the body."""
    points, spots, probe = [], [], probe_of(body, places)
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


def _fit_best(s: np.ndarray, tracks: np.ndarray, rng: np.random.Generator):
    """The fit with those features that do best on a held-out fifth."""
    held, kept = np.split(rng.permutation(len(s)), [len(s) // 5])
    k = s.shape[1]
    count = max(min(int(0.6 * len(s)) - k * (k + 1) // 2, _MOST_FEATURES), 16)
    best = None
    for scale in _SCALES:
        for few in (False, True):
            slopes = rng.normal(0, scale, (count, k))
            if few:
                order = rng.permuted(np.tile(np.arange(k), (count, 1)), axis=1)
                slopes *= 2.0 * (order < rng.integers(1, 4, (count, 1)))
            offsets = rng.uniform(-1.5, 1.5, count)
            trial = _fit(s[kept], tracks[kept], slopes, offsets)
            gap = _features(s[held], slopes, offsets) @ trial - tracks[held]
            error = float(np.square(gap).sum())
            if best is None or error < best[0]:
                best = (error, slopes, offsets)
    assert best is not None
    _, slopes, offsets = best
    weights = _fit(s, tracks, slopes, offsets).T
    parts = np.split(weights, [1 + k, 1 + k + k * (k + 1) // 2], axis=1)
    return (*map(np.ascontiguousarray, parts), slopes, offsets)


def _features(s: np.ndarray, slopes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    i, j = np.tril_indices(s.shape[1])
    waves = np.tanh(s @ slopes.T + offsets)
    return np.concatenate([np.ones((len(s), 1)), s, s[:, i] * s[:, j], waves], axis=1)


def _fit(s: np.ndarray, tracks: np.ndarray, slopes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """[features, r] by ridge regression."""
    phi = _features(s, slopes, offsets)
    gram = phi.T @ phi
    gram[np.diag_indices_from(gram)] += 1e-9 * np.trace(gram) / len(gram)
    return np.linalg.solve(gram, phi.T @ tracks)


def _follow(tracks: np.ndarray, spots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean [S, 3] and basis [S, 3, r] of places as linear functions of the coefficients."""
    count = spots.shape[1]
    design = np.concatenate([np.ones((len(tracks), 1)), tracks], axis=1)
    gram = design.T @ design
    gram[np.diag_indices_from(gram)] += 1e-10 * np.diag(gram)
    solution = np.linalg.solve(gram, design.T @ spots.reshape(len(spots), -1))
    solution = solution.reshape(design.shape[1], count, 3)
    return solution[0].copy(), np.ascontiguousarray(np.moveaxis(solution[1:], 0, -1))
