"""Collision shapes of rigid links: convex hulls, and the pairs of them that must not collide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from scipy.optimize import linprog
from scipy.spatial import ConvexHull

from kin4d.geometry.mesh import Mesh

_MAX_VERTICES = 128
_MIN_THICKNESS = 2e-3  # of the extent: the least a hull of a flat surface has


def collision_hull(mesh: Mesh, *, max_vertices: int = _MAX_VERTICES) -> Mesh:
    """The convex hull of a surface; flat ones get a little thickness.

    Args:
        mesh: The surface.
        max_vertices: A hull with more keeps those farthest along this many directions.
    """
    points = _thickened(mesh.vertices)
    corners = points[ConvexHull(points).vertices]
    if len(corners) > max_vertices:
        corners = corners[np.unique((corners @ _directions(max_vertices).T).argmax(0))]
    hull = ConvexHull(corners)
    faces = hull.simplices.copy()
    a, b, c = corners[faces].transpose(1, 0, 2)
    inward = (np.cross(b - a, c - a) * hull.equations[:, :3]).sum(1) < 0
    faces[inward] = faces[inward][:, ::-1]
    return Mesh(vertices=corners, faces=faces, name=f"{mesh.name}_collision", source_up="z")


def colliding_at_rest(
    hulls: Mapping[str, Mesh], *, gap: float, skip: Sequence[frozenset[str]] = ()
) -> list[tuple[str, str]]:
    """Pairs of hulls (in one frame) that overlap or are nearer to each other than `gap` (m)."""
    skipped = set(skip)
    halfspaces = {name: ConvexHull(hull.vertices).equations for name, hull in hulls.items()}
    found = []
    for first, second in combinations(hulls, 2):
        (low, high), (low2, high2) = hulls[first].bounds, hulls[second].bounds
        apart = (low2 - high > gap).any() or (low - high2 > gap).any()
        if apart or frozenset((first, second)) in skipped:
            continue
        if _separation(halfspaces[first], halfspaces[second]) < gap:
            found.append((first, second))
    return found


def _separation(first: np.ndarray, second: np.ndarray) -> float:
    """m by which both hulls [F, 4] must grow, together, to touch; negative if they overlap."""
    planes = np.concatenate([first, second])
    # The least t such that some x has normal . x + offset <= t for all planes.
    solution = linprog(
        [0, 0, 0, 1],
        A_ub=np.concatenate([planes[:, :3], -np.ones((len(planes), 1))], 1),
        b_ub=-planes[:, 3],
        bounds=[(None, None)] * 4,
    )
    return 2 * float(solution.fun) if solution.success else -np.inf


def _thickened(points: np.ndarray) -> np.ndarray:
    """Points that span a volume: thin extents are doubled to either side."""
    centre = points.mean(0)
    _, axes = np.linalg.eigh((points - centre).T @ (points - centre))
    along = (points - centre) @ axes
    extent = np.ptp(along, axis=0)
    least = _MIN_THICKNESS * float(extent.max())
    for i in range(3):
        if extent[i] < least:
            offset = axes[:, i] * (least - extent[i]) / 2
            points = np.concatenate([points + offset, points - offset])
    return points


def _directions(count: int) -> np.ndarray:
    """[count, 3] unit directions, evenly spread (a Fibonacci sphere)."""
    index = np.arange(count) + 0.5
    z, angle = 1 - 2 * index / count, np.pi * (1 + 5**0.5) * index
    radius = np.sqrt(1 - z * z)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle), z], 1)
