"""Polygons into triangles: fans where they are convex, ear clipping where they are not."""

from __future__ import annotations

import numpy as np

from kin4d.errors import InputError

_MOST_CORNERS = 4096  # ear clipping takes the square of this


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
    triangles, polygon = [np.empty((0, 3), np.int64)], [np.empty(0, np.int64)]
    for count in np.unique(counts[counts >= 3]):
        ids = np.flatnonzero(counts == count)
        step = np.arange(count - 2)
        fan = np.stack([0 * step, step + 1, step + 2], axis=1)
        local = np.broadcast_to(fan, (len(ids), *fan.shape)).copy()
        if count > 3:
            points = vertices[corners[starts[ids, None] + np.arange(count)]]
            for row in np.flatnonzero(~_convex(points)):
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
            hint="triangulate the mesh in the program that made it",
        )
    normal = _normals(points)
    # Drop the axis the polygon faces most, keeping it counter-clockwise.
    axis = int(np.abs(normal).argmax())
    flat = points[:, [(axis + 1) % 3, (axis + 2) % 3]] * [np.sign(normal[axis]) or 1.0, 1.0]
    left, result = list(range(len(points))), []
    while len(left) > 3:
        for i in range(len(left)):
            ear = (left[i - 1], left[i], left[(i + 1) % len(left)])
            if _is_ear(flat, ear, left):
                break
        else:
            i, ear = 1, tuple(left[:3])  # self-crossing: any cut keeps the corners
        result.append(ear)
        del left[i]
    return np.array([*result, left])


def _is_ear(flat: np.ndarray, ear: tuple[int, int, int], left: list[int]) -> bool:
    a, b, c = flat[list(ear)]
    if _signed_area(a, b, c) <= 0:
        return False
    others = flat[[i for i in left if i not in ear]]
    inside = (
        (_signed_area(a, b, others) >= 0)
        & (_signed_area(b, c, others) >= 0)
        & (_signed_area(c, a, others) >= 0)
    )
    # A corner at the very position of one of the ear's (a slit) does not block it.
    on_corner = (others[:, None] == np.stack([a, b, c])).all(-1).any(-1)
    return not (inside & ~on_corner).any()


def _signed_area(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Twice the signed area of triangles a, b, c, with c [..., 2]."""
    return (b[0] - a[0]) * (c[..., 1] - a[1]) - (b[1] - a[1]) * (c[..., 0] - a[0])
