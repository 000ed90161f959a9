"""Distances between shapes: Chamfer, F-score, voxel IoU. Each is symmetric in its arguments."""

from __future__ import annotations

import numpy as np

from kin4d.errors import InputError
from kin4d.geometry.mesh import RawMesh

_MOST_CELLS = 2048  # along one axis
_FARTHEST = 2**20  # cell from the origin: three coordinates then fit in one 64-bit number
_BATCH = 1_000_000  # pairs of triangle and cell tested at once


def chamfer_l1(a: np.ndarray, b: np.ndarray) -> float:
    """Chamfer distance with plain distances, in the points' unit (m).

    ``(mean over p in a of |p - nearest in b| + mean over p in b of |p - nearest in a|) / 2``,
    with Euclidean length.

    Args:
        a: [N, 3].
        b: [M, 3].
    """
    there, back = nearest_distances(a, b)
    return float(there.mean() + back.mean()) / 2


def chamfer_l2(a: np.ndarray, b: np.ndarray) -> float:
    """Chamfer distance with squared distances (m²): as `chamfer_l1` with |p - nearest|² instead.

    No square root is taken at the end.
    """
    there, back = nearest_distances(a, b)
    return float(np.square(there).mean() + np.square(back).mean()) / 2


def f_score(a: np.ndarray, b: np.ndarray, *, threshold: float) -> float:
    """Harmonic mean of two shares, in [0, 1]; 0 if both are.

    They are the share of `a` within `threshold` (m, inclusive) of a point of `b`, and the share of
    `b` so close to a point of `a`.
    """
    if not threshold > 0:
        raise InputError("F-score threshold must be positive", value=threshold, allowed="> 0 m")
    there, back = nearest_distances(a, b)
    precision, recall = float((there <= threshold).mean()), float((back <= threshold).mean())
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def voxel_iou(
    a: RawMesh | np.ndarray,
    b: RawMesh | np.ndarray,
    *,
    cell: float = 1 / 32,
    origin: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> float:
    """Cells that both shapes touch over cells that either touches, in [0, 1].

    The grid has cubes of side `cell` with a corner at `origin`, and no end. Of a mesh it is the
    *surface* that counts, not its inside: exactly the cells that some triangle touches, faces of
    the cube included. Of points [N, 3] it is the cells they are in (lower faces included, upper
    ones not). Bring both into a unit box first for cells of 1/32 of it.
    """
    first, second = (occupied_cells(shape, cell=cell, origin=origin) for shape in (a, b))
    joint = len(_unique(np.concatenate([first, second])))
    return (len(first) + len(second) - joint) / joint


def occupied_cells(
    shape: RawMesh | np.ndarray,
    *,
    cell: float = 1 / 32,
    origin: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> np.ndarray:
    """[C, 3] int64 grid coordinates of the cells that `voxel_iou` counts, sorted."""
    if not (cell > 0 and np.isfinite(cell)):
        raise InputError("voxel cell must be positive", value=cell, allowed="> 0 m")
    points = shape.vertices if isinstance(shape, RawMesh) else _points(shape)
    points = (points - np.asarray(origin, np.float64)) / cell
    span = float(np.ptp(points, axis=0).max())
    if not (span <= _MOST_CELLS and np.abs(points).max() < _FARTHEST - 1):
        raise InputError(
            "the voxel grid is too fine for this shape",
            value=f"{span:.0f} cells across, {np.abs(points).max():.0f} from the origin",
            allowed=f"{_MOST_CELLS} across, {_FARTHEST} from the origin",
            hint="bring the shape into a unit box first, or use larger cells",
        )
    if not isinstance(shape, RawMesh):
        return _unique(np.floor(points).astype(np.int64))
    triangles = points[shape.faces]
    # A surface on the border of two cells touches both, whichever way rounding pushes it.
    low = np.floor(triangles.min(1) - 1e-9).astype(np.int64)
    shape_of = np.floor(triangles.max(1) + 1e-9).astype(np.int64) - low + 1
    counts = shape_of.prod(1)
    hits, start = [], 0
    while start < len(counts):
        # As many triangles as fit in a batch, at least one.
        stop = start + max(1, int(np.searchsorted(np.cumsum(counts[start:]), _BATCH, "right")))
        owner = np.repeat(np.arange(start, stop), counts[start:stop])
        first = np.cumsum(counts[start:stop]) - counts[start:stop]
        step = np.arange(len(owner)) - np.repeat(first, counts[start:stop])
        _, ny, nz = shape_of[owner].T
        cells = low[owner] + np.stack([step // (ny * nz), step // nz % ny, step % nz], axis=1)
        touched = cells[_touches(triangles[owner] - (cells + 0.5)[:, None])]
        hits.append(_unique(touched))
        start = stop
    return _unique(np.concatenate(hits))


def _unique(cells: np.ndarray) -> np.ndarray:
    """The distinct rows of cells [C, 3], sorted."""
    size = 2 * _FARTHEST
    x, y, z = (cells + _FARTHEST).T
    code = np.unique((x * size + y) * size + z)
    return np.stack([code // size**2, code // size % size, code % size], axis=1) - _FARTHEST


def _touches(triangles: np.ndarray) -> np.ndarray:
    """[P] whether triangles [P, 3, 3] touch the unit cube around the origin.

    They do unless some axis separates them: a cube's, the triangle's normal, or a product of an
    edge and a cube's axis (the separating axis theorem).
    """
    half = 0.5 + 1e-9
    touching = (triangles.min(1) <= half).all(1) & (triangles.max(1) >= -half).all(1)
    edges = np.roll(triangles, -1, axis=1) - triangles
    normal = np.cross(edges[:, 0], edges[:, 1])
    distance = np.abs(np.einsum("pi,pi->p", normal, triangles[:, 0]))
    touching &= distance <= half * np.abs(normal).sum(1)
    for axis in np.eye(3):
        for k in range(3):
            direction = np.cross(axis, edges[:, k])
            reach = np.einsum("pki,pi->pk", triangles, direction)
            limit = half * np.abs(direction).sum(1)
            touching &= (reach.min(1) <= limit) & (reach.max(1) >= -limit)
    return touching


def nearest_distances(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """[N] from each of `a` [N, 3] to the nearest of `b` [M, 3], and [M] back."""
    from scipy.spatial import KDTree

    a, b = _points(a), _points(b)
    return KDTree(b).query(a)[0], KDTree(a).query(b)[0]


def _points(value: np.ndarray) -> np.ndarray:
    points = np.asarray(value, np.float64)
    if points.ndim != 2 or points.shape[1] != 3 or len(points) == 0:
        raise InputError("points have the wrong shape", value=points.shape, allowed="[N >= 1, 3]")
    if not np.isfinite(points).all():
        raise InputError("points hold NaN or infinite coordinates")
    return points
