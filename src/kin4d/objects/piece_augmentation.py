"""Augmentation of piece objects: clean objects made to look like found ones.

Pieces are merged and split, small ones dropped, clutter is added (`piece_clutter`), proportions
change along directions that keep hinges true. Fused surfaces are made beforehand (`fused_object`).
Every function takes and returns a `PieceObject` or a `PieceScene`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kin4d.geometry.pieces import (
    DIRECTIONS,
    POINTS,
    PieceSamples,
    group_points,
    yaw_alignment,
)
from kin4d.objects.piece_clutter import with_clutter
from kin4d.objects.piece_object import PieceObject
from kin4d.objects.piece_scene import PieceScene


@dataclass(frozen=True, kw_only=True)
class PieceAugmentation:
    """How objects are varied; probabilities unless a unit is given.

    Attributes:
        compose: Another object is attached to a part.
        remove: Some of the moving parts are left out.
        stretch: Standard deviation of the logarithm of each axis' scale.
        clutter: Small pieces are attached to surfaces.
        drop: Small pieces are left out.
        merge: Pieces of one link that are close become one.
        split: Large pieces are cut in two.
        sheets: Many pieces are cut into sheets by the way they face.
        flip: Normals face either way: of every point, as on sheets drawn from both sides, of some
            pieces, or of all.
        at_rest: The object is partly as it was made instead of in a random state.
        posed: Random states are drawn at all; else the object is as it was made.
        noise: Standard deviation of points, in units of the largest extent.
        most: Pieces kept, the largest.
    """

    compose: float = 0.4
    remove: float = 0.35
    stretch: float = 0.2
    clutter: float = 0.55
    drop: float = 0.4
    merge: float = 0.4
    split: float = 0.3
    sheets: float = 0.3
    flip: float = 0.45
    at_rest: float = 0.25
    posed: bool = True
    noise: float = 0.002
    most: int = 128


NO_AUGMENTATION = PieceAugmentation(
    compose=0,
    remove=0,
    stretch=0,
    clutter=0,
    drop=0,
    merge=0,
    split=0,
    sheets=0,
    flip=0,
    at_rest=0,
    noise=0,
)

FUSED_AUGMENTATION = replace(NO_AUGMENTATION, stretch=0.2, flip=0.1, noise=0.002, posed=False)
"""Of fused objects, which cannot be posed again or taken apart."""


def random_scene(obj: PieceObject, rng: np.random.Generator, vary: PieceAugmentation) -> PieceScene:
    """An object in a random state and looks, facing along x or y, in a unit box."""
    if vary.stretch > 0:
        scale = np.exp(rng.normal(0, vary.stretch, 3))
        obj = obj.scaled(scale * [rng.choice([-1.0, 1.0]), 1.0, 1.0])
    if rng.random() < vary.drop:
        obj = _dropped(obj, rng)
    if rng.random() < vary.clutter:
        obj = with_clutter(obj, rng)
    if rng.random() < vary.split:
        obj = _split(obj, rng)
    if rng.random() < vary.sheets:
        obj = _into_sheets(obj, rng)
    if rng.random() < vary.merge:
        obj = _merged(obj, rng)
    q = random_state(obj, rng, at_rest=vary.at_rest) if vary.posed else obj.q0
    scene = PieceScene.of(obj, q)
    if rng.random() < vary.flip:
        scene = replace(scene, pieces=_flipped(scene.pieces, rng))
    if len(scene.link) > vary.most:
        scene = scene.take(np.sort(np.argsort(-scene.pieces.area)[: vary.most]))
    return normalized(scene, rng, noise=vary.noise)


def random_state(obj: PieceObject, rng: np.random.Generator, *, at_rest: float = 0.0) -> np.ndarray:
    """[k] uniform within the limits, a fifth of the values at an end; sometimes partly at rest."""
    low, high = obj.joints.limits[obj.joints.free].T
    share = rng.random(len(low))
    q = low + (high - low) * np.where(rng.random(len(low)) < 0.2, np.round(share), share)
    if rng.random() < at_rest:
        q = np.where(rng.random(len(low)) < rng.choice([0.5, 1.0]), obj.q0, q)
    return q


def normalized(
    scene: PieceScene, rng: np.random.Generator | None = None, *, noise: float = 0.0
) -> PieceScene:
    """Aligned in yaw, up to a random quarter turn if `rng` is given, and in a unit box."""
    pieces = scene.pieces
    weight = np.repeat(pieces.area / pieces.normals.shape[1], pieces.normals.shape[1])
    rotation = yaw_alignment(pieces.normals.reshape(-1, 3), weight)
    if rng is not None:
        rotation = np.linalg.matrix_power(_QUARTER, int(rng.integers(4))) @ rotation
    corners = pieces.supports.reshape(-1, 3) @ rotation.T
    low, high = corners.min(0), corners.max(0)
    size = max(float((high - low).max()), 1e-9)
    shift, grow = np.zeros(3), 1.0
    if rng is not None and noise > 0:
        shift, grow = rng.uniform(-0.1, 0.1, 3) * size, np.exp(rng.uniform(-0.2, 0.1))
    scene = scene.transformed(rotation, shift - (low + high) / 2, grow / size)
    if rng is not None and noise > 0:
        points = scene.pieces.points
        points = points + rng.normal(0, noise * rng.random(), points.shape)
        scene = replace(scene, pieces=replace(scene.pieces, points=points))
    return scene


_QUARTER = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])


def _with_pieces(obj: PieceObject, pieces: PieceSamples, link: np.ndarray) -> PieceObject:
    return replace(obj, pieces=pieces, link=link)


def _flipped(pieces: PieceSamples, rng: np.random.Generator) -> PieceSamples:
    """With normals that face either way."""
    count, each = pieces.normals.shape[:2]
    shape = [(count, each, 1), (count, 1, 1), (1, 1, 1)][int(rng.choice(3, p=[0.6, 0.25, 0.15]))]
    sign = np.where(rng.random(shape) < 0.5, -1.0, 1.0) if max(shape) > 1 else -np.ones(shape)
    return replace(pieces, normals=(pieces.normals * sign).astype(np.float32))


def _dropped(obj: PieceObject, rng: np.random.Generator) -> PieceObject:
    """Without some of the small pieces; every link keeps its largest."""
    area, link = obj.pieces.area, obj.link
    small = area < 0.05 * area.sum()
    keep = ~small | (rng.random(len(area)) > rng.choice([0.1, 0.3, 0.6]))
    for one in np.unique(link):
        own = np.flatnonzero(link == one)
        keep[own[area[own].argmax()]] = True
    return _with_pieces(obj, obj.pieces.take(keep), link[keep])


def _split(obj: PieceObject, rng: np.random.Generator) -> PieceObject:
    """Some of the larger pieces cut in two by a plane along an axis."""
    pieces = obj.pieces
    often = rng.choice([2, 4, 10])
    chosen = np.flatnonzero(rng.random(len(pieces)) < often * pieces.area / pieces.area.sum())
    chosen = rng.permutation(chosen)[:8]
    sides = []
    for own in pieces.points[chosen]:
        axis = int(np.ptp(own, axis=0).argmax()) if rng.random() < 0.7 else int(rng.integers(3))
        sides.append(own[:, axis] > np.quantile(own[:, axis], rng.uniform(0.25, 0.75)))
    return _cut(obj, chosen, sides, rng)


def _into_sheets(obj: PieceObject, rng: np.random.Generator) -> PieceObject:
    """Many pieces cut into sheets by the way they face."""
    count = len(obj.link)
    chosen = np.flatnonzero(rng.random(count) < rng.choice([0.15, 0.3, 0.6]))
    return _cut(obj, chosen, [_facing_side(obj.pieces.normals[i]) for i in chosen], rng)


def _cut(
    obj: PieceObject, chosen: np.ndarray, sides: list[np.ndarray], rng: np.random.Generator
) -> PieceObject:
    """Chosen pieces [n] cut by a label [K] of each of their points."""
    if not len(chosen):
        return obj
    pieces, link = obj.pieces, obj.link
    made = [pieces.take(np.setdiff1d(np.arange(len(link)), chosen))]
    owners = [np.delete(link, chosen)]
    for index, side in zip(chosen, sides, strict=True):
        label = np.unique(side, return_inverse=True)[1].astype(np.int64)
        own, normals = pieces.points[index], pieces.normals[index]
        cut = group_points(own, normals, label, float(pieces.area[index]), rng)
        made.append(replace(cut, component=np.arange(len(cut))))
        owners.append(np.full(len(cut), link[index]))
    return _with_pieces(obj, PieceSamples.concatenate(made), np.concatenate(owners))


def _facing_side(normals: np.ndarray) -> np.ndarray:
    """[M] which of the six directions of the axes each unit normal [M, 3] is nearest to."""
    axis = np.abs(normals).argmax(1)
    return 2 * axis + (normals[np.arange(len(normals)), axis] > 0)


def _merged(obj: PieceObject, rng: np.random.Generator) -> PieceObject:
    """Pieces of a link that are near each other made one."""
    pieces, link = obj.pieces, obj.link
    label = np.arange(len(link))
    centers = pieces.points.mean(1)
    for one in np.unique(link):
        own = np.flatnonzero(link == one)
        if len(own) < 2 or rng.random() < 0.4:
            continue
        groups = int(rng.integers(1, max(2, len(own) // 2 + 1)))
        seeds = rng.choice(own, groups, replace=False)
        far = np.linalg.norm(centers[own][:, None] - centers[seeds], axis=-1)
        joins = rng.random(len(own)) < 0.8
        label[own[joins]] = seeds[far.argmin(1)][joins]
    numbers = np.unique(label, return_inverse=True)[1]
    count = int(numbers.max()) + 1
    made = []
    for group in range(count):
        members = np.flatnonzero(numbers == group)
        if len(members) == 1:
            made.append(pieces.take(members))
            continue
        share = pieces.area[members] / max(pieces.area[members].sum(), 1e-30)
        pick = rng.choice(len(members), POINTS, p=share)
        which = rng.integers(pieces.points.shape[1], size=POINTS)
        flat = pieces.supports[members].reshape(-1, 3)
        made.append(
            PieceSamples(
                points=pieces.points[members[pick], which][None],
                normals=pieces.normals[members[pick], which][None],
                supports=flat[(flat @ DIRECTIONS.T).argmax(0)][None],
                area=pieces.area[members].sum(keepdims=True),
                component=np.zeros(1, np.int64),
            )
        )
    first = np.zeros(count, np.int64)
    first[numbers] = np.arange(len(link))
    return _with_pieces(obj, PieceSamples.concatenate(made), link[first])
