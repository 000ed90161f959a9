"""Seams: formats that give face corners their own UVs and normals, turned into ours by vertex."""

from __future__ import annotations

import numpy as np

from kin4d.geometry.topology import unique_in_order


def split_seams(count: int, corners: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Give each combination of position, UV and normal a vertex of its own.

    Args:
        count: V, how many vertices the file has.
        corners: [C, 3] index of each face corner's position, UV and normal; -1 for none.

    Returns:
        ``index`` [C]: the vertex of each corner, -1 where its position is; ``source`` [W]: which
        file vertex each vertex is, the first V being 0, 1, 2...; and ``example`` [W]: a corner
        that uses it, -1 if none.
    """
    if (corners[:, 1:] < 0).all():
        return corners[:, 0], np.arange(count), np.full(count, -1)
    there = np.flatnonzero(corners[:, 0] >= 0)
    combination = corners[there, 0]
    for column in (1, 2):
        if (corners[there, column] >= 0).any():
            # Renumbering keeps the products small enough for 64 bits.
            _, combination = np.unique(combination, return_inverse=True)
            combination = combination * (corners[:, column].max() + 2) + corners[there, column] + 1
    first, which = unique_in_order(combination)
    owner = corners[there[first], 0]
    # A file vertex keeps its place for its first combination; further ones come last.
    own_first, _ = unique_in_order(owner)
    slot = np.full(len(first), -1)
    slot[own_first] = owner[own_first]
    extra = np.flatnonzero(slot < 0)
    slot[extra] = count + np.arange(len(extra))
    index = np.full(len(corners), -1)
    index[there] = slot[which]
    example = np.full(count + len(extra), -1)
    example[slot] = there[first]
    return index, np.concatenate([np.arange(count), owner[extra]]), example


def per_vertex(table: np.ndarray, index: np.ndarray, example: np.ndarray) -> np.ndarray | None:
    """[W, n] float32: the row of `table` that `index` [C] gives each vertex's `example` corner [W].

    Zero where a vertex has none; None if no corner has one.
    """
    if not (index >= 0).any():
        return None
    row = np.where(example >= 0, index[example], -1)
    return np.where(row[:, None] >= 0, table[row], 0).astype(np.float32)
