"""SkeletonTokens: points along the centre lines of a shape, described for a network.

Everything is relative to the shape: lengths in its size, directions along its plane of symmetry and
upwards, so that neither scale nor heading counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kin4d.geometry.curve_skeleton import CurveSkeleton

SPACING = 0.02
"""Of tokens along the lines, in sizes."""

_OFFSETS = (0.03, 0.06, 0.12, 0.2)  # sizes, at which lines are looked at up and down the tree
_FORWARD = 1  # of the three axes: the one whose sign nobody knows


@dataclass(frozen=True, eq=False, kw_only=True)
class SkeletonTokens:
    """N tokens.

    Attributes:
        node: [N] of the skeleton.
        features: [N, F] float32.
        flips: [F] float32: what each feature is multiplied with if the shape looks the other way.
        twin: [N] the token's mirror image, or itself.
    """

    node: np.ndarray
    features: np.ndarray
    flips: np.ndarray
    twin: np.ndarray

    def __len__(self) -> int:
        return len(self.node)


def skeleton_tokens(skeleton: CurveSkeleton, size: float) -> SkeletonTokens:
    """Tokens of a skeleton of a shape of that `size` (m, its bounding-box diagonal)."""
    tree = _Tree.of(skeleton, size)
    columns, flips = _node_features(skeleton, tree)
    node = _spread(tree)
    return SkeletonTokens(
        node=node,
        features=columns[node].astype(np.float32),
        flips=flips.astype(np.float32),
        twin=_twins(skeleton.mirror, node),
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class _Tree:
    """What is counted along the tree, in sizes.

    Attributes:
        parent: [N], -1 for the root.
        points: [N, 3] in the shape's frame: sideways, forward, up; from the root.
        radius: [N].
        arc: [N] from the root.
        heir: [N] the child from which the line goes on farthest, -1 at an end.
        below: [N] from the node to the farthest end below.
        length: [N] of all lines below.
        volume: [N] share of the solid that is on the lines below.
        ends: [N] how many are below.
        fork: [N] the nearest fork above, or the root.
        forks: [N] how many are above.
        knot: [N] the next fork or end, the node itself if it is one.
    """

    parent: np.ndarray
    points: np.ndarray
    radius: np.ndarray
    arc: np.ndarray
    heir: np.ndarray
    below: np.ndarray
    length: np.ndarray
    volume: np.ndarray
    ends: np.ndarray
    fork: np.ndarray
    forks: np.ndarray
    knot: np.ndarray

    @classmethod
    def of(cls, skeleton: CurveSkeleton, size: float) -> _Tree:
        count, parent = len(skeleton), skeleton.parent
        points = (skeleton.points - skeleton.points[0]) @ _frame(skeleton).T / size
        radius = skeleton.radius / size
        step = np.zeros(count)
        step[1:] = np.linalg.norm(points[1:] - points[parent[1:]], axis=1)
        children = np.bincount(parent[1:], minlength=count)
        arc, fork, forks = np.zeros(count), np.zeros(count, int), np.zeros(count)
        for i in range(1, count):
            above = parent[i]
            arc[i] = arc[above] + step[i]
            splits = above > 0 and children[above] > 1
            fork[i] = above if splits else fork[above]
            forks[i] = forks[above] + splits
        heir, below = np.full(count, -1), np.zeros(count)
        length, ends = np.zeros(count), (children == 0).astype(float)
        volume = step * radius**2
        knot = np.arange(count)
        for i in range(count - 1, 0, -1):
            above = parent[i]
            if below[i] + step[i] >= below[above]:
                heir[above], below[above] = i, below[i] + step[i]
            length[above] += length[i] + step[i]
            ends[above] += ends[i]
            volume[above] += volume[i]
            if children[above] == 1:
                knot[above] = knot[i]
        return cls(
            parent=parent, points=points, radius=radius, arc=arc, heir=heir, below=below,
            length=length, volume=volume / max(volume[0], 1e-12), ends=ends, fork=fork,
            forks=forks, knot=knot,
        )  # fmt: skip

    def along(self, offset: float, *, down: bool) -> np.ndarray:
        """[N] the nodes that are `offset` farther from each, or where the line ends before."""
        following, now = self.heir if down else self.parent, np.arange(len(self.arc))
        while True:
            after = following[now]
            goes = (after >= 0) & (np.abs(self.arc[after] - self.arc) <= offset)
            if not goes.any():
                return now
            now = np.where(goes, after, now)


def _frame(skeleton: CurveSkeleton) -> np.ndarray:
    """[3, 3] rows: sideways, forward, up."""
    up = np.array([0.0, 0.0, 1.0])
    if skeleton.plane is not None and abs(skeleton.plane.normal[2]) < 0.9:
        side = skeleton.plane.normal * [1, 1, 0]
    else:  # across the longer way
        level = (skeleton.points - skeleton.points.mean(0))[:, :2]
        side = np.append(np.linalg.eigh(level.T @ level)[1][:, 0], 0.0)
    side = side / np.linalg.norm(side)
    return np.stack([side, np.cross(up, side), up])


def _node_features(skeleton: CurveSkeleton, tree: _Tree) -> tuple[np.ndarray, np.ndarray]:
    """[N, F] of every node, and [F] their signs if forward is the other way."""
    count, points, radius = len(skeleton), tree.points, np.maximum(tree.radius, 1e-4)
    columns: list[np.ndarray] = []
    flips: list[float] = []

    def add(column: np.ndarray | float, flip: float = 1.0) -> None:
        columns.append(np.broadcast_to(np.asarray(column, np.float64), count))
        flips.append(flip)

    def add_vectors(vectors: np.ndarray) -> None:
        # Sideways without a sign: a shape and its mirror image are alike.
        for axis in range(3):
            column = np.abs(vectors[:, 0]) if axis == 0 else vectors[:, axis]
            add(column, -1.0 if axis == _FORWARD else 1.0)

    low, high = points.min(0), points.max(0)
    extent = np.maximum(high - low, 1e-6)
    add_vectors(points)
    add(points[:, 2] - low[2])
    add((points[:, 1] - (low[1] + high[1]) / 2) / extent[1], -1.0)
    for axis in range(3):
        add(extent[axis])
    add(np.log(radius))
    for down in (False, True):
        for offset in _OFFSETS:
            there = tree.along(offset, down=down)
            add(np.log(radius[there] / radius))
            add_vectors((points[there] - points) / offset)
            if offset > _OFFSETS[0]:
                add(_bend(points, tree.along(offset, down=True), tree.along(offset, down=False)))
    fork, knot = tree.fork, tree.knot
    out = tree.arc - tree.arc[fork]
    ahead = tree.arc[knot] - tree.arc
    is_end = tree.ends[knot] <= 1
    for column in (
        tree.arc, tree.below, out, ahead, is_end, np.log(tree.ends), tree.length, tree.volume,
        tree.forks, radius[fork], np.minimum(out / radius[fork], 6), np.log(radius / radius[fork]),
        np.minimum(ahead / radius, 8), np.minimum(tree.below / radius, 8),
        out / (out + ahead + 1e-6),
        np.log(tree.ends[0]), tree.length[0], radius[0], skeleton.plane is not None,
        skeleton.mirror != np.arange(count), fork == 0, tree.arc.max(),
    ):  # fmt: skip
        add(column)
    return np.stack(columns, 1), np.array(flips)


def _bend(points: np.ndarray, after: np.ndarray, before: np.ndarray) -> np.ndarray:
    """[N] rad by which the line turns at each node."""
    one, other = points - points[before], points[after] - points
    scale = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    cosine = np.einsum("ni,ni->n", one, other) / np.maximum(scale, 1e-12)
    return np.where(scale > 1e-12, np.arccos(np.clip(cosine, -1, 1)), 0.0)


def _spread(tree: _Tree) -> np.ndarray:
    """[T] nodes about `SPACING` apart, and all ends."""
    step = np.floor(tree.arc / SPACING)
    new = np.append(True, step[1:] != step[tree.parent[1:]])
    return np.flatnonzero(new | (tree.heir < 0))


def _twins(mirror: np.ndarray, node: np.ndarray) -> np.ndarray:
    """[T] the token at each token's mirror image, or itself."""
    number = np.full(len(mirror), -1)
    number[node] = np.arange(len(node))
    twin = number[mirror[node]]
    return np.where(twin >= 0, twin, np.arange(len(node)))
