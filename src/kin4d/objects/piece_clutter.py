"""Clutter: small pieces attached to an object that move with what carries them.

Found meshes are full of them: single caps and screws, keyboards, trim along edges, frames.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from kin4d.geometry.pieces import DIRECTIONS, POINTS, PieceSamples
from kin4d.objects.piece_object import PieceObject


@dataclass(frozen=True, eq=False)
class Solid:
    """A box, or a disc about its third direction, on a link.

    Attributes:
        center: [3] m.
        frame: [3, 3] rows are unit directions.
        half: [3] m, half extents along them.
        link: It moves with.
        is_round: A disc.
    """

    center: np.ndarray
    frame: np.ndarray
    half: np.ndarray
    link: int
    is_round: bool = False


def random_clutter(obj: PieceObject, rng: np.random.Generator) -> list[Solid]:
    """Some small solids on the surface of an object."""
    size = float(np.ptp(obj.pieces.supports.reshape(-1, 3), axis=0).max())
    solids: list[Solid] = []
    for _ in range(int(rng.integers(1, 5))):
        kind = rng.choice(4, p=[0.5, 0.2, 0.15, 0.15])
        solids += [_single, _keys, _trim, _frame][kind](obj, size, rng)
    return solids


def with_clutter(obj: PieceObject, rng: np.random.Generator) -> PieceObject:
    """An object with some small solids on its surface."""
    solids = random_clutter(obj, rng)
    sampled = [_sampled(solid, rng) for solid in solids]
    points, normals, supports, area = (np.stack(column) for column in zip(*sampled, strict=True))
    extra = PieceSamples(
        points=points,
        normals=normals,
        supports=supports,
        area=area,
        component=np.arange(len(area)),
    )
    return replace(
        obj,
        pieces=PieceSamples.concatenate([obj.pieces, extra]),
        link=np.concatenate([obj.link, [solid.link for solid in solids]]),
    )


def _single(obj: PieceObject, size: float, rng: np.random.Generator) -> Iterator[Solid]:
    """One small solid on a point of the surface."""
    at = int(rng.integers(len(obj.cloud)))
    base, normal = obj.cloud[at, :3], obj.cloud[at, 3:]
    side = np.cross(normal, [0.0, 0.0, 1.0] if abs(normal[2]) < 0.9 else [1.0, 0.0, 0.0])
    side /= max(np.linalg.norm(side), 1e-9)
    frame = np.stack([side, np.cross(normal, side), normal])
    half = size * np.exp(rng.uniform(np.log([0.004, 0.004, 0.002]), np.log([0.06, 0.03, 0.02])))
    center = base + normal * half[2] * rng.uniform(0, 1)
    yield Solid(center, frame, half, int(obj.cloud_link[at]), bool(rng.random() < 0.3))


@dataclass(frozen=True, eq=False)
class _Face:
    """A side of the box around a piece, in world axes.

    Attributes:
        center: [3] m.
        frame: [3, 3] rows: two directions in the face, and outwards.
        half: [2] m, half extents in the face.
        link: Of the piece.
    """

    center: np.ndarray
    frame: np.ndarray
    half: np.ndarray
    link: int

    @classmethod
    def random(cls, obj: PieceObject, rng: np.random.Generator) -> _Face:
        """Large pieces and large sides are likelier."""
        area = np.maximum(obj.pieces.area, 0) + 1e-12
        index = int(rng.choice(len(area), p=area / area.sum()))
        corners = obj.pieces.supports[index].astype(np.float64)
        low, high = corners.min(0), corners.max(0)
        extent = high - low + 1e-6
        share = extent.prod() / extent
        axis = int(rng.choice(3, p=share / share.sum()))
        sign = rng.choice([-1.0, 1.0])
        first, second = np.eye(3)[(axis + 1) % 3], np.eye(3)[(axis + 2) % 3]
        center = (low + high) / 2
        center[axis] += sign * extent[axis] / 2
        half = extent[[(axis + 1) % 3, (axis + 2) % 3]] / 2
        frame = np.stack([first, sign * second, sign * np.eye(3)[axis]])
        return cls(center, frame, half, int(obj.link[index]))

    def solid(
        self, at: np.ndarray, half: np.ndarray, lift: float, *, is_round: bool = False
    ) -> Solid:
        """One of half extents [3] at [2] in the face, its middle `lift` above it, m."""
        center = self.center + np.array([*at, lift]) @ self.frame
        return Solid(center, self.frame, half, self.link, is_round)


def _keys(obj: PieceObject, size: float, rng: np.random.Generator) -> Iterator[Solid]:
    """Rows of keys on a side of a piece, that are not pressed."""
    face = _Face.random(obj, rng)
    share = rng.uniform([0.3, 0.3], [0.95, 0.95])
    middle = face.half * (1 - share) * rng.uniform(-1, 1, 2)
    rows, columns = int(rng.integers(1, 7)), int(rng.integers(2, 13))
    if face.half[0] < face.half[1]:
        rows, columns = columns, rows
    pitch = 2 * face.half * share / [columns, rows]
    fill = rng.uniform(0.5, 0.95)
    height = min(size * rng.uniform(0.002, 0.015), float(pitch.max()))
    half, is_round = np.array([*(fill * pitch / 2), height]), bool(rng.random() < 0.2)
    for row in range(rows):
        for column in range(columns):
            if rng.random() < 0.04:
                continue
            at = middle + pitch * ([column + 0.5, row + 0.5] - np.array([columns, rows]) / 2)
            yield face.solid(at, half, 0.3 * height, is_round=is_round)


def _trim(obj: PieceObject, size: float, rng: np.random.Generator) -> Iterator[Solid]:
    """Bars across a side of a piece."""
    face = _Face.random(obj, rng)
    along = int(rng.integers(2))
    width, height = size * rng.uniform(0.003, 0.02, 2)
    half = np.array([width, width, height])
    half[along] = face.half[along] * rng.uniform(0.3, 1.0)
    for place in rng.uniform(-1, 1, int(rng.integers(1, 5))):
        at = np.zeros(2)
        at[1 - along] = place * face.half[1 - along]
        yield face.solid(at, half, float(height * rng.uniform(0, 1)))


def _frame(obj: PieceObject, size: float, rng: np.random.Generator) -> Iterator[Solid]:
    """Four bars around a side of a piece, sometimes with a panel in between."""
    face = _Face.random(obj, rng)
    width, height = size * rng.uniform(0.003, 0.025, 2)
    inner = face.half * rng.uniform(0.6, 1.0)
    for along in range(2):
        half = np.array([width, width, height])
        half[along] = inner[along]
        for sign in (-1.0, 1.0):
            at = np.zeros(2)
            at[1 - along] = sign * inner[1 - along]
            yield face.solid(at, half, 0.5 * height)
    if rng.random() < 0.4:
        yield face.solid(np.zeros(2), np.array([*inner, 0.2 * height]), 0.3 * height)


def _sampled(
    solid: Solid, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Points and normals [K, 3], supports [S, 3] and area of a solid."""
    half = solid.half
    local, facing = _surface_points(half, rng, is_round=solid.is_round)
    corners = _corners(half, is_round=solid.is_round)
    area = 8 * (half[0] * half[1] + half[1] * half[2] + half[0] * half[2])
    place = solid.frame, solid.center
    return local @ place[0] + place[1], facing @ place[0], corners @ place[0] + place[1], area


def _surface_points(
    half: np.ndarray, rng: np.random.Generator, *, is_round: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Points and normals [K, 3] on a box or a disc of half extents [3]."""
    sides = np.array([half[1] * half[2], half[0] * half[2], half[0] * half[1]])
    axis = rng.choice(3, POINTS, p=sides / sides.sum())
    sign = rng.choice([-1.0, 1.0], POINTS)
    local = rng.uniform(-1, 1, (POINTS, 3))
    normals = np.zeros((POINTS, 3))
    if is_round:
        angle = rng.uniform(0, 2 * np.pi, POINTS)
        rim = axis != 2
        radius = np.where(rim, 1.0, np.sqrt(rng.random(POINTS)))
        circle = np.stack([np.cos(angle), np.sin(angle)], 1)
        local[:, :2] = circle * radius[:, None]
        local[~rim, 2] = sign[~rim]
        normals[rim, :2] = circle[rim]
        normals[~rim, 2] = sign[~rim]
    else:
        local[np.arange(POINTS), axis] = sign
        normals[np.arange(POINTS), axis] = sign
    return local * half, normals


def _corners(half: np.ndarray, *, is_round: bool) -> np.ndarray:
    """[S, 3] support points."""
    signs = np.sign(DIRECTIONS) + (DIRECTIONS == 0)
    if is_round:
        flat = np.linalg.norm(DIRECTIONS[:, :2], axis=1, keepdims=True)
        signs = np.concatenate([DIRECTIONS[:, :2] / np.maximum(flat, 1e-9), signs[:, 2:]], 1)
    return signs * half
