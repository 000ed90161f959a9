"""Which points are near what, compiled: a plane, a rigid part, a part that deforms."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from kin4d.dynamics.contact.distance_field import sample_sdf


class PointSet(NamedTuple):
    """Surface points of a shape.

    Attributes:
        points: [S, 3] m, contact points first.
        box: Lowest and highest x, y and z of the contact points: six numbers, m.
    """

    points: np.ndarray
    box: tuple[float, ...]


def make_point_set(points: np.ndarray, count: int) -> PointSet:
    """Points of which the first `count` are contact points."""
    return PointSet(points, _box(points, count))


def boxes_overlap(one: tuple[float, ...], other: tuple[float, ...], margin: float) -> bool:
    """Whether two boxes are nearer than `margin`."""
    return (
        one[0] - margin <= other[3] and other[0] - margin <= one[3]
        and one[1] - margin <= other[4] and other[1] - margin <= one[4]
        and one[2] - margin <= other[5] and other[2] - margin <= one[5]
    )  # fmt: skip


@numba.njit(cache=True, error_model="numpy")
def _box(points, count):
    a, b, c, x, y, z = np.inf, np.inf, np.inf, -np.inf, -np.inf, -np.inf
    for i in range(count):
        a, b, c = min(a, points[i, 0]), min(b, points[i, 1]), min(c, points[i, 2])
        x, y, z = max(x, points[i, 0]), max(y, points[i, 1]), max(z, points[i, 2])
    return a, b, c, x, y, z


@numba.njit(cache=True, error_model="numpy")
def collide_plane(points, which, height, margin):
    """Which of the points `which` [C] are lower than `margin` above the plane, gaps and normals."""
    index, gap = np.empty(len(which), np.int64), np.empty(len(which))
    found = 0
    for i in which:
        above = points[i, 2] - height
        if above < margin:
            index[found], gap[found] = i, above
            found += 1
    normal = np.zeros((found, 3))
    normal[:, 2] = 1.0
    return index[:found].copy(), gap[:found].copy(), normal


@numba.njit(cache=True, error_model="numpy")
def collide_part(points, which, rotation, origin, field, margin):
    """Indices, gaps and outward world normals of points near a field that a frame carries."""
    count = len(which)
    index, gap, normal = np.empty(count, np.int64), np.empty(count), np.empty((count, 3))
    local, slope, found = np.empty(3), np.empty(3), 0
    for i in which:
        x, y, z = points[i, 0] - origin[0], points[i, 1] - origin[1], points[i, 2] - origin[2]
        for r in range(3):
            local[r] = rotation[0, r] * x + rotation[1, r] * y + rotation[2, r] * z
        distance = sample_sdf(field, local, slope)
        if distance < margin:
            _outward(rotation, slope, normal[found])
            index[found], gap[found] = i, distance
            found += 1
    return index[:found].copy(), gap[:found].copy(), normal[:found].copy()


@numba.njit(cache=True, error_model="numpy")
def collide_soft(points, which, others, rest, neighbours, field, margin, reach):
    """As `collide_part`, for a part that deforms, and the contact point nearest to each point.

    The rest shape's field is carried by the nearest contact point and its neighbours: a point is
    taken back to the rest shape by the rotation that fits them best.
    """
    count = len(which)
    index, gap, normal = np.empty(count, np.int64), np.empty(count), np.empty((count, 3))
    at = np.empty(count, np.int64)
    local, slope, found = np.empty(3), np.empty(3), 0
    for i in which:
        best, nearest = reach * reach, -1
        for j in range(len(rest)):
            x, y, z = (
                points[i, 0] - others[j, 0],
                points[i, 1] - others[j, 1],
                points[i, 2] - others[j, 2],
            )
            squared = x * x + y * y + z * z
            if squared < best:
                best, nearest = squared, j
        if nearest < 0:
            continue
        rotation = _best_rotation(others, rest, nearest, neighbours)
        for r in range(3):
            local[r] = rest[nearest, r]
            for s in range(3):
                local[r] += rotation[s, r] * (points[i, s] - others[nearest, s])
        distance = sample_sdf(field, local, slope)
        if distance < margin:
            _outward(rotation, slope, normal[found])
            index[found], gap[found], at[found] = i, distance, nearest
            found += 1
    return index[:found].copy(), gap[:found].copy(), normal[:found].copy(), at[:found].copy()


@numba.njit(cache=True, error_model="numpy")
def _best_rotation(points, rest, i, neighbours):
    """[3, 3] rotation that takes the rest neighbourhood of point i to where it is now."""
    moment = np.zeros((3, 3))
    for j in neighbours[i]:
        for r in range(3):
            for s in range(3):
                moment[r, s] += (points[j, r] - points[i, r]) * (rest[j, s] - rest[i, s])
    u, _, v = np.linalg.svd(moment)
    if np.linalg.det(u) * np.linalg.det(v) < 0:
        u[:, 2] = -u[:, 2]
    return u @ v


@numba.njit(cache=True, error_model="numpy")
def _outward(rotation, slope, normal):
    length = np.sqrt(slope[0] ** 2 + slope[1] ** 2 + slope[2] ** 2) + 1e-30
    for r in range(3):
        normal[r] = (
            rotation[r, 0] * slope[0] + rotation[r, 1] * slope[1] + rotation[r, 2] * slope[2]
        ) / length


@numba.njit(cache=True, error_model="numpy")
def reduce_contacts(contacts, points, last_impulse, depth, most):
    """At most `most` contacts: the deepest, then those far from the ones before.

    Args:
        contacts: Indices [N], gaps [N], normals [N, 3] and carriers [N], see `ContactSet`.
        points: [S, 3] m.
        last_impulse: [C, 3] N s that acted last on each contact point, along the normal first.
        depth: m by which points with an impulse count as deeper: it keeps warm starts valid.
        most: How many.
    """
    index, gap, normal, carrier = contacts
    n = len(index)
    chosen, apart, rank = np.empty(most, np.int64), np.full(n, np.inf), np.empty(n)
    for i in range(n):
        rank[i] = gap[i] - (depth if last_impulse[index[i], 0] > 0 else 0.0)
    chosen[0] = rank.argmin()
    for c in range(1, most):
        last, best, pick = index[chosen[c - 1]], -np.inf, 0
        for i in range(n):
            squared = 0.0
            for r in range(3):
                squared += (points[index[i], r] - points[last, r]) ** 2
            apart[i] = min(apart[i], np.sqrt(squared))
            # Depth counts against distance: what is about to touch matters more than what is not.
            score = apart[i] - 4.0 * rank[i]
            if apart[i] > 0 and score > best:
                best, pick = score, i
        chosen[c] = pick
    return index[chosen], gap[chosen], normal[chosen], carrier[chosen]
