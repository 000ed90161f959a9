"""Skin: which joints carry which vertices, so that rigid motion stays small, exact and fast."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kin4d.errors import InputError


@dataclass(frozen=True, eq=False, kw_only=True)
class Skin:
    """Vertices bound to joints.

    A vertex is at ``sum_k weights[v, k] * (transform[joints[v, k]] @ rest[v])``.

    Attributes:
        joints: [V, K] int64, K from 1 to 4.
        weights: [V, K] float32, rows sum to 1.
        names: J joint names.
        parents: [J] int64, the joint that each hangs on, listed before it, or -1; None if nothing
            is known of a skeleton.
        pivots: [J, 3] m, where each joint is at rest; there if `parents` are.
    """

    joints: np.ndarray
    weights: np.ndarray
    names: tuple[str, ...]
    parents: np.ndarray | None = None
    pivots: np.ndarray | None = None

    def __post_init__(self) -> None:
        joints, weights = np.asarray(self.joints, np.int64), np.asarray(self.weights, np.float32)
        if joints.ndim != 2 or not 1 <= joints.shape[1] <= 4 or joints.shape != weights.shape:
            raise InputError(
                "skin joints and weights must both be [V, K] with K from 1 to 4",
                value=(joints.shape, weights.shape),
            )
        if joints.size and (joints.min() < 0 or joints.max() >= len(self.names)):
            raise InputError(
                "skin names a joint that does not exist",
                value=int(joints.max()),
                allowed=f"0 to {len(self.names) - 1}",
            )
        object.__setattr__(self, "joints", joints)
        object.__setattr__(self, "weights", weights)
        if self.parents is not None:
            count = len(self.names)
            parents, pivots = np.asarray(self.parents, np.int64), ()
            if self.pivots is not None:
                pivots = np.shape(self.pivots)
            before = parents.shape == (count,) and (parents < np.arange(count)).all()
            if not before or parents.min(initial=0) < -1 or pivots != (count, 3):
                raise InputError(
                    "a skeleton needs the parent and the place of every joint",
                    value=(parents.tolist(), pivots),
                    allowed=f"[{count}], each -1 or less than its own number; [{count}, 3]",
                )
            object.__setattr__(self, "parents", parents)

    @property
    def is_rigid(self) -> bool:
        """Whether every vertex follows one joint alone."""
        return self.joints.shape[1] == 1

    @classmethod
    def rigid(cls, vertex_joint: np.ndarray, names: tuple[str, ...]) -> Skin:
        """Each vertex on exactly one joint: `vertex_joint` [V]."""
        joints = np.asarray(vertex_joint, np.int64)[:, None]
        return cls(joints=joints, weights=np.ones(joints.shape, np.float32), names=names)

    def apply(self, transforms: np.ndarray, rest: np.ndarray) -> np.ndarray:
        """Vertices [V, 3] of one pose, from joint motions [J, 4, 4] and rest vertices [V, 3]."""
        if self.is_rigid:
            matrices = transforms[self.joints[:, 0]]
        else:
            matrices = np.einsum("vk,vkij->vij", self.weights, transforms[self.joints])
        return np.einsum("vij,vj->vi", matrices[:, :3, :3], rest) + matrices[:, :3, 3]


@dataclass(frozen=True, eq=False, kw_only=True)
class SkinAnimation(Skin):
    """A skin and its joints' motion over time.

    Attributes:
        transforms: [T, J, 4, 4] float64 rigid motions from the rest pose, metres.
    """

    transforms: np.ndarray

    def __post_init__(self) -> None:
        super().__post_init__()
        shape = np.shape(self.transforms)
        if len(shape) != 4 or shape[1:] != (len(self.names), 4, 4):
            raise InputError(
                "skin transforms have the wrong shape",
                value=shape,
                allowed=f"[T, {len(self.names)}, 4, 4]",
            )
