"""Bones: joints along the centre lines of a shape, and how the lines blend the bones' motions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kin4d.geometry.curve_skeleton import CurveSkeleton

_WINDOW = 0.35  # of the spacing, within which a joint moves to where the line bends or thins
_THINNING = 0.5  # rad of bend that being half as thick as around is worth


@dataclass(frozen=True, kw_only=True)
class BoneConfig:
    """Where joints are placed. Lengths are in bounding-box diagonals.

    Attributes:
        spacing: Of joints along a branch.
        root: Distance of a branch's first joint from the fork, in radii there.
        end: Of the last joint from a free end, in spacings.
        blend: Half the length of line over which a joint bends, in radii there.
    """

    spacing: float = 0.135
    root: float = 0.7
    end: float = 0.7
    blend: float = 0.8


@dataclass(frozen=True, eq=False, kw_only=True)
class Bones:
    """B bones, parents before children; bone 0 is the root and has no joint.

    Attributes:
        parent: [B] int64, -1 for the root.
        node: [B] the skeleton's node at which the bone's joint is; 0 for the root.
        first: [B] bool: whether the joint is its branch's first, as a hip or a shoulder is.
        direction: [B, 3] unit, along the bone from its joint.
        mirror: [B] the bone's mirror image; itself in the plane or without one.
        node_weights: [N, B] how much each of the skeleton's nodes follows each bone.
    """

    parent: np.ndarray
    node: np.ndarray
    first: np.ndarray
    direction: np.ndarray
    mirror: np.ndarray
    node_weights: np.ndarray

    def __len__(self) -> int:
        return len(self.parent)


def place_bones(skeleton: CurveSkeleton, *, size: float, config: BoneConfig) -> Bones:
    """Bones of a shape of that `size` (m, its bounding-box diagonal)."""
    arc = _arc_lengths(skeleton)
    joint_nodes, first = [0], [False]
    children = np.bincount(skeleton.parent[1:], minlength=len(skeleton))
    for chain in skeleton.chains():
        is_free = children[chain[-1]] == 0
        own = _joints_of(skeleton, arc, chain, size, config, is_free=is_free)
        joint_nodes += own
        first += [i == 0 for i in range(len(own))]
    bone_at = np.full(len(skeleton), -1)
    bone_at[joint_nodes] = np.arange(len(joint_nodes))
    above = np.zeros(len(skeleton), np.int64)  # the bone that each node is on
    for node in range(len(skeleton)):
        above[node] = bone_at[node] if bone_at[node] >= 0 else above[skeleton.parent[node]]
    nodes = np.array(joint_nodes)
    parent = np.where(nodes > 0, above[skeleton.parent[nodes]], -1)
    # By depth in the tree, so that parents come first.
    order = np.argsort(nodes, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    parent, nodes = parent[order], nodes[order]
    parent = np.where(parent >= 0, rank[parent], -1)
    twin = bone_at[skeleton.mirror[nodes]]
    return Bones(
        parent=parent,
        node=nodes,
        first=np.array(first)[order],
        direction=_directions(skeleton, nodes, parent, rank[above]),
        mirror=np.where(twin >= 0, rank[twin], np.arange(len(nodes))),
        node_weights=_node_weights(skeleton, arc, nodes, parent, rank[above], config.blend),
    )


def _arc_lengths(skeleton: CurveSkeleton) -> np.ndarray:
    """[N] m along the lines from the root."""
    arc = np.zeros(len(skeleton))
    for node in range(1, len(skeleton)):
        before = skeleton.parent[node]
        arc[node] = arc[before] + np.linalg.norm(skeleton.points[node] - skeleton.points[before])
    return arc


def _joints_of(
    skeleton: CurveSkeleton,
    arc: np.ndarray,
    chain: np.ndarray,
    size: float,
    config: BoneConfig,
    *,
    is_free: bool,
) -> list[int]:
    """Nodes of a chain at which joints are."""
    along = arc[chain] - arc[chain[0]]
    spacing = config.spacing * size
    begin = config.root * skeleton.radius[chain[0]]
    end = along[-1] - (config.end * spacing if is_free else 0.3 * spacing)
    if end < begin:
        # A short branch bends where it leaves, if it is long enough to be seen.
        begin = 0.5 * along[-1]
        if not is_free or along[-1] < 0.6 * spacing:
            return []
        return [int(chain[np.searchsorted(along, begin)])]
    count = int(np.rint((end - begin) / spacing)) + 1
    targets = begin + (end - begin) / max(count - 1, 1) * np.arange(count)
    interest = _interest(skeleton, chain, along, 0.4 * spacing)
    found: list[int] = []
    for number, target in enumerate(targets):
        window = (_WINDOW if number else 0.0) * spacing
        near = np.flatnonzero(np.abs(along - target) <= window)
        if not len(near):
            near = np.array([int(np.abs(along - target).argmin())])
        score = interest[near] - 0.1 * np.abs(along[near] - target) / spacing
        node = int(chain[near[np.argmax(score)]])
        if node not in found and node != chain[0]:
            found.append(node)
    return sorted(found)


def _interest(
    skeleton: CurveSkeleton, chain: np.ndarray, along: np.ndarray, reach: float
) -> np.ndarray:
    """[n] how much a line bends (rad) and thins around each node of a chain."""
    points, radius = skeleton.points[chain], skeleton.radius[chain]

    def at(lengths: np.ndarray) -> np.ndarray:
        return np.stack([np.interp(lengths, along, axis) for axis in points.T], 1)

    before, after = points - at(along - reach), at(along + reach) - points
    scale = np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1)
    cosine = np.einsum("ni,ni->n", before, after) / np.maximum(scale, 1e-12)
    bend = np.where(scale > 1e-12, np.arccos(np.clip(cosine, -1, 1)), 0.0)
    around = np.maximum(np.interp(along - reach, along, radius), 1e-12)
    around = np.minimum(around, np.maximum(np.interp(along + reach, along, radius), 1e-12))
    return bend + _THINNING * np.log2(np.maximum(around / np.maximum(radius, 1e-12), 0.5))


def _directions(
    skeleton: CurveSkeleton, nodes: np.ndarray, parent: np.ndarray, bone: np.ndarray
) -> np.ndarray:
    """[B, 3] from each joint to the mean of its bone's nodes, or of the bones on it."""
    found = np.zeros((len(nodes), 3))
    for number in range(len(nodes)):
        own = skeleton.points[bone == number].mean(0) - skeleton.points[nodes[number]]
        if np.linalg.norm(own) < 1e-12 and number:
            own = skeleton.points[nodes[number]] - skeleton.points[nodes[parent[number]]]
        length = np.linalg.norm(own)
        found[number] = own / length if length > 1e-12 else (0.0, 0.0, 1.0)
    return found


def _node_weights(
    skeleton: CurveSkeleton,
    arc: np.ndarray,
    nodes: np.ndarray,
    parent: np.ndarray,
    bone: np.ndarray,
    blend: float,
) -> np.ndarray:
    """[N, B]: each joint's bone takes over from its parent smoothly, around the joint."""
    weights = np.zeros((len(skeleton), len(nodes)))
    weights[np.arange(len(skeleton)), bone] = 1.0
    children = np.bincount(skeleton.parent[1:], minlength=len(skeleton))
    for number in range(1, len(nodes)):
        joint, width = nodes[number], blend * skeleton.radius[nodes[number]]
        upstream = _unbranched(skeleton, children, bone, joint)
        below = np.flatnonzero(bone == number)
        room = [arc[joint] - arc[upstream[-1]], arc[below].max() - arc[joint]]
        width = max(min(width, 0.48 * room[0] if len(upstream) > 1 else width, 0.48 * room[1]), 0.0)
        for node in (*upstream, *below):
            offset = (arc[node] - arc[joint]) / max(width, 1e-12)
            share = np.clip(0.5 + 0.5 * offset, 0.0, 1.0)
            share = share * share * (3 - 2 * share)
            if 0 < share < 1 or node == joint:
                weights[node, parent[number]] = 1 - share
                weights[node, number] = share
    # Near a fork, two joints may take over from the same bone.
    return weights / weights.sum(1, keepdims=True)


def _unbranched(
    skeleton: CurveSkeleton, children: np.ndarray, bone: np.ndarray, joint: int
) -> list[int]:
    """Nodes from before a joint up to the next joint or fork."""
    found: list[int] = []
    node = int(skeleton.parent[joint])
    start = bone[node]
    while bone[node] == start:
        found.append(node)
        if node == 0 or children[node] != 1:
            break
        node = int(skeleton.parent[node])
    return found or [int(skeleton.parent[joint])]
