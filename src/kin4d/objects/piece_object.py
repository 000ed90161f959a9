"""PieceObject: an articulated object as pieces of surface on links, cheap to pose and to vary."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kin4d.geometry.pieces import PieceSamples, sample_pieces, split_surface
from kin4d.objects.procedural.assembly import ArticulatedObject

FULL_TURN = 2 * np.pi - 1e-3
"""rad: a hinge with at least this range turns without end."""

CLOUD = 1536
"""Points of an object's surface kept beside its pieces."""


@dataclass(frozen=True, eq=False, kw_only=True)
class LinkJoints:
    """The joints above links 1, 2, ... of an object, in world axes with all joints at zero.

    Attributes:
        parent: [J] link each hangs on; a parent comes before its children.
        slides: [J] whether it is prismatic; else revolute.
        pivot: [J, 3] m, a point of the axis.
        axis: [J, 3] unit.
        limits: [J, 2] rad or m.
        leader: [J] the joint that sets its value: itself, or the one it mimics.
        factor: [J] of the leader's value.
        offset: [J] rad or m.
    """

    parent: np.ndarray
    slides: np.ndarray
    pivot: np.ndarray
    axis: np.ndarray
    limits: np.ndarray
    leader: np.ndarray
    factor: np.ndarray
    offset: np.ndarray

    def __len__(self) -> int:
        return len(self.parent)

    @classmethod
    def of(cls, obj: ArticulatedObject) -> LinkJoints:
        """Those of an object without fixed joints, whose link frames are aligned at q = 0."""
        select, offset = obj.coupling
        lead = np.abs(select).argmax(1)
        rows = {joint.name: row for row, joint in enumerate(obj.joints)}
        free = np.array([rows[joint.name] for joint in obj.free_joints], np.int64)
        origin = np.zeros((len(obj.links), 3))
        for row, (joint, parent) in enumerate(zip(obj.joints, obj.parents[1:], strict=True), 1):
            origin[row] = origin[parent] + joint.origin[:3, 3]
        return cls(
            parent=np.array(obj.parents[1:], np.int64),
            slides=np.array([joint.kind == "prismatic" for joint in obj.joints]),
            pivot=origin[1:],
            axis=np.array([joint.axis for joint in obj.joints]).reshape(-1, 3),
            limits=obj.limits[lead],
            leader=free[lead],
            factor=select[np.arange(len(lead)), lead],
            offset=offset,
        )

    @classmethod
    def at(cls, obj: ArticulatedObject, q: np.ndarray) -> LinkJoints:
        """The joints of an object as they are at q [k], with their values counted from there."""
        joints, poses = cls.of(obj), obj.poses(q[None])[0, 1:]
        column = np.searchsorted(joints.free, joints.leader)
        limits = joints.limits - q[column][:, None]
        return replace(
            joints,
            pivot=poses[:, :3, 3],
            axis=np.einsum("jab,jb->ja", poses[:, :3, :3], joints.axis),
            limits=endless_both_ways(limits, joints.slides[joints.leader]),
            offset=np.zeros(len(joints)),
        )

    @property
    def free(self) -> np.ndarray:
        """[k] the joints that are coordinates."""
        return np.flatnonzero(self.leader == np.arange(len(self)))

    @property
    def carried(self) -> np.ndarray:
        """[J + 1, J] bool: whether a link moves when a joint does: its own and all above it."""
        out = np.zeros((len(self) + 1, len(self)), bool)
        for row, parent in enumerate(self.parent):
            out[row + 1] = out[parent]
            out[row + 1, row] = True
        return out

    def values(self, q: np.ndarray) -> np.ndarray:
        """[J] rad or m of all joints, for those of the free ones [k]."""
        full = np.zeros(len(self))
        full[self.free] = q
        return full[self.leader] * self.factor + self.offset

    def motions(self, values: np.ndarray) -> np.ndarray:
        """[J + 1, 4, 4] motion of each link from q = 0, in the world."""
        out = np.tile(np.eye(4), (len(self) + 1, 1, 1))
        for row, value in enumerate(values):
            out[row + 1] = out[self.parent[row]] @ joint_motion(
                self.pivot[row], self.axis[row], value, slides=bool(self.slides[row])
            )
        return out

    def scaled(self, scale: np.ndarray) -> LinkJoints:
        """With everything at q = 0 scaled by [3], negative to mirror."""
        axis = self.axis * scale
        length = np.linalg.norm(axis, axis=1)
        grow = np.where(self.slides, length, 1.0)
        axis = axis / length[:, None] * np.where(self.slides, 1.0, np.prod(np.sign(scale)))[:, None]
        return replace(
            self,
            pivot=self.pivot * scale,
            axis=axis,
            limits=self.limits * grow[self.leader][:, None],
            factor=self.factor * grow / grow[self.leader],
            offset=self.offset * grow,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class PieceObject:
    """Pieces on links, at q = 0.

    Attributes:
        name: For people.
        pieces: Of all links.
        link: [N] the link of each piece; 0 is the root.
        cloud: [M, 6] points (m) and unit normals spread evenly over the whole surface.
        cloud_link: [M] their links.
        joints: Of links 1, 2, ...
        q0: [k] rad or m: as the object was made.
    """

    name: str
    pieces: PieceSamples
    link: np.ndarray
    cloud: np.ndarray
    cloud_link: np.ndarray
    joints: LinkJoints
    q0: np.ndarray

    @classmethod
    def of(cls, obj: ArticulatedObject, rng: np.random.Generator) -> PieceObject:
        """Cut the links of an object into pieces and sample them."""
        motions_at_zero = obj.poses(np.zeros((1, len(obj.q0))))[0]
        joints = LinkJoints.of(obj)
        parts, link, placed = [], [], []
        drawn = [i for i, one in enumerate(obj.links) if len(one.faces)]
        for number in drawn:
            one = obj.links[number]
            placed.append(one.vertices + motions_at_zero[number, :3, 3])
            cut = split_surface(placed[-1], one.faces)
            parts.append(sample_pieces(placed[-1], one.faces, cut, rng))
            link.append(np.full(len(parts[-1]), number))
        area = np.array([part.area.sum() for part in parts])
        counts = np.maximum((CLOUD * area / area.sum()).astype(np.int64), 1)
        clouds = []
        for number, vertices, count in zip(drawn, placed, counts, strict=True):
            faces = obj.links[number].faces
            whole = np.zeros(len(faces), np.int64)
            spread = sample_pieces(vertices, faces, whole, rng, points=int(count))
            clouds.append(np.concatenate([spread.points[0], spread.normals[0]], 1))
        # Poses at q = 0 hold the offsets of mimics; motions are counted from there.
        return cls(
            name=f"{obj.category}/{obj.seed}",
            pieces=PieceSamples.concatenate(parts),
            link=np.concatenate(link),
            cloud=np.concatenate(clouds),
            cloud_link=np.repeat(drawn, counts),
            joints=replace(joints, offset=np.zeros_like(joints.offset)),
            q0=obj.q0,
        )

    def scaled(self, scale: np.ndarray) -> PieceObject:
        """Other proportions at q = 0: every part still moves rigidly."""
        pieces, size, single = self.pieces, np.abs(scale), scale.astype(np.float32)
        normals = pieces.normals / single
        # Surfaces grow by the cofactors of the scaling, weighted by their normals.
        growth = np.linalg.norm(pieces.normals * np.prod(size) / size, axis=-1).mean(-1)
        length = np.maximum(np.linalg.norm(normals, axis=-1, keepdims=True), 1e-30)
        scaled = replace(
            pieces,
            points=pieces.points * single,
            normals=normals / length,
            supports=pieces.supports * single,
            area=pieces.area * growth,
        )
        cloud = self.cloud.copy()
        cloud[:, :3] *= single
        cloud[:, 3:] /= single
        cloud[:, 3:] /= np.maximum(np.linalg.norm(cloud[:, 3:], axis=1, keepdims=True), 1e-30)
        return replace(self, pieces=scaled, cloud=cloud, joints=self.joints.scaled(scale))


def joint_motion(pivot: np.ndarray, axis: np.ndarray, value: float, *, slides: bool) -> np.ndarray:
    """[4, 4] world motion of a joint by `value` (rad or m) about a line."""
    out = np.eye(4)
    if slides:
        out[:3, 3] = value * axis
        return out
    skew = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    rotation = np.eye(3) + np.sin(value) * skew + (1 - np.cos(value)) * skew @ skew
    out[:3, :3] = rotation
    out[:3, 3] = pivot - rotation @ pivot
    return out


def endless_both_ways(limits: np.ndarray, slides: np.ndarray) -> np.ndarray:
    """Limits [J, 2] in which hinges that turn all the way round may do so either way."""
    endless = ~slides & (np.ptp(limits, axis=1) >= FULL_TURN)
    return np.where(endless[:, None], [-2 * np.pi, 2 * np.pi], limits)
