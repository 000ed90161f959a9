"""`kin4d.articulate`: divide a mesh into rigid parts on revolute and prismatic joints.

The joint prior sees the pieces of the mesh and predicts which of them move together, on what kind
of joint, about which axis and how far. Each part gets the likeliest of its hypotheses, and limits
that are shortened where it would hit something.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from kin4d.bodies.segmented import JointSpec, SegmentedBody
from kin4d.geometry.mesh import Mesh
from kin4d.neurok.collision_limits import CollisionConfig, PartSamples
from kin4d.neurok.joint_decoding import DecodingConfig, PartHypotheses, decode_joints
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
        collision: How limits are shortened by collisions; None leaves them as predicted.
    """

    pieces: PieceConfig = field(default_factory=PieceConfig)
    decoding: DecodingConfig = field(default_factory=DecodingConfig)
    min_probability: float = 0.2
    collision: CollisionConfig | None = None


def articulate(
    mesh: Mesh,
    weights: str | Path | CalibratedPrior = "small",
    *,
    mass: float | np.ndarray = 1.0,
    config: ArticulateConfig | None = None,
) -> SegmentedBody:
    """Divide a mesh into the rigid parts that a network predicts, and connect them by joints.

    `SegmentedBody.joint_specs` has a calibrated probability for each joint, the surest first; the
    body's `confidence` is that of the surest.

    Args:
        mesh: Any mesh; metres, z up.
        weights: Of the joint prior: a name that ships, a file, a folder or a hub id; or one that
            is loaded.
        mass: kg, spread evenly over the surface; or [F], of each triangle.
        config: How predictions become joints.
    """
    config = config or ArticulateConfig()
    loaded = isinstance(weights, CalibratedPrior)
    prior = weights if loaded else cached_joint_prior(str(weights))
    cut = cut_mesh(mesh, config.pieces)
    parts = decode_joints(prior.model, cut.batch(), config.decoding)
    probabilities = [prior.probability(part) for part in parts]
    return body_of_parts(mesh, cut, parts, probabilities, mass=mass, config=config)


def body_of_parts(
    mesh: Mesh,
    cut: MeshPieces,
    parts: list[PartHypotheses],
    probabilities: list[float],
    *,
    mass: float | np.ndarray = 1.0,
    config: ArticulateConfig,
) -> SegmentedBody:
    """The body of predicted parts, each on its likeliest joint; the most probable come first."""
    face_part, joints = _joint_specs(cut, parts, probabilities, config.min_probability)
    vertex_part = np.zeros(len(mesh.vertices), np.int64)
    vertex_part[mesh.faces.ravel()] = np.repeat(face_part, 3)
    if config.collision is not None:
        joints = _clip_limits(PartSamples.of(mesh, vertex_part, config=config.collision), joints)
    confidence = max(probabilities, default=0.0)
    return SegmentedBody(mesh, vertex_part, joints, mass=mass, confidence=confidence)


def _joint_specs(
    cut: MeshPieces, parts: list[PartHypotheses], probabilities: list[float], least: float
) -> tuple[np.ndarray, list[JointSpec]]:
    """[F] part of each face, and the joints that are probable enough, the surest first."""
    order = sorted(
        (row for row, value in enumerate(probabilities) if value >= least),
        key=lambda row: -probabilities[row],
    )
    number = {row: place for place, row in enumerate(order, 1)}
    number[-1] = 0
    for row, part in enumerate(parts):  # parents come first
        number.setdefault(row, number[part.parent])
    piece_part = np.zeros(len(cut.pieces), np.int64)
    for row, part in enumerate(parts):
        piece_part[part.pieces] = number[row]
    joints = [
        _joint_spec(parts[row], number[row], number[parts[row].parent], probabilities[row], cut.box)
        for row in order
    ]
    return piece_part[cut.face_piece], joints


def _joint_spec(
    part: PartHypotheses, number: int, parent: int, probability: float, box: UnitBox
) -> JointSpec:
    """The likeliest joint of a part, in metres."""
    joint = part.joints[0]
    unit = 1.0 / box.scale if joint.kind == "prismatic" else 1.0
    low, high = (-np.inf, np.inf) if joint.endless else (unit * end for end in joint.limits)
    return JointSpec(
        name=f"{'slide' if joint.kind == 'prismatic' else 'hinge'}{number}",
        parent=parent,
        kind=joint.kind,
        point=(joint.pivot / box.scale + box.centre) @ box.rotation,
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
