"""Topology of triangles: which are sound, how they join, and which side they face.

Triangles [F, 3] index vertices merged by `mesh_ops.merge_vertices`.
"""

from __future__ import annotations

import numpy as np


class Edges:
    """The edges of triangles [F, 3].

    Attributes:
        key: [3F] a number for the edge from each corner to the next, the same from both sides.
        forward: [3F] whether it runs from the lower to the higher index.
        open: How many edges have one triangle.
        crowded: How many have more than two.
        clashing: How many have two that face opposite sides.
    """

    def __init__(self, faces: np.ndarray) -> None:
        start, end = faces.ravel(), faces[:, [1, 2, 0]].ravel()
        size = int(faces.max(initial=0)) + 1
        self.forward = start < end
        self.key = np.minimum(start, end) * size + np.maximum(start, end)
        # The direction rides in the lowest bit, so that one fast sort groups and counts.
        packed = np.sort(self.key * 2 + self.forward)
        begin, counts = _runs(packed >> 1)
        forward = np.add.reduceat(packed & 1, begin) if len(begin) else counts
        self.open, self.crowded = int((counts == 1).sum()), int((counts > 2).sum())
        self.clashing = int(((counts == 2) & (forward != 1)).sum())

    def pairs(self) -> np.ndarray:
        """[E, 2] corners, 0 to 3F - 1, at which the two triangles of an uncrowded edge meet."""
        order = np.argsort(self.key, kind="stable")
        begin, counts = _runs(self.key[order])
        return order[begin[counts == 2][:, None] + np.arange(2)]


def in_range(faces: np.ndarray, count: int) -> np.ndarray:
    """[F] whether triangles name only vertices 0 to `count` - 1."""
    return np.all((faces >= 0) & (faces < count), axis=-1)


def degenerate(vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """[F] whether triangles are points or lines, to rounding and whatever their size."""
    # Column by column: about three times as fast as on rows of three.
    a, b, c = vertices[faces].transpose(1, 2, 0).copy()
    first, second = b - a, c - a
    length = np.maximum(np.abs(first).max(0, initial=0), np.abs(second).max(0, initial=0))
    length[length == 0] = 1
    first, second = first / length, second / length
    normal = first[[1, 2, 0]] * second[[2, 0, 1]] - first[[2, 0, 1]] * second[[1, 2, 0]]
    return np.abs(normal).max(0, initial=0) <= 1e-12


def repeated(faces: np.ndarray) -> np.ndarray:
    """[F] whether a triangle has come before, starting at any of its corners."""
    if len(faces) == 0:
        return np.zeros(0, bool)
    rolled = (faces.argmin(1)[:, None] + np.arange(3)) % 3
    a, b, c = np.take_along_axis(faces, rolled, axis=1).T
    pair = a * (int(faces.max()) + 1) + b
    order = np.lexsort((c, pair))  # stable: the first of equals stays first
    same = (np.diff(pair[order]) == 0) & (np.diff(c[order]) == 0)
    result = np.zeros(len(faces), bool)
    result[order[1:][same]] = True
    return result


def signed_volumes(vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """[F] what each triangle adds to the volume it encloses with others, in an arbitrary unit."""
    # One unit for all, near one: cubes of very small or large lengths leave the range of floats.
    a, b, c = (vertices[faces] - vertices[faces[0, 0]]).transpose(1, 2, 0).copy()
    unit = max(float(np.abs(corner).max()) for corner in (a, b, c)) or 1.0
    a, b, c = a / unit, b / unit, c / unit
    normal = b[[1, 2, 0]] * c[[2, 0, 1]] - b[[2, 0, 1]] * c[[1, 2, 0]]
    return np.einsum("if,if->f", a, normal)


def faces_to_flip(vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """[F] which triangles to flip so that neighbours agree and a closed surface faces outward.

    Every triangle gets two nodes, as it is and flipped, and the nodes of neighbours that agree
    are linked. A piece that can be oriented then falls into two mirror halves, of which the one
    with fewer flips is taken; one that cannot (a Möbius strip) stays whole and is left alone.
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    count, edges = len(faces), Edges(faces)
    if count == 0:
        return np.zeros(0, bool)
    pairs = edges.pairs()
    one, other = (pairs // 3).T
    clash = edges.forward[pairs[:, 0]] == edges.forward[pairs[:, 1]]
    rows = np.concatenate([one, one + count])
    columns = np.concatenate([other + count * clash, other + count * ~clash])
    links = coo_matrix((np.ones(len(rows), np.int8), (rows, columns)), shape=(2 * count,) * 2)
    label = connected_components(links, directed=False)[1]
    as_is, flipped = label[:count], label[count:]
    piece, side = np.minimum(as_is, flipped), as_is > flipped

    def by_piece(values: np.ndarray) -> np.ndarray:
        return np.bincount(piece, values, 2 * count)

    flip = side ^ (by_piece(side) * 2 > by_piece(np.ones(count)))[piece]
    neighbours = np.bincount(one, minlength=count) + np.bincount(other, minlength=count)
    closed = by_piece(neighbours < 3) == 0
    share = signed_volumes(vertices, faces)
    volume = np.where(flip, -share, share)
    # Only what was in disorder is flipped by its own volume: an inner wall rightly faces inward.
    flip ^= ((by_piece(flip) > 0) & closed & (by_piece(volume) < 0))[piece]
    flip &= as_is != flipped
    whole = bool(closed[piece].all() and (as_is != flipped).all())
    return ~flip if whole and np.where(flip, -share, share).sum() < 0 else flip


def unique_in_order(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct ones of values [N], numbered as they appear.

    Returns:
        ``first`` [W]: where each is first, ascending; and ``index`` [N]: which of them each is, so
        ``values == values[first][index]``.
    """
    _, first, index = np.unique(values, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[index]


def _runs(ordered: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where each run of equal numbers begins, and how long it is."""
    begin = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)])
    return begin, np.diff(begin, append=len(ordered))
