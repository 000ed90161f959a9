"""JointDistribution: what a mesh may do, as the joint prior sees it.

Each part has several joints it may hang on (a door left or right), each with the probability that
the object can make its motion. The likeliest of all give a body; drawing from them gives others
that are plausible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from kin4d.bodies.segmented import JointSpec, SegmentedBody
from kin4d.geometry.mesh import Mesh
from kin4d.neurok.attachment import joints_that_detach
from kin4d.neurok.collision_limits import CollisionConfig, PartSamples
from kin4d.neurok.joint_decoding import (
    DecodingConfig,
    JointHypothesis,
    PartHypotheses,
    decode_joints,
)
from kin4d.neurok.joint_pretrained import CalibratedPrior, cached_joint_prior
from kin4d.neurok.mesh_pieces import MeshPieces, PieceConfig, cut_mesh
from kin4d.neurok.preprocess import UnitBox


@dataclass(frozen=True, kw_only=True)
class ArticulateConfig:
    """How a mesh becomes parts on joints.

    Attributes:
        pieces: How it is cut.
        decoding: How probabilities become parts and joints.
        min_probability: Joints that are less probable are left out; their parts stay with what
            carries them. F1 on development objects is highest at about this value.
        detaching_probability: Joints that take their part off what carries it (a screw cap, or a
            door hung on the wrong edge) need this probability instead.
        collision: How limits are shortened by collisions; None leaves them as predicted.
    """

    pieces: PieceConfig = field(default_factory=PieceConfig)
    decoding: DecodingConfig = field(default_factory=DecodingConfig)
    min_probability: float = 0.2
    detaching_probability: float = 0.5
    collision: CollisionConfig | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class JointDistribution:
    """Parts of a mesh, and the joints each may have.

    Attributes:
        mesh: Metres, z up.
        cut: Its pieces.
        parts: P of them, parents before children.
        probabilities: For each part, of each of its joints: that the object makes its motion.
        detaching: The same, whether it takes the part off what carries it.
        config: How predictions become joints.
    """

    mesh: Mesh
    cut: MeshPieces
    parts: tuple[PartHypotheses, ...]
    probabilities: tuple[tuple[float, ...], ...]
    detaching: tuple[tuple[bool, ...], ...]
    config: ArticulateConfig = field(default_factory=ArticulateConfig)

    def __len__(self) -> int:
        return len(self.parts)

    def joints(self) -> list[list[JointSpec]]:
        """For each part all its joints, the likeliest first; their parent is -1 for what does not
        move, else the place of the part in this list."""
        return [
            [
                _joint_spec(joint, f"part{row + 1}", part.parent, probability, self.cut.box)
                for joint, probability in zip(part.joints, stated, strict=True)
            ]
            for row, (part, stated) in enumerate(zip(self.parts, self.probabilities, strict=True))
        ]

    def body(self, *, mass: float | np.ndarray = 1.0) -> SegmentedBody:
        """Every part on the likeliest of its joints that are probable enough.

        Args:
            mass: kg, spread evenly over the surface; or [F], of each triangle.
        """
        allowed = self._allowed(self.config.min_probability)
        return self._body([int(np.argmax(row)) if row.any() else None for row in allowed], mass)

    def sample_body(self, *, seed: int, mass: float | np.ndarray = 1.0) -> SegmentedBody:
        """A body drawn from the distribution: each part hangs on one of its joints, or on none."""
        rng = np.random.default_rng(seed)
        choice: list[int | None] = []
        for stated, allowed in zip(self.probabilities, self._allowed(0.0), strict=True):
            chances = np.array([*stated, 0.0]) * [*allowed, True]
            chances[-1] = max(0.0, 1.0 - chances.sum())
            drawn = int(rng.choice(len(chances), p=chances / chances.sum()))
            choice.append(None if drawn == len(stated) else drawn)
        return self._body(choice, mass)

    def _allowed(self, min_probability: float) -> list[np.ndarray]:
        """For each part, of each of its joints: whether it is probable enough to be used."""
        detached = max(min_probability, self.config.detaching_probability)
        return [
            np.array(stated) >= np.where(detaching, detached, min_probability)
            for stated, detaching in zip(self.probabilities, self.detaching, strict=True)
        ]

    def _body(self, choice: Sequence[int | None], mass: float | np.ndarray) -> SegmentedBody:
        """The body with a joint of each part, or None: then the part stays with its parent."""
        chosen = {
            row: (self.parts[row].joints[k], self.probabilities[row][k])
            for row, k in enumerate(choice)
            if k is not None
        }
        order = sorted(chosen, key=lambda row: -chosen[row][1])
        number = {row: place for place, row in enumerate(order, 1)}
        number[-1] = 0
        for row, part in enumerate(self.parts):  # parents come first
            number.setdefault(row, number[part.parent])
        piece_part = np.zeros(len(self.cut.pieces), np.int64)
        for row, part in enumerate(self.parts):
            piece_part[part.pieces] = number[row]
        joints = []
        for row in order:
            joint, probability = chosen[row]
            kind = "slide" if joint.kind == "prismatic" else "hinge"
            parent = number[self.parts[row].parent]
            joints.append(
                _joint_spec(joint, f"{kind}{number[row]}", parent, probability, self.cut.box)
            )
        mesh = self.mesh
        vertex_part = np.zeros(len(mesh.vertices), np.int64)
        vertex_part[mesh.faces.ravel()] = np.repeat(piece_part[self.cut.face_piece], 3)
        if self.config.collision is not None:
            samples = PartSamples.of(mesh, vertex_part, config=self.config.collision)
            joints = _clip_limits(samples, joints)
        sure = max((stated[0] for stated in self.probabilities), default=0.0)
        return SegmentedBody(mesh, vertex_part, joints, mass=mass, confidence=sure)


def predict_joints(
    mesh: Mesh,
    weights: str | Path | CalibratedPrior = "small",
    *,
    config: ArticulateConfig | None = None,
) -> JointDistribution:
    """What the joint prior says of a mesh.

    Args:
        mesh: Any mesh; metres, z up.
        weights: Of the joint prior: a name that ships, a file, a folder or a hub id; or one that
            is loaded.
        config: How predictions become joints.
    """
    config = config or ArticulateConfig()
    loaded = isinstance(weights, CalibratedPrior)
    prior = weights if loaded else cached_joint_prior(str(weights))
    cut = cut_mesh(mesh, config.pieces)
    parts = decode_joints(prior.model, cut.batch(), config.decoding)
    probabilities = tuple(
        tuple(prior.probability(part, joint) for joint in part.joints) for part in parts
    )
    return JointDistribution(
        mesh=mesh,
        cut=cut,
        parts=tuple(parts),
        probabilities=probabilities,
        detaching=joints_that_detach(mesh, cut, parts),
        config=config,
    )


def _joint_spec(
    joint: JointHypothesis, name: str, parent: int, probability: float, box: UnitBox
) -> JointSpec:
    """A joint in metres."""
    unit = 1.0 / box.scale if joint.kind == "prismatic" else 1.0
    low, high = (-np.inf, np.inf) if joint.endless else (unit * end for end in joint.limits)
    return JointSpec(
        name=name,
        parent=parent,
        kind=joint.kind,
        point=box.denormalize(joint.pivot),
        axis=joint.axis @ box.rotation,
        limits=(low, high),
        probability=probability,
    )


def _clip_limits(samples: PartSamples, joints: list[JointSpec]) -> list[JointSpec]:
    """The joints with limits at which their parts hit others."""
    subtrees = []  # samples of each part and of its descendants
    for number in range(1, len(joints) + 1):
        subtree = {number}
        for other in range(1, len(joints) + 1):
            at = other
            while at and at != number:
                at = joints[at - 1].parent
            if at == number:
                subtree.add(other)
        subtrees.append(np.isin(samples.part, list(subtree)))
    return [
        replace(joint, limits=samples.clip_limits(joint, moving))
        for joint, moving in zip(joints, subtrees, strict=True)
    ]
