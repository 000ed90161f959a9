"""PieceScene: pieces of one object in one state, with its joints as seen from that state."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kin4d.geometry.pieces import PieceSamples
from kin4d.objects.piece_object import FULL_TURN, PieceObject


@dataclass(frozen=True, eq=False, kw_only=True)
class PieceScene:
    """What a network sees, and the truth about it.

    Attributes:
        pieces: N of them, in world axes, z up.
        link: [N] link of each piece, 0 for the root.
        carried: [L, J] bool: whether a link moves when a joint does.
        own: [L] the joint right above each link, -1 for the root.
        slides: [J] prismatic, else revolute.
        pivot: [J, 3] a point of the axis.
        axis: [J, 3] unit.
        range: [J, 2] rad or lengths that each can still go back (<= 0) and forth (>= 0).
        endless: [J] hinges that turn all the way round.
    """

    pieces: PieceSamples
    link: np.ndarray
    carried: np.ndarray
    own: np.ndarray
    slides: np.ndarray
    pivot: np.ndarray
    axis: np.ndarray
    range: np.ndarray
    endless: np.ndarray

    @classmethod
    def of(cls, obj: PieceObject, q: np.ndarray) -> PieceScene:
        """An object at q [k]."""
        joints = obj.joints
        values = joints.values(q)
        motions = joints.motions(values)
        above = motions[joints.parent]
        own_motion = motions[obj.link]
        ends = joints.limits * joints.factor[:, None] + joints.offset[:, None]
        span = np.sort(ends, axis=1)
        low = np.minimum(span[:, 0] - values, 0.0)
        high = np.maximum(span[:, 1] - values, 0.0)
        return cls(
            pieces=_moved(obj.pieces, own_motion),
            link=obj.link,
            carried=joints.carried,
            own=np.arange(-1, len(joints)),
            slides=joints.slides,
            pivot=np.einsum("jab,jb->ja", above[:, :3, :3], joints.pivot) + above[:, :3, 3],
            axis=np.einsum("jab,jb->ja", above[:, :3, :3], joints.axis),
            range=np.stack([low, high], 1),
            endless=~joints.slides & (high - low >= FULL_TURN),
        )

    def transformed(self, rotation: np.ndarray, shift: np.ndarray, scale: float) -> PieceScene:
        """Every point x at scale * (rotation @ x + shift)."""
        pieces = self.pieces
        lengths = np.where(self.slides, scale, 1.0)[:, None]
        turn, move = (scale * rotation.T).astype(np.float32), (scale * shift).astype(np.float32)
        return replace(
            self,
            pieces=replace(
                pieces,
                points=pieces.points @ turn + move,
                normals=pieces.normals @ rotation.T.astype(np.float32),
                supports=pieces.supports @ turn + move,
                area=pieces.area * scale**2,
            ),
            pivot=scale * (self.pivot @ rotation.T + shift),
            axis=self.axis @ rotation.T,
            range=self.range * lengths,
        )

    def take(self, index: np.ndarray) -> PieceScene:
        """With some of the pieces alone."""
        return replace(self, pieces=self.pieces.take(index), link=self.link[index])


def _moved(pieces: PieceSamples, motions: np.ndarray) -> PieceSamples:
    motions = motions.astype(np.float32)
    turn, shift = motions[:, :3, :3].swapaxes(1, 2), motions[:, None, :3, 3]
    return replace(
        pieces,
        points=pieces.points @ turn + shift,
        normals=pieces.normals @ turn,
        supports=pieces.supports @ turn + shift,
    )
