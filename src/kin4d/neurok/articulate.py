"""`kin4d.articulate`: divide a mesh into rigid parts on revolute and prismatic joints.

A `LearnedBody` keeps coordinates for uncertain motions, which suits fitting. Simulation needs exact
joints: each part gets the most likely of its candidate axes, the nearest part as parent, and limits
from the predicted range, shortened where it would hit something.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from scipy.spatial import KDTree

from kin4d.bodies.segmented import JointSpec, SegmentedBody
from kin4d.geometry.mesh import Mesh
from kin4d.neurok.collision_limits import CollisionConfig, PartSamples
from kin4d.neurok.model import EncodedShape
from kin4d.neurok.preprocess import UnitBox, sample_mesh
from kin4d.neurok.pretrained import cached_model
from kin4d.neurok.segmented_shape import snap_to_components
from kin4d.neurok.twists import TWIST_UNIT


@dataclass(frozen=True, kw_only=True)
class ArticulateConfig:
    """How predicted parts and motions become joints.

    Attributes:
        min_area: Share of the surface below which a part is left with the static one.
        contact_gap: Unit boxes between a part and the static one within which they touch.
        limit_std: Joint limits, in predicted standard deviations from the mean. Training states are
            uniform within the joint's range, a fifth of them at an end; such a range is 1.46
            standard deviations to either side.
        collision: How limits are shortened by collisions.
    """

    min_area: float = 1e-3
    contact_gap: float = 0.015
    limit_std: float = 1.46
    collision: CollisionConfig = field(default_factory=CollisionConfig)


def articulate(
    mesh: Mesh,
    model: str | Path = "small",
    *,
    up: str = "z",
    mass: float | np.ndarray = 1.0,
    points: int = 1024,
    config: ArticulateConfig | None = None,
) -> SegmentedBody:
    """Divide a mesh into the rigid parts that a network predicts, and connect them by joints.

    Args:
        mesh: Any mesh; metres.
        model: Weights; see `kin4d.neurok.from_pretrained`.
        up: The mesh's axis that points up, "y" or "z".
        mass: kg, spread evenly over the surface; or [F], of each triangle.
        points: Surface samples in the network input.
        config: How predictions become joints.
    """
    config = config or ArticulateConfig()
    net, ood = cached_model(str(model))
    mesh_sample = sample_mesh(mesh, up=up, points=points)
    segmented = snap_to_components(net, mesh, mesh_sample, rigid=True)
    shape, token = segmented.shape, segmented.vertices.weights[0].argmax(-1).numpy()
    area = np.bincount(token[mesh.faces[:, 0]], mesh.face_areas, minlength=net.config.tokens + 1)
    if area[0] <= config.min_area * area.sum():  # without a static part the largest one is static
        token[token == area.argmax()], area[area.argmax()] = 0, 0.0
    moving = [
        row
        for row, one in enumerate(shape.mixture.token.tolist())
        if area[one + 1] > config.min_area * area.sum()
    ]
    part_of_token = np.zeros(len(area), np.int64)
    part_of_token[shape.mixture.token[moving].numpy() + 1] = np.arange(1, len(moving) + 1)
    part = part_of_token[token]
    samples = PartSamples.of(mesh, part, config=config.collision)
    near = config.contact_gap / mesh_sample.box.scale
    parents = build_kinematic_tree(samples, len(moving), near=near)
    joints = [
        _joint_spec(shape, row, f"part{i}", parents[i], mesh_sample.box, config.limit_std)
        for i, row in enumerate(moving, 1)
    ]
    confidence = None
    if ood is not None:
        confidence = float(ood.confidence(shape.encoding)[0])
    return SegmentedBody(
        mesh, part, _clip_limits(samples, joints), mass=mass, confidence=confidence
    )


def _joint_spec(
    shape: EncodedShape, row: int, name: str, parent: int, box: UnitBox, limit_std: float
) -> JointSpec:
    """The joint of a part, by the most likely of its axes, in metres."""
    mixture, encoding = shape.mixture, shape.encoding
    token = int(mixture.token[row])
    best = int(mixture.most_likely()[0][row])
    centre = encoding.centres[0, token].double().numpy()
    radius = float(encoding.radii[0, token])
    translation, rotation = np.split(TWIST_UNIT * mixture.twists[row, best].double().numpy(), 2)
    angle = float(np.linalg.norm(rotation)) / radius
    slides = angle < 1e-6
    direction = translation if slides else rotation
    if not slides:  # the point of the axis nearest to the centre
        centre = centre + np.cross(rotation / radius, translation) / angle**2
    mean, reach = float(mixture.mean[row, best]), limit_std * float(mixture.std[row, best])
    low, high = min(mean - reach, 0.0), max(mean + reach, 0.0)
    per_twist = float(np.linalg.norm(translation)) / box.scale if slides else angle  # m or rad
    return JointSpec(
        name=name,
        parent=parent,
        kind="prismatic" if slides else "revolute",
        point=(centre / box.scale + box.centre) @ box.rotation,
        axis=direction / np.linalg.norm(direction) @ box.rotation,
        limits=(low * per_twist, high * per_twist),
    )


def build_kinematic_tree(samples: PartSamples, count: int, *, near: float) -> np.ndarray:
    """[count + 1] the parent of each part: the static part if it touches it, else the nearest.

    Args:
        samples: Surface samples; part 0 is static.
        count: Number of the other parts.
        near: m within which parts touch.
    """
    parents = np.zeros(count + 1, np.int64)
    clouds = [samples.points[samples.part == i] for i in range(count + 1)]
    gaps = np.full((count + 1, count + 1), np.inf)
    for i, cloud in enumerate(clouds):
        for j in range(i + 1, count + 1):
            if len(cloud) and len(clouds[j]):
                distance = np.asarray(KDTree(cloud).query(clouds[j])[0])
                gaps[i, j] = gaps[j, i] = np.sort(distance)[:3].mean()
    nearest = gaps.min(1)
    attached = (gaps[0] < near + 1.5 * nearest) | ~np.isfinite(nearest)
    attached[0] = True
    while not attached.all():
        reach = np.where(attached[:, None] & ~attached, gaps, np.inf)
        parent, child = np.unravel_index(int(reach.argmin()), reach.shape)
        if not np.isfinite(reach[parent, child]):
            break
        parents[child], attached[child] = parent, True
    return parents


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
