"""Loose joints: a skeleton whose joints also slide a little, as rigs of animators stretch limbs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from kin4d.bodies.segmented import JointSpec, SegmentedBody

_AXES = ("x", "y", "z")


def loosen(
    tree: SegmentedBody, weights: np.ndarray, search_limits: Tensor, most: float
) -> tuple[SegmentedBody, np.ndarray, Tensor, np.ndarray]:
    """A tree whose every joint first slides along the world's axes at rest.

    Args:
        tree: Joints with one or several coordinates each, at one point.
        weights: [V, L] of its links.
        search_limits: [k, 2] of its coordinates.
        most: m that a joint slides at most along each axis.

    Returns:
        The tree, weights of its links, search limits of its coordinates, and which [k'] of these
        are slides.
    """
    specs: list[JointSpec] = []
    limits: list[list[float]] = []
    link = [0]  # of the given tree's links
    for number, spec in enumerate(tree.joint_specs):
        parent = link[spec.parent]
        above = tree.joint_specs[spec.parent - 1] if spec.parent else None
        if above is None or not np.array_equal(above.point, spec.point):
            for name, axis in zip(_AXES, np.eye(3), strict=True):
                specs.append(
                    JointSpec(
                        name=f"{spec.name.partition('.')[0]}.{name}",
                        parent=parent,
                        kind="prismatic",
                        point=spec.point,
                        axis=axis,
                        limits=(-most, most),
                    )
                )
                limits.append([-most, most])
                parent = len(specs)
        specs.append(replace(spec, parent=parent))
        limits.append(search_limits[number].tolist())
        link.append(len(specs))
    moved = np.zeros((len(weights), len(specs) + 1))
    moved[:, link] = weights
    loose = SegmentedBody(tree.rest, np.array(link)[tree.part], specs, mass=tree.face_masses)
    slides = np.array([spec.kind == "prismatic" for spec in specs])
    return loose, moved, torch.tensor(limits, dtype=torch.float64).reshape(-1, 2), slides
