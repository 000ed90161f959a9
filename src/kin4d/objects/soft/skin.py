"""Skin of a soft body: the surface that is seen, carried by the nodes that are simulated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix


@dataclass(frozen=True, eq=False, kw_only=True)
class SoftSkin:
    """A surface on nodes: ``carry @ nodes``, plus `offsets` in the frames of a line's segments.

    Attributes:
        carry: [V, N] sparse; rows sum to 1. Forces on vertices reach the nodes by its transpose.
        faces: [F, 3] int64.
        segment: [V] which segment's frame rotates a vertex's offset; None for cloth and solids.
        offsets: [V, 3] m along the segment, and across it by its first and second normal.
    """

    carry: csr_matrix
    faces: np.ndarray
    segment: np.ndarray | None = None
    offsets: np.ndarray | None = None

    @property
    def count(self) -> int:
        """Number of vertices."""
        return len(self.carry.indptr) - 1

    def over_time(self, nodes: np.ndarray, speeds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Vertices and their velocities [T, V, 3] for nodes and theirs [T, N, 3]."""
        vertices = np.stack([self.carry @ frame for frame in nodes])
        velocities = np.stack([self.carry @ frame for frame in speeds])
        if self.segment is None or self.offsets is None:
            return vertices, velocities
        normal = _any_normal(nodes[0, 1] - nodes[0, 0])
        tiny = 1e-5
        for time, (frame, speed) in enumerate(zip(nodes, speeds, strict=True)):
            frames = segment_frames(frame, normal)
            normal = frames[0, :, 1]  # the next frame starts from here, so that nothing spins
            after = segment_frames(frame + tiny * speed, normal)
            before = segment_frames(frame - tiny * speed, normal)
            rate = (after - before) / (2 * tiny)
            vertices[time] += np.einsum("vij,vj->vi", frames[self.segment], self.offsets)
            velocities[time] += np.einsum("vij,vj->vi", rate[self.segment], self.offsets)
        return vertices, velocities


def segment_frames(nodes: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """[N - 1, 3, 3] frames (columns: along, first and second normal), twisted as little as can be.

    Args:
        nodes: [N, 3] along a line.
        normal: [3] direction that the first segment's normal takes after.
    """
    along = np.diff(nodes, axis=0)
    along /= np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-12)
    frames = np.empty((len(along), 3, 3))
    for index, direction in enumerate(along):
        flat = normal - direction * (direction @ normal)
        length = np.linalg.norm(flat)
        normal = flat / length if length > 1e-6 else _any_normal(direction)
        frames[index] = np.stack([direction, normal, np.cross(direction, normal)], axis=1)
    return frames


def tube_skin(nodes: np.ndarray, radius: float, *, sides: int = 8) -> SoftSkin:
    """A closed tube around nodes [N, 3] of a rope."""
    count = len(nodes)
    angle = 2 * np.pi * np.arange(sides) / sides
    ring = radius * np.stack([np.zeros(sides), np.cos(angle), np.sin(angle)], axis=1)
    node = np.concatenate([np.repeat(np.arange(count), sides), [0, count - 1]])
    offsets = np.concatenate([np.tile(ring, (count, 1)), [[-radius, 0, 0], [radius, 0, 0]]])
    here = (sides * np.arange(count - 1)[:, None] + np.arange(sides)).ravel()
    aside = (sides * np.arange(count - 1)[:, None] + (np.arange(sides) + 1) % sides).ravel()
    following = (np.arange(sides) + 1) % sides
    last = sides * (count - 1)
    faces = [
        np.stack([here, aside, aside + sides], axis=1),
        np.stack([here, aside + sides, here + sides], axis=1),
        np.stack([np.full(sides, sides * count), following, np.arange(sides)], axis=1),
        np.stack(
            [np.full(sides, sides * count + 1), last + np.arange(sides), last + following], axis=1
        ),
    ]
    # Rings between two segments stand across the second: good enough for many short ones.
    return SoftSkin(
        carry=_rows(node[:, None], np.ones((len(node), 1)), count),
        faces=np.concatenate(faces),
        segment=np.minimum(node, count - 2),
        offsets=offsets,
    )


def chain_skin(nodes: np.ndarray, wire: float, *, around: int = 12, sides: int = 6) -> SoftSkin:
    """Oval links between successive nodes [N, 3] of a chain, every other rotated by 90 degrees."""
    count = len(nodes) - 1
    length = float(np.linalg.norm(nodes[1] - nodes[0]))
    azimuth, tilt = np.meshgrid(
        2 * np.pi * np.arange(around) / around, 2 * np.pi * np.arange(sides) / sides, indexing="ij"
    )
    across = 0.32 * length
    middle = np.stack([np.cos(azimuth) * (0.5 * length + wire), np.sin(azimuth) * across], axis=-1)
    outward = np.stack([np.cos(azimuth), np.sin(azimuth)], axis=-1)
    oval = middle + wire * np.cos(tilt)[..., None] * outward
    shape = np.concatenate([oval, wire * np.sin(tilt)[..., None]], axis=-1).reshape(-1, 3)
    i, j = np.meshgrid(np.arange(around), np.arange(sides), indexing="ij")
    a, b = i * sides + j, (i + 1) % around * sides + j
    c, d = (i + 1) % around * sides + (j + 1) % sides, i * sides + (j + 1) % sides
    one = np.concatenate([np.stack([a, b, c], -1), np.stack([a, c, d], -1)]).reshape(-1, 3)
    quarter = shape[:, [0, 2, 1]] * [1, -1, 1]
    offsets = np.concatenate([quarter if k % 2 else shape for k in range(count)])
    segment = np.repeat(np.arange(count), len(shape))
    return SoftSkin(
        carry=_rows(segment[:, None] + [0, 1], np.full((len(segment), 2), 0.5), count + 1),
        faces=np.concatenate([one + k * len(shape) for k in range(count)]),
        segment=segment,
        offsets=offsets,
    )


def node_skin(count: int, faces: np.ndarray) -> SoftSkin:
    """The nodes themselves, as of cloth."""
    return SoftSkin(carry=_rows(np.arange(count)[:, None], np.ones((count, 1)), count), faces=faces)


def embedded_skin(
    carriers: np.ndarray, shares: np.ndarray, faces: np.ndarray, count: int
) -> SoftSkin:
    """Vertices inside elements: carriers [V, K] of `count` nodes, and shares [V, K]."""
    return SoftSkin(carry=_rows(carriers, shares, count), faces=faces)


def _rows(columns: np.ndarray, values: np.ndarray, width: int) -> csr_matrix:
    rows = np.repeat(np.arange(len(columns)), columns.shape[1])
    numbers = np.asarray(values, np.float64).ravel()
    return csr_matrix((numbers, (rows, columns.ravel())), shape=(len(columns), width))


def _any_normal(direction: np.ndarray) -> np.ndarray:
    unit = np.eye(3)[abs(direction).argmin()]
    across = np.cross(direction, unit)
    return across / np.linalg.norm(across)
