"""Features: a few smooth functions of many coordinates, fitted by least squares and compiled.

They are sums of all products of two coordinates and, for what these leave, of tanh features of
random directions, in all coordinates at once or in one to three of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from kin4d.bodies.body import Body

_MOST = 320  # random features
_SCALES = (0.2, 0.5, 1.0)


class QuadraticFeatures(NamedTuple):
    """Coefficients c(q) [r] = out @ features(q).

    Attributes:
        middle: [k] centre of the coordinates' box.
        half: [k] half its size.
        slopes: [F, k] and offsets [F] of the features tanh(slopes s + offsets), s in [-1, 1]^k.
        offsets: See slopes.
        linear: [r, 1 + k] constant and linear part of c.
        square: [r, k (k + 1) / 2] its part in the products s_i s_j, i >= j, row by row.
        out: [r, F] the rest of it.
    """

    middle: np.ndarray
    half: np.ndarray
    slopes: np.ndarray
    offsets: np.ndarray
    linear: np.ndarray
    square: np.ndarray
    out: np.ndarray


@numba.njit(cache=True, error_model="numpy")
def coefficients(features, q, with_jacobian):
    """c [r] and dc/dq [r, k] (zero unless wanted) at q [k]."""
    rank, count = features.out.shape
    k = len(features.middle)
    s = np.empty(k)
    for i in range(k):
        s[i] = (q[i] - features.middle[i]) / features.half[i]
    c, jacobian = np.empty(rank), np.zeros((rank, k))
    phi = np.empty(count)
    for f in range(count):
        total = features.offsets[f]
        for i in range(k):
            total += features.slopes[f, i] * s[i]
        phi[f] = np.tanh(total)
    products = np.empty(features.square.shape[1])
    at = 0
    for i in range(k):
        for j in range(i + 1):
            products[at] = s[i] * s[j]
            at += 1
    c[:] = features.out @ phi + features.square @ products
    for r in range(rank):
        c[r] += features.linear[r, 0]
        for i in range(k):
            c[r] += features.linear[r, 1 + i] * s[i]
    if with_jacobian:
        scaled = np.empty((count, k))
        for f in range(count):
            for i in range(k):
                scaled[f, i] = (1.0 - phi[f] * phi[f]) * features.slopes[f, i] / features.half[i]
        jacobian[:] = features.out @ scaled
        for r in range(rank):
            at = 0
            for i in range(k):
                jacobian[r, i] += features.linear[r, 1 + i] / features.half[i]
                for j in range(i + 1):
                    weight = features.square[r, at]
                    jacobian[r, i] += weight * s[j] / features.half[i]
                    jacobian[r, j] += weight * s[i] / features.half[j]
                    at += 1
    return c, jacobian


def coordinate_box(body: Body) -> tuple[np.ndarray, np.ndarray]:
    """Centre and half size [k] of the coordinates' box; within 1 of rest where unlimited."""
    limits, rest = body.limits.numpy(), body.q0.numpy()
    lower = np.where(np.isfinite(limits[:, 0]), limits[:, 0], rest - 1)
    upper = np.where(np.isfinite(limits[:, 1]), limits[:, 1], rest + 1)
    return (lower + upper) / 2, np.maximum((upper - lower) / 2, 1e-9)


def latin_samples(count: int, k: int, rng: np.random.Generator) -> np.ndarray:
    """[count, k] in the unit box, in all directions and evenly from its middle to its sides.

    Evenly in the box itself, nearly all points of many dimensions would be near corners, where
    all coordinates are extreme at once and bodies never go.
    """
    return rng.uniform(-1.05, 1.05, (count, k)) * rng.uniform(0, 1, (count, 1))


def extreme_coordinates(k: int) -> np.ndarray:
    """The middle of the unit box and the ends of its axes."""
    return np.concatenate([np.eye(k), -np.eye(k), np.zeros((1, k))])


def fit_features(
    s: np.ndarray,
    tracks: np.ndarray,
    box: tuple[np.ndarray, np.ndarray],
    rng: np.random.Generator,
) -> QuadraticFeatures:
    """Features that follow tracks [N, r] at s [N, k] in the unit box: of several kinds of random
    ones those that do best on a held-out fifth.

    Args:
        s: Where.
        tracks: What.
        box: Centre and half size [k] of the coordinates' box.
        rng: Of the random features.
    """
    held, kept = np.split(rng.permutation(len(s)), [len(s) // 5])
    k = s.shape[1]
    count = max(min(int(0.6 * len(s)) - k * (k + 1) // 2, _MOST), 16)
    best = None
    for scale in _SCALES:
        for few in (False, True):
            slopes = rng.normal(0, scale, (count, k))
            if few:
                order = rng.permuted(np.tile(np.arange(k), (count, 1)), axis=1)
                slopes *= 2.0 * (order < rng.integers(1, 4, (count, 1)))
            offsets = rng.uniform(-1.5, 1.5, count)
            trial = _fit(s[kept], tracks[kept], slopes, offsets)
            gap = _design(s[held], slopes, offsets) @ trial - tracks[held]
            error = float(np.square(gap).sum())
            if best is None or error < best[0]:
                best = (error, slopes, offsets)
    assert best is not None
    _, slopes, offsets = best
    weights = _fit(s, tracks, slopes, offsets).T
    parts = np.split(weights, [1 + k, 1 + k + k * (k + 1) // 2], axis=1)
    return QuadraticFeatures(*box, slopes, offsets, *map(np.ascontiguousarray, parts))


def _design(s: np.ndarray, slopes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    i, j = np.tril_indices(s.shape[1])
    waves = np.tanh(s @ slopes.T + offsets)
    return np.concatenate([np.ones((len(s), 1)), s, s[:, i] * s[:, j], waves], axis=1)


def _fit(s: np.ndarray, tracks: np.ndarray, slopes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """[features, r] by ridge regression."""
    phi = _design(s, slopes, offsets)
    gram = phi.T @ phi
    gram[np.diag_indices_from(gram)] += 1e-9 * np.trace(gram) / len(gram)
    return np.linalg.solve(gram, phi.T @ tracks)
