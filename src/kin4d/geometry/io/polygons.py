"""Polygons into triangles: fans where they are convex, ear clipping where they are not."""

from __future__ import annotations

import numba
import numpy as np

from kin4d.errors import InputError

_MOST_CORNERS = 4096  # ear clipping takes the square of this
_MOST_WORK = 60 * _MOST_CORNERS**2  # about ten seconds
_HINT = "triangulate the mesh in the program that made it"


def triangulate(
    vertices: np.ndarray, corners: np.ndarray, counts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Split polygons into triangles with the same winding.

    Args:
        vertices: [V, 3].
        corners: [C] vertex of each polygon corner, all polygons one after the other.
        counts: [P] corners of each polygon. Those with fewer than three vanish.

    Returns:
        ``triangles`` [T, 3]: indices into `corners`, polygon by polygon; and ``polygon`` [T]:
        which polygon each triangle is of.
    """
    starts = np.cumsum(counts) - counts
    work = 0
    triangles, polygon = [np.empty((0, 3), np.int64)], [np.empty(0, np.int64)]
    for count in np.unique(counts[counts >= 3]):
        ids = np.flatnonzero(counts == count)
        step = np.arange(count - 2)
        fan = np.stack([0 * step, step + 1, step + 2], axis=1)
        local = np.broadcast_to(fan, (len(ids), *fan.shape)).copy()
        if count > 3:
            points = vertices[corners[starts[ids, None] + np.arange(count)]]
            odd = np.flatnonzero(~_convex(points))
            work += len(odd) * int(count) ** 2
            if work > _MOST_WORK:
                raise InputError(
                    "its polygons that are not convex have too many corners", hint=_HINT
                )
            for row in odd:
                local[row] = _clip_ears(points[row])
        triangles.append((local + starts[ids, None, None]).reshape(-1, 3))
        polygon.append(np.repeat(ids, count - 2))
    order = np.argsort(np.concatenate(polygon), kind="stable")
    return np.concatenate(triangles)[order], np.concatenate(polygon)[order]


def _normals(points: np.ndarray) -> np.ndarray:
    """[..., 3] area normals (Newell) of [..., n, 3] polygons."""
    local = points - points[..., :1, :]
    return np.cross(local, np.roll(local, -1, axis=-2)).sum(-2)


def _convex(points: np.ndarray) -> np.ndarray:
    """[P] whether every corner of [P, n, 3] bends in the sense of the polygon."""
    edges = np.roll(points, -1, axis=-2) - points
    bends = np.cross(np.roll(edges, 1, axis=-2), edges)
    along = np.einsum("pni,pi->pn", bends, _normals(points))
    # Rounding bends a straight corner a little; NaN polygons are left to `repair_mesh`.
    return ~(along < -1e-9 * np.abs(along).max(-1, keepdims=True)).any(-1)


def _clip_ears(points: np.ndarray) -> np.ndarray:
    """[n - 2, 3] triangles of one simple polygon [n, 3]."""
    if len(points) > _MOST_CORNERS:
        raise InputError(
            "a face is a polygon with too many corners",
            value=len(points),
            allowed=f"{_MOST_CORNERS} where it is not convex",
            hint=_HINT,
        )
    normal = _normals(points)
    # Drop the axis the polygon faces most, keeping it counter-clockwise.
    axis = int(np.abs(normal).argmax())
    flat = points[:, [(axis + 1) % 3, (axis + 2) % 3]] * [np.sign(normal[axis]) or 1.0, 1.0]
    return _clip(flat)


@numba.njit(cache=True)
def _clip(flat):
    """[n - 2, 3] triangles of one simple polygon [n, 2]; the first ear is cut, again and again."""
    count = len(flat)
    before, after = np.arange(-1, count - 1), np.arange(1, count + 1)
    before[0], after[count - 1] = count - 1, 0
    ears = np.empty(count, np.bool_)
    for i in range(count):
        ears[i] = _is_ear(flat, before, after, i)
    result = np.empty((count - 2, 3), np.int64)
    head = 0
    for row in range(count - 3):
        i = head
        while not ears[i]:
            i = after[i]
            if i == head:
                i = after[head]  # self-crossing: any cut keeps the corners
                break
        left, right = before[i], after[i]
        result[row] = left, i, right
        after[left], before[right] = right, left
        if i == head:
            head = right
        # Only its neighbours can have become ears: what is cut off was in the way of no other.
        ears[left] = _is_ear(flat, before, after, left)
        ears[right] = _is_ear(flat, before, after, right)
    result[count - 3] = head, after[head], after[after[head]]
    return result


@numba.njit(cache=True)
def _is_ear(flat, before, after, i):
    a, b, c = flat[before[i]], flat[i], flat[after[i]]
    if _signed_area(a, b, c) <= 0:
        return False
    at = after[after[i]]
    while at != before[i]:
        p = flat[at]
        inside = (
            _signed_area(a, b, p) >= 0 and _signed_area(b, c, p) >= 0 and _signed_area(c, a, p) >= 0
        )
        # A corner at the very position of one of the ear's (a slit) does not block it.
        if inside and not (_same(p, a) or _same(p, b) or _same(p, c)):
            return False
        at = after[at]
    return True


@numba.njit(cache=True)
def _same(a, b):
    return a[0] == b[0] and a[1] == b[1]


@numba.njit(cache=True)
def _signed_area(a, b, c):
    """Twice the signed area of triangle a, b, c."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
