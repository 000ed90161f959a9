"""`kin4d.articulate`: divide a mesh into rigid parts on revolute and prismatic joints.

The joint prior sees the pieces of the mesh and predicts which of them move together, on what kind
of joint, about which axis and how far. Each part gets the likeliest of its joints.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kin4d.bodies.segmented import SegmentedBody
from kin4d.geometry.mesh import Mesh
from kin4d.neurok.joint_distribution import ArticulateConfig, predict_joints
from kin4d.neurok.joint_pretrained import CalibratedPrior


def articulate(
    mesh: Mesh,
    weights: str | Path | CalibratedPrior = "small",
    *,
    mass: float | np.ndarray = 1.0,
    config: ArticulateConfig | None = None,
) -> SegmentedBody:
    """Divide a mesh into the rigid parts that a network predicts, and connect them by joints.

    `SegmentedBody.joint_specs` has a calibrated probability for each joint, the surest first; the
    body's `confidence` is that of the surest. `kin4d.neurok.predict_joints` has the other joints
    that each part may have, too.

    Args:
        mesh: Any mesh; metres, z up.
        weights: Of the joint prior: a name that ships, a file, a folder or a hub id; or one that
            is loaded.
        mass: kg, spread evenly over the surface; or [F], of each triangle.
        config: How predictions become joints.
    """
    return predict_joints(mesh, weights, config=config).body(mass=mass)
