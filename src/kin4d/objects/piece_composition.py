"""Other objects from those at hand: one attached to another, and parts taken away.

Both break the habits of a category (a joint is where it is because of what is near it, not because
the whole is an oven), which is what a network must learn to do well on categories it never saw.
"""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np

from kin4d.geometry.pieces import PieceSamples
from kin4d.objects.piece_object import LinkJoints, PieceObject

_QUARTER_TURNS = (
    ((1.0, 0.0), (0.0, 1.0)),
    ((0.0, -1.0), (1.0, 0.0)),
    ((-1.0, 0.0), (0.0, -1.0)),
    ((0.0, 1.0), (-1.0, 0.0)),
)


def attached(base: PieceObject, other: PieceObject, rng: np.random.Generator) -> PieceObject:
    """Two objects as one: `other`, upright and smaller, stands on or hangs at a part of `base`.

    It moves with the link it touches; its own joints are nested on that one.
    """
    at = _mounting_point(base, rng)
    point, normal, link = base.cloud[at, :3], base.cloud[at, 3:], int(base.cloud_link[at])
    size = _extent(base).max() * np.exp(rng.uniform(np.log(0.15), np.log(1.0)))
    other = other.scaled(np.full(3, size / max(_extent(other).max(), 1e-9)))
    turn = np.eye(3)
    turn[:2, :2] = _QUARTER_TURNS[int(rng.integers(4))]
    other = _rotated(other, turn)
    corners = other.pieces.supports.reshape(-1, 3)
    low, high = corners.min(0), corners.max(0)
    # Its box touches the surface where the surface faces it.
    side = int(np.abs(normal).argmax())
    center = point.astype(np.float64)
    center[side] += np.sign(normal[side]) * (high - low)[side] / 2
    other = _translated(other, center - (low + high) / 2)
    count = len(base.joints)
    share = other.pieces.area.sum() / max(base.pieces.area.sum(), 1e-12)
    kept = rng.permutation(len(other.cloud))[: max(8, round(share * len(base.cloud)))]

    def number(links: np.ndarray) -> np.ndarray:
        return np.where(links == 0, link, links + count)

    joints = other.joints
    appended = replace(joints, parent=number(joints.parent), leader=joints.leader + count)
    return PieceObject(
        name=f"{base.name}+{other.name}",
        pieces=PieceSamples.concatenate([base.pieces, other.pieces]),
        link=np.concatenate([base.link, number(other.link)]),
        cloud=np.concatenate([base.cloud, other.cloud[kept]]),
        cloud_link=np.concatenate([base.cloud_link, number(other.cloud_link[kept])]),
        joints=LinkJoints(
            **{
                field.name: np.concatenate(
                    [getattr(base.joints, field.name), getattr(appended, field.name)]
                )
                for field in fields(LinkJoints)
            }
        ),
        q0=np.concatenate([base.q0, other.q0]),
    )


def without_some_parts(
    obj: PieceObject, rng: np.random.Generator, *, share: float = 0.3
) -> PieceObject:
    """Without some of the moving parts, each left out with probability `share` together with all it
    carries; parts that mimic one of them go too."""
    joints = obj.joints
    gone = rng.random(len(joints)) < share
    while True:
        wider = gone | joints.carried[1:][:, gone].any(1) | gone[joints.leader]
        if (wider == gone).all():
            break
        gone = wider
    keep = np.flatnonzero(~gone)
    on_kept = np.concatenate([[True], ~gone])
    stays = on_kept[obj.link]
    if len(keep) == len(joints) or not stays.any():
        return obj
    number = np.zeros(len(joints) + 1, np.int64)
    number[keep + 1] = np.arange(1, len(keep) + 1)
    cloud = on_kept[obj.cloud_link]
    kept = LinkJoints(**{f.name: getattr(joints, f.name)[keep] for f in fields(LinkJoints)})
    return replace(
        obj,
        pieces=obj.pieces.take(stays),
        link=number[obj.link[stays]],
        cloud=obj.cloud[cloud],
        cloud_link=number[obj.cloud_link[cloud]],
        joints=replace(kept, parent=number[kept.parent], leader=number[kept.leader + 1] - 1),
        q0=obj.q0[np.isin(joints.free, keep)],
    )


def _mounting_point(obj: PieceObject, rng: np.random.Generator) -> int:
    """A point of the cloud: mostly one that faces up, never one that faces down."""
    up = obj.cloud[:, 5]
    rows = np.flatnonzero(up > 0.7) if rng.random() < 0.6 else np.flatnonzero(up > -0.3)
    return int(rng.choice(rows)) if len(rows) else int(rng.integers(len(obj.cloud)))


def _extent(obj: PieceObject) -> np.ndarray:
    return np.ptp(obj.pieces.supports.reshape(-1, 3), axis=0)


def _rotated(obj: PieceObject, rotation: np.ndarray) -> PieceObject:
    turn, pieces, joints = rotation.T.astype(np.float32), obj.pieces, obj.joints
    return replace(
        obj,
        pieces=replace(
            pieces,
            points=pieces.points @ turn,
            normals=pieces.normals @ turn,
            supports=pieces.supports @ turn,
        ),
        cloud=np.concatenate([obj.cloud[:, :3] @ turn, obj.cloud[:, 3:] @ turn], 1),
        joints=replace(joints, pivot=joints.pivot @ rotation.T, axis=joints.axis @ rotation.T),
    )


def _translated(obj: PieceObject, shift: np.ndarray) -> PieceObject:
    move, pieces = shift.astype(np.float32), obj.pieces
    cloud = obj.cloud.copy()
    cloud[:, :3] += move
    return replace(
        obj,
        pieces=replace(pieces, points=pieces.points + move, supports=pieces.supports + move),
        cloud=cloud,
        joints=replace(obj.joints, pivot=obj.joints.pivot + shift),
    )
