"""Which points of a surface stand for it: where it can touch, be pushed and meet the wind."""

from __future__ import annotations

from dataclasses import replace

import numba
import numpy as np

from kin4d.bodies.body import Body
from kin4d.dynamics.contact.closest import closest_on_mesh
from kin4d.dynamics.contact.sharp_edges import sample_sharp_edges
from kin4d.dynamics.forces.force import Attachment
from kin4d.errors import InputError
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.sampling import SurfaceSamples, sample_surface


def contact_points(
    body: Body, count: int, *, faces: np.ndarray | None = None, max_vertices: int = 40_000
) -> SurfaceSamples:
    """`count` points of the rest surface (fewer if it has fewer), as evenly spread as can be; only
    on some of its `faces` [F], if given.

    Corners come first: up to three quarters of the points are vertices of the parts' convex hulls,
    which are what meets flat surfaces. Three quarters of the others lie along sharp edges, which is
    where bars that cross touch; the rest is spread over vertices and triangles. Of meshes with
    more than `max_vertices` a random part of them is considered, and no edges.
    """
    mesh, rng = body.rest, np.random.default_rng(0)
    if count == 0:
        return _vertices(mesh, np.zeros(0, np.int64))
    own = np.arange(len(mesh.faces)) if faces is None else np.flatnonzero(faces)
    if len(own) < len(mesh.faces):
        mesh = Mesh(vertices=mesh.vertices, faces=mesh.faces[own], name=mesh.name)
    part = body.skin.joints[:, 0] if body.skin is not None else np.zeros(len(mesh.vertices), int)
    used = np.flatnonzero(np.bincount(mesh.faces.ravel(), minlength=len(mesh.vertices)))
    fine = len(used) > max_vertices
    if fine:
        used = rng.choice(used, max_vertices, replace=False)
    corners = np.concatenate([_hull(mesh.vertices, used[part[used] == i]) for i in set(part[used])])
    most = max(3 * count // 4, 1)
    if len(corners) > most:
        first = _extremes(mesh.vertices[corners])[:most]
        others = np.setdiff1d(np.arange(len(corners)), first)
        order = corners[np.concatenate([first, others])]
        more = _farthest_from(mesh.vertices[order], len(first), most - len(first))
        corners = order[np.concatenate([np.arange(len(first)), more])]
    edges = sample_sharp_edges(mesh, 0 if fine else 3 * (count - len(corners)) // 4)
    spread = sample_surface(mesh, 4 * count, seed=0)
    others = _join(_vertices(mesh, np.setdiff1d(used, corners)), spread)
    known = _join(_vertices(mesh, corners), edges)
    points = np.concatenate([one.points(mesh.vertices) for one in (known, others)])
    left = min(count - len(known), len(others))
    chosen = _farthest_from(points, len(known), left) - len(known)
    found = _join(known, _take(others, chosen))
    return replace(found, face=own[found.face])


def nearest_surface_point(mesh: Mesh, at: Attachment, *, what: str) -> SurfaceSamples:
    """The point of the surface nearest to `at`; an `InputError` says by how far it misses."""
    weights = np.empty(3)
    face, distance = closest_on_mesh(np.array(at), mesh.vertices, mesh.faces, weights)
    if distance > 0.05 * mesh.bbox_diagonal:
        near = weights @ mesh.vertices[mesh.faces[face]]
        raise InputError(
            f"{what} misses the object by {distance:.3g} m",
            value=at,
            allowed=f"within {0.05 * mesh.bbox_diagonal:.3g} m of the surface at rest",
            hint="the nearest point of it is ({:.4g}, {:.4g}, {:.4g})".format(*near),
        )
    return SurfaceSamples(
        face=np.array([face]), corners=mesh.faces[[face]], barycentric=weights[None]
    )


def surface_elements(
    mesh: Mesh, count: int = 64
) -> tuple[SurfaceSamples, SurfaceSamples, np.ndarray, float]:
    """Centres [N], corners [3N] and areas [N] (m^2) of pieces that stand for the surface, and which
    part of these the air sees."""
    centers = sample_surface(mesh, count, seed=1)
    corners = _vertices(mesh, centers.corners.ravel(), faces=np.repeat(centers.face, 3))
    import trimesh

    closed = trimesh.Trimesh(mesh.vertices, mesh.faces, process=True).is_watertight
    areas = np.full(count, float(mesh.face_areas.sum()) / count)
    return centers, corners, areas, 0.5 if closed else 1.0


def merge_point_sets(parts: list[SurfaceSamples]) -> SurfaceSamples:
    """All of them, in order."""
    return SurfaceSamples(
        face=np.concatenate([part.face for part in parts]),
        corners=np.concatenate([part.corners for part in parts]),
        barycentric=np.concatenate([part.barycentric for part in parts]),
    )


def _join(*parts: SurfaceSamples) -> SurfaceSamples:
    return merge_point_sets(list(parts))


def _take(samples: SurfaceSamples, index: np.ndarray) -> SurfaceSamples:
    return SurfaceSamples(
        face=samples.face[index],
        corners=samples.corners[index],
        barycentric=samples.barycentric[index],
    )


def _vertices(mesh: Mesh, index: np.ndarray, faces: np.ndarray | None = None) -> SurfaceSamples:
    """Vertices as samples: corners of a face each."""
    if faces is None:
        face_of = np.zeros(len(mesh.vertices), np.int64)
        face_of[mesh.faces.ravel()] = np.repeat(np.arange(len(mesh.faces)), 3)
        faces = face_of[index]
    corners = mesh.faces[faces]
    return SurfaceSamples(
        face=faces, corners=corners, barycentric=(corners == index[:, None]).astype(np.float64)
    )


def _hull(vertices: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Those of the vertices `index` that are corners of their convex hull."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        return index[ConvexHull(vertices[index]).vertices]
    except (QhullError, ValueError):  # Flat, or too few: all of them may be corners.
        return index


def _extremes(points: np.ndarray) -> np.ndarray:
    """Indices of the points farthest along the axes and diagonals of space."""
    signs = np.stack(np.meshgrid(*[[-1, 0, 1]] * 3, indexing="ij"), -1).reshape(-1, 3)
    directions = signs[signs.any(1)] / np.linalg.norm(signs[signs.any(1)], axis=1, keepdims=True)
    return np.unique((points @ directions.T).argmax(0))


@numba.njit(cache=True, error_model="numpy")
def _farthest_from(points, known, count):
    """`count` indices, each as far as can be from the first `known` points and those before it."""
    nearest, chosen = np.full(len(points), np.inf), np.empty(count, np.int64)
    for number in range(known + count):
        last = number if number < known else nearest.argmax()
        if number >= known:
            chosen[number - known] = last
        x, y, z = points[last, 0], points[last, 1], points[last, 2]
        for i in range(len(points)):
            a, b, c = points[i, 0] - x, points[i, 1] - y, points[i, 2] - z
            nearest[i] = min(nearest[i], a * a + b * b + c * c)
    return chosen
