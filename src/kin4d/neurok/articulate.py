"""Articulate: cut a mesh into rigid parts on revolute and prismatic joints, as predicted by NeuROK.

A `LearnedBody` keeps coordinates for uncertain motions, which suits fitting. Simulation needs exact
joints: each part gets the most likely of its candidate axes, the nearest part as parent, and limits
from the predicted range, cut short where it would pass through something.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.spatial import KDTree

from kin4d.bodies.segmented import JointSpec, SegmentedBody
from kin4d.geometry.mesh import Mesh
from kin4d.neurok.clearance import PartSamples
from kin4d.neurok.model import EncodedShape
from kin4d.neurok.preprocess import UnitBox, sample_mesh
from kin4d.neurok.pretrained import cached_model
from kin4d.neurok.segmented_shape import snap_to_components
from kin4d.neurok.twists import TWIST_UNIT

_MIN_AREA = 1e-3  # of the surface: smaller parts stay with what stands fast
_NEAR = 0.015  # unit boxes within which a part touches what stands fast
# A value anywhere in its range, a fifth of the time at an end, as training draws them
# (`ArticulatedSample`), has this many standard deviations to either end.
_REACH = 1.46


def articulate(
    mesh: Mesh,
    model: str | Path = "small",
    *,
    up: str = "z",
    mass: float | np.ndarray = 1.0,
    points: int = 1024,
) -> SegmentedBody:
    """Cut a mesh into the parts a network sees, and hang them on joints.

    Args:
        mesh: Any; metres.
        model: Weights; see `kin4d.neurok.from_pretrained`.
        up: The mesh's axis that points up, "y" or "z".
        mass: kg, spread evenly over the surface; or [F], of each triangle.
        points: Surface samples the networks look at.
    """
    net, ood = cached_model(str(model))
    mesh_sample = sample_mesh(mesh, up=up, points=points)
    segmented = snap_to_components(net, mesh, mesh_sample, rigid=True)
    shape, token = segmented.shape, segmented.vertices.weights[0].argmax(-1).numpy()
    area = np.bincount(token[mesh.faces[:, 0]], mesh.face_areas, minlength=net.config.tokens + 1)
    if area[0] <= _MIN_AREA * area.sum():  # What is largest stands fast if nothing else does.
        token[token == area.argmax()], area[area.argmax()] = 0, 0.0
    found = [
        row
        for row, one in enumerate(shape.mixture.token.tolist())
        if area[one + 1] > _MIN_AREA * area.sum()
    ]
    number = np.zeros(len(area), np.int64)
    number[shape.mixture.token[found].numpy() + 1] = np.arange(1, len(found) + 1)
    part = number[token]
    samples = PartSamples.of(mesh, part)
    parents = build_kinematic_tree(samples, len(found), near=_NEAR / mesh_sample.box.scale)
    joints = [
        _joint_spec(shape, row, f"part{i}", parents[i], mesh_sample.box)
        for i, row in enumerate(found, 1)
    ]
    confidence = None
    if ood is not None:
        confidence = float(ood.confidence(shape.encoding)[0])
    return SegmentedBody(
        mesh, part, _clip_limits(samples, joints), mass=mass, confidence=confidence
    )


def _joint_spec(shape: EncodedShape, row: int, name: str, parent: int, box: UnitBox) -> JointSpec:
    """How a part hangs, by the likeliest of its axes."""
    mixture, encoding = shape.mixture, shape.encoding
    token = int(mixture.token[row])
    best = int(mixture.most_likely()[0][row])
    centre = encoding.centres[0, token].double().numpy()
    radius = float(encoding.radii[0, token])
    translation, rotation = np.split(TWIST_UNIT * mixture.twists[row, best].double().numpy(), 2)
    rate = float(np.linalg.norm(rotation)) / radius
    slides = rate < 1e-6
    along = translation if slides else rotation
    if not slides:
        rotation = rotation / radius
        centre = centre + np.cross(rotation, translation) / rate**2
    mean, reach = float(mixture.mean[row, best]), _REACH * float(mixture.std[row, best])
    low, high = min(mean - reach, 0.0), max(mean + reach, 0.0)
    per = float(np.linalg.norm(translation)) / box.scale if slides else rate
    return JointSpec(
        name=name,
        parent=parent,
        kind="prismatic" if slides else "revolute",
        place=(centre / box.scale + box.centre) @ box.rotation,
        axis=along / np.linalg.norm(along) @ box.rotation,
        limits=(low * per, high * per),
    )


def build_kinematic_tree(samples: PartSamples, count: int, *, near: float) -> np.ndarray:
    """[count + 1] the part that each hangs on: what it touches, and rather what stands fast.

    Args:
        samples: Points of the surface; part 0 is fixed.
        count: Of the others.
        near: m within which a part touches.
    """
    parents = np.zeros(count + 1, np.int64)
    clouds = [samples.points[samples.part == i] for i in range(count + 1)]
    gaps = np.full((count + 1, count + 1), np.inf)
    for i, cloud in enumerate(clouds):
        for j in range(i + 1, count + 1):
            if len(cloud) and len(clouds[j]):
                far = np.asarray(KDTree(cloud).query(clouds[j])[0])
                gaps[i, j] = gaps[j, i] = np.sort(far)[:3].mean()
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
    """Mounts that stop where their parts would pass through others."""
    carried = []  # by each part: itself, and all that hangs on it
    for number in range(1, len(joints) + 1):
        above = {number}
        for other in range(1, len(joints) + 1):
            at = other
            while at and at != number:
                at = joints[at - 1].parent
            if at == number:
                above.add(other)
        carried.append(np.isin(samples.part, list(above)))
    return [
        replace(joint, limits=samples.clip_limits(joint, moving))
        for joint, moving in zip(joints, carried, strict=True)
    ]
