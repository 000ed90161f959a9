"""How deep points lie inside closed surfaces: exact, by signed ray crossings and distances."""

from __future__ import annotations

import numpy as np
from numba import njit

_GRID = 24


def point_depths(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """[N] m: distance to the surface for points [N, 3] inside `triangles` [F, 3, 3], else 0.

    Inside is where the crossings of the surface along a ray, signed by the direction in which
    they pass, do not cancel; for a closed surface that is its winding number.
    """
    points, triangles = np.ascontiguousarray(points), np.ascontiguousarray(triangles)
    inside = _winding(_sheared(points), _sheared(triangles), _GRID) != 0
    out = np.zeros(len(points))
    out[inside] = _distances(points[inside], triangles)
    return out


def _sheared(points: np.ndarray) -> np.ndarray:
    """Space slanted so that rays along z meet no edge of anything built square."""
    out = points.copy()
    out[..., 0] += 0.0123457 * points[..., 2] + 0.0031416 * points[..., 1]
    out[..., 1] += 0.0271829 * points[..., 2]
    return out


@njit(cache=True)
def _winding(points: np.ndarray, triangles: np.ndarray, grid: int) -> np.ndarray:
    """[N] signed crossings of the surface above each point, its triangles sorted into columns."""
    low, high = triangles[0, 0, :2].copy(), triangles[0, 0, :2].copy()
    for f in range(len(triangles)):
        for c in range(3):
            for k in range(2):
                low[k] = min(low[k], triangles[f, c, k])
                high[k] = max(high[k], triangles[f, c, k])
    per = np.empty(2)
    for k in range(2):
        per[k] = grid / max(high[k] - low[k], 1e-12)
    spans = np.empty((len(triangles), 4), np.int64)
    starts = np.zeros(grid * grid + 1, np.int64)
    for f in range(len(triangles)):
        for k in range(2):
            a = min(triangles[f, 0, k], triangles[f, 1, k], triangles[f, 2, k])
            b = max(triangles[f, 0, k], triangles[f, 1, k], triangles[f, 2, k])
            spans[f, 2 * k] = min(int((a - low[k]) * per[k]), grid - 1)
            spans[f, 2 * k + 1] = min(int((b - low[k]) * per[k]), grid - 1)
        for i in range(spans[f, 0], spans[f, 1] + 1):
            for j in range(spans[f, 2], spans[f, 3] + 1):
                starts[i * grid + j + 1] += 1
    starts = np.cumsum(starts)
    members, fill = np.empty(starts[-1], np.int64), starts.copy()
    for f in range(len(triangles)):
        for i in range(spans[f, 0], spans[f, 1] + 1):
            for j in range(spans[f, 2], spans[f, 3] + 1):
                members[fill[i * grid + j]] = f
                fill[i * grid + j] += 1
    out = np.zeros(len(points), np.int64)
    for n in range(len(points)):
        i, j = int((points[n, 0] - low[0]) * per[0]), int((points[n, 1] - low[1]) * per[1])
        if points[n, 0] < low[0] or points[n, 1] < low[1] or i >= grid or j >= grid:
            continue
        for m in range(starts[i * grid + j], starts[i * grid + j + 1]):
            out[n] += _crossing(points[n], triangles[members[m]])
    return out


@njit(cache=True)
def _crossing(p: np.ndarray, t: np.ndarray) -> int:
    """+1, -1 or 0: whether and which way the ray from p along z passes the triangle."""
    ax, ay = t[1, 0] - t[0, 0], t[1, 1] - t[0, 1]
    bx, by = t[2, 0] - t[0, 0], t[2, 1] - t[0, 1]
    area = ax * by - ay * bx
    if area == 0.0:
        return 0
    px, py = p[0] - t[0, 0], p[1] - t[0, 1]
    u, v = (px * by - py * bx) / area, (ax * py - ay * px) / area
    if u < 0.0 or v < 0.0 or u + v >= 1.0:
        return 0
    if t[0, 2] + u * (t[1, 2] - t[0, 2]) + v * (t[2, 2] - t[0, 2]) <= p[2]:
        return 0
    return 1 if area > 0.0 else -1


@njit(cache=True)
def _distances(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """[N] distance of each point to the nearest triangle."""
    out = np.empty(len(points))
    for i in range(len(points)):
        nearest = np.inf
        for f in range(len(triangles)):
            nearest = min(nearest, _squared_distance(points[i], triangles[f]))
        out[i] = np.sqrt(nearest)
    return out


@njit(cache=True)
def _squared_distance(p: np.ndarray, t: np.ndarray) -> float:
    """Squared distance of a point to a triangle, by the region its projection falls in."""
    ab, ac, ap = t[1] - t[0], t[2] - t[0], p - t[0]
    d1, d2 = _dot(ab, ap), _dot(ac, ap)
    aa, bb, cc = _dot(ab, ab), _dot(ab, ac), _dot(ac, ac)
    det = aa * cc - bb * bb
    if det > 0.0:
        v, w = (cc * d1 - bb * d2) / det, (aa * d2 - bb * d1) / det
        if v >= 0.0 and w >= 0.0 and v + w <= 1.0:
            gap = ap - v * ab - w * ac
            return _dot(gap, gap)
    best = _segment(p, t[0], t[1])
    best = min(best, _segment(p, t[1], t[2]))
    return min(best, _segment(p, t[2], t[0]))


@njit(cache=True)
def _segment(p: np.ndarray, a: np.ndarray, b: np.ndarray) -> float:
    along, to = b - a, p - a
    length = _dot(along, along)
    s = 0.0 if length == 0.0 else min(max(_dot(along, to) / length, 0.0), 1.0)
    gap = to - s * along
    return _dot(gap, gap)


@njit(cache=True)
def _dot(a: np.ndarray, b: np.ndarray) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
