"""Pieces: the surface of a mesh cut where it comes apart, and points sampled on every piece."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from kin4d.geometry.mesh_ops import merge_vertices
from kin4d.geometry.topology import Edges

POINTS = 32
"""Samples per piece."""

SUPPORTS = 32
"""Extreme vertices kept per piece; they span its boxes exactly where samples do not."""


@dataclass(frozen=True, eq=False, kw_only=True)
class PieceSamples:
    """N pieces of a surface, as points.

    Attributes:
        points: [N, K, 3] m, spread by area over each piece.
        normals: [N, K, 3] unit.
        supports: [N, S, 3] m, the piece's extreme points in S directions.
        area: [N] m^2.
        component: [N] int64: pieces cut from one connected surface share a number.
    """

    points: np.ndarray
    normals: np.ndarray
    supports: np.ndarray
    area: np.ndarray
    component: np.ndarray

    def __len__(self) -> int:
        return len(self.area)

    def take(self, index: np.ndarray) -> PieceSamples:
        """Some of the pieces, by index or mask."""
        return PieceSamples(**{f.name: getattr(self, f.name)[index] for f in fields(self)})

    @classmethod
    def concatenate(cls, many: list[PieceSamples]) -> PieceSamples:
        """All pieces of several surfaces; components stay apart."""
        offsets = np.cumsum([0, *(int(one.component.max(initial=-1)) + 1 for one in many)])
        columns = {
            f.name: np.concatenate([getattr(one, f.name) for one in many]) for f in fields(cls)
        }
        shifts = np.repeat(offsets[:-1], [len(one) for one in many])
        return cls(**{**columns, "component": columns["component"] + shifts})


def split_surface(vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """[F] int64 piece of each face, numbered from 0.

    Faces belong together if they share an edge: by its vertices' numbers, or by their positions
    where no third face is at that edge. Closed parts that only touch, as found meshes have them,
    so stay apart although their vertices coincide. Faces with the same three corners, as in meshes
    whose sheets are drawn from both sides, count as one.
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    count = len(faces)
    merged = merge_vertices(vertices)[1][faces]
    _, first, same_corners = np.unique(
        np.sort(merged, axis=1), axis=0, return_index=True, return_inverse=True
    )
    twins = np.stack([first[same_corners.ravel()], np.arange(count)], 1)
    welded = first[Edges(merged[first]).pairs() // 3]
    key = Edges(faces).key
    order = np.argsort(key, kind="stable")
    same = np.flatnonzero(key[order][1:] == key[order][:-1])
    shared = np.stack([order[same], order[same + 1]], 1) // 3
    links = np.concatenate([welded, shared, twins])
    graph = coo_matrix((np.ones(len(links), np.int8), links.T), shape=(count, count))
    return connected_components(graph, directed=False)[1].astype(np.int64)


def sample_pieces(
    vertices: np.ndarray,
    faces: np.ndarray,
    piece: np.ndarray,
    rng: np.random.Generator,
    *,
    points: int = POINTS,
) -> PieceSamples:
    """Sample every piece of a surface.

    Args:
        vertices: [V, 3] m.
        faces: [F, 3].
        piece: [F] piece of each face, each number from 0 on at least once.
        rng: Random numbers.
        points: K.
    """
    count = int(piece.max()) + 1
    order = np.argsort(piece, kind="stable")
    faces, piece = faces[order], piece[order]
    corners = vertices[faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    double = np.linalg.norm(normals, axis=1)
    area = np.bincount(piece, double, count) / 2
    # Degenerate faces get a little area, so that pieces without any can be sampled too.
    running = np.cumsum(double + 1e-9 * max(double.mean(), 1e-30))
    ends = running[np.searchsorted(piece, np.arange(count), side="right") - 1]
    starts = np.concatenate([[0.0], ends[:-1]])
    strata = (np.arange(points) + rng.random((count, points))) / points
    at = starts[:, None] + strata * (ends - starts)[:, None]
    face = np.searchsorted(running, at.ravel(), side="right").reshape(count, points)
    first = np.searchsorted(piece, np.arange(count))
    last = np.searchsorted(piece, np.arange(count), side="right") - 1
    face = np.clip(face, first[:, None], last[:, None])
    root, share = np.sqrt(rng.random(face.shape))[..., None], rng.random(face.shape)[..., None]
    a, b, c = (corners[face][..., k, :] for k in range(3))
    unit = normals / np.maximum(double, 1e-30)[:, None]
    return PieceSamples(
        points=((1 - root) * a + root * (1 - share) * b + root * share * c).astype(np.float32),
        normals=unit[face].astype(np.float32),
        supports=_supports(vertices, faces, piece, count).astype(np.float32),
        area=area,
        component=np.arange(count),
    )


def group_points(
    points: np.ndarray,
    normals: np.ndarray,
    label: np.ndarray,
    area: float,
    rng: np.random.Generator,
    *,
    count: int = POINTS,
) -> PieceSamples:
    """Labelled surface points [M] as pieces of one component with `count` samples each.

    Args:
        points: [M, 3] m, spread evenly by area.
        normals: [M, 3].
        label: [M] piece of each, numbered from 0.
        area: m^2 of them all.
        rng: Random numbers.
        count: K.
    """
    order = np.argsort(label, kind="stable")
    first = np.searchsorted(label[order], np.arange(int(label.max()) + 1))
    size = np.diff(first, append=len(label))
    steps = (np.arange(count) + rng.random((len(size), count))) / count
    chosen = order[first[:, None] + (steps * size[:, None]).astype(np.int64)]
    height = points[order] @ DIRECTIONS.T
    top = np.maximum.reduceat(height, first, axis=0)
    return PieceSamples(
        points=points[chosen],
        normals=normals[chosen],
        supports=points[order][_arg_of(height, top, label[order])],
        area=area * size / len(label),
        component=np.zeros(len(size), np.int64),
    )


def yaw_alignment(normals: np.ndarray, area: np.ndarray) -> np.ndarray:
    """[3, 3] rotation about z that turns most of a surface to face along x or y.

    Args:
        normals: [M, 3] unit.
        area: [M] weights.
    """
    flat = normals[:, 0] + 1j * normals[:, 1]
    size = np.abs(flat)
    # The fourth power forgets which of the four sides it is.
    total = np.sum(area * size * (flat / np.maximum(size, 1e-9)) ** 4 * (size > 0.3))
    angle = -np.angle(total) / 4
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def _sphere(count: int) -> np.ndarray:
    """[count, 3] unit directions, evenly spread (a Fibonacci lattice)."""
    index = np.arange(count) + 0.5
    z, angle = 1 - 2 * index / count, np.pi * (1 + 5**0.5) * index
    flat = np.sqrt(1 - z * z)
    return np.stack([flat * np.cos(angle), flat * np.sin(angle), z], 1)


DIRECTIONS = _sphere(SUPPORTS)
"""[S, 3] in which the supports of a piece are extreme."""


def _supports(vertices: np.ndarray, faces: np.ndarray, piece: np.ndarray, count: int) -> np.ndarray:
    key = np.unique(np.repeat(piece, 3) * len(vertices) + faces.ravel())
    owner, vertex = key // len(vertices), key % len(vertices)
    height = (vertices - vertices.mean(0))[vertex] @ DIRECTIONS.T
    top = np.maximum.reduceat(height, np.searchsorted(owner, np.arange(count)), axis=0)
    return vertices[vertex[_arg_of(height, top, owner)]]


def _arg_of(height: np.ndarray, top: np.ndarray, owner: np.ndarray) -> np.ndarray:
    """[N, S] rows of `height` [M, S] that reach the maxima `top` [N, S] of their owners [M]."""
    row, column = np.nonzero(height == top[owner])
    out = np.zeros(top.shape, np.int64)
    out[owner[row], column] = row
    return out
