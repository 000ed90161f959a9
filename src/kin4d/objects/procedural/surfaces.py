"""Raw surfaces behind the part builders: lofts and unions of cells, as vertex and face arrays.

Topology depends on counts alone and is computed once per count; making a part is then a few array
operations.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np


def loft_surface(
    rings: np.ndarray,
    *,
    start: np.ndarray | None = None,
    end: np.ndarray | None = None,
    closed: bool = False,
    flip: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """The surface through rings of points.

    Args:
        rings: [M, N, 3] m; each ring runs counter-clockwise about the direction the rings go.
        start: [3] point that closes the first ring with a fan; None leaves it open.
        end: [3] the same for the last ring.
        closed: The last ring joins the first, as in a torus.
        flip: Cut quads along the other diagonal.

    Returns:
        Vertices [V, 3] and faces [F, 3], facing outwards.
    """
    count, sides = rings.shape[:2]
    apexes = [point for point in (start, end) if point is not None]
    faces = _loft_faces(count, sides, closed, start is not None, end is not None, flip)
    vertices = rings.reshape(-1, 3)
    return (np.concatenate([vertices, np.asarray(apexes)]) if apexes else vertices), faces


@lru_cache(maxsize=4096)
def _loft_faces(
    count: int, sides: int, closed: bool, start: bool, end: bool, flip: bool
) -> np.ndarray:
    node = np.arange(count * sides).reshape(count, sides)
    if closed:
        node = np.concatenate([node, node[:1]])
    node = np.concatenate([node, node[:, :1]], axis=1)
    a, b, c, d = node[:-1, :-1], node[:-1, 1:], node[1:, 1:], node[1:, :-1]
    blocks = _split_quads(np.stack([a, b, c, d], -1).reshape(-1, 4), flip)
    apex = count * sides
    if start:
        ring = node[0]
        blocks.append(np.stack([np.full(sides, apex), ring[1:], ring[:-1]], -1))
        apex += 1
    if end:
        ring = node[-1]
        blocks.append(np.stack([np.full(sides, apex), ring[:-1], ring[1:]], -1))
    return np.concatenate(blocks)


def _split_quads(quads: np.ndarray, flip: bool) -> list[np.ndarray]:
    halves = ([0, 1, 3], [1, 2, 3]) if flip else ([0, 1, 2], [0, 2, 3])
    return [quads[:, half] for half in halves]


def grid_faces(
    breaks: tuple[np.ndarray, np.ndarray, np.ndarray], solid: np.ndarray, *, flip: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """The surface of a union of grid cells: one connected skin for boards that meet.

    Args:
        breaks: Ascending grid planes along x, y and z, m.
        solid: [X, Y, Z] bool, contiguous: which cells are filled.
        flip: Cut quads along the other diagonal.

    Returns:
        Vertices [V, 3] and faces [F, 3], closed and facing outwards.
    """
    at, faces = _cell_faces(solid.shape, solid.tobytes(), flip)
    return np.stack([b[i] for b, i in zip(breaks, at, strict=True)], -1), faces


@lru_cache(maxsize=1024)
def _cell_faces(
    shape: tuple[int, int, int], filled: bytes, flip: bool
) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """Grid positions (x, y, z) of the vertices, and faces, of a union of cells."""
    padded = np.zeros([n + 2 for n in shape], np.int8)
    padded[1:-1, 1:-1, 1:-1] = np.frombuffer(filled, np.int8).reshape(shape)
    nodes = np.arange(np.prod([n + 1 for n in shape])).reshape([n + 1 for n in shape])
    steps = np.array(nodes.strides) // nodes.itemsize
    quads = []
    for axis in range(3):
        inner = tuple(slice(None) if a == axis else slice(1, -1) for a in range(3))
        change = np.diff(padded[inner], axis=axis)
        # The quad of a cell wall runs over the two other axes, in right-handed order.
        u, v = steps[(axis + 1) % 3], steps[(axis + 2) % 3]
        for sign, around in ((-1, (0, u, u + v, v)), (1, (0, v, u + v, u))):
            at = np.nonzero(change == sign)
            quads.append((at[0] * steps[0] + at[1] * steps[1] + at[2])[:, None] + around)
    faces = np.concatenate(_split_quads(np.concatenate(quads), flip))
    used = np.zeros(nodes.size, bool)
    used[faces] = True
    order = np.cumsum(used) - 1
    return np.unravel_index(np.flatnonzero(used), nodes.shape), order[faces]


@lru_cache(maxsize=4096)
def unit_box(counts: tuple[int, int, int], flip: bool) -> tuple[np.ndarray, np.ndarray]:
    """A box over [0, 1]^3 with `counts` quads along each axis; read-only arrays."""
    breaks = tuple(np.linspace(0.0, 1.0, n + 1) for n in counts)
    vertices, faces = grid_faces(breaks, np.ones(counts, bool), flip=flip)  # pyright: ignore[reportArgumentType]
    vertices.flags.writeable = faces.flags.writeable = False
    return vertices, faces


def merge_boxes(
    boxes: np.ndarray, *, spacing: float, flip: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """The surface of a union of axis-aligned boxes [N, 2, 3], cut at most `spacing` apart."""
    breaks, filled = [], np.ones((len(boxes), 1, 1, 1), bool)
    for axis in range(3):
        planes = subdivide(np.unique(boxes[:, :, axis]), spacing)
        middle = 0.5 * (planes[1:] + planes[:-1])
        inside = (boxes[:, :1, axis] < middle) & (middle < boxes[:, 1:, axis])
        shape = [len(boxes), 1, 1, 1]
        shape[axis + 1] = len(middle)
        filled = filled & inside.reshape(shape)
        breaks.append(planes)
    solid = np.logical_or.reduce(filled, axis=0)
    return grid_faces((breaks[0], breaks[1], breaks[2]), solid, flip=flip)


def subdivide(planes: np.ndarray, spacing: float) -> np.ndarray:
    """Ascending `planes` with more between them wherever they stand over `spacing` apart."""
    gaps = np.diff(planes)
    if gaps.max() <= spacing:
        return planes
    counts = np.maximum(np.ceil(gaps / spacing), 1).astype(int)
    return np.concatenate(
        [
            *(
                a + (b - a) * np.arange(n) / n
                for a, b, n in zip(planes, planes[1:], counts, strict=False)
            ),
            planes[-1:],
        ]
    )
