"""Rows of the prior benchmark: what is asked, each a callable from a mesh to a body."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kin4d.benchmarks.prior.cases import PriorCase
from kin4d.benchmarks.prior.heuristic import heuristic_body
from kin4d.bodies.segmented import JointSpec, SegmentedBody
from kin4d.geometry.mesh import Mesh

ONE_PART = "one part"
HEURISTIC = "geometric heuristic"
TRUE_JOINTS = "true joints"


@dataclass(frozen=True)
class Predictor:
    """A row.

    Attributes:
        name: Of the row.
        predict: From a mesh (m, z up) to a body; must survive pickling.
    """

    name: str
    predict: Callable[[Mesh], SegmentedBody]


def one_part(mesh: Mesh) -> SegmentedBody:
    """Nothing moves."""
    return SegmentedBody(mesh, np.zeros(len(mesh.vertices), np.int64), [])


@dataclass(frozen=True)
class Weights:
    """`kin4d.articulate` with some weights.

    Attributes:
        model: A name, a file or a folder.
    """

    model: str

    def __call__(self, mesh: Mesh) -> SegmentedBody:
        """The body they predict."""
        from kin4d.neurok.articulate import articulate

        return articulate(mesh, self.model)


BASELINES = (Predictor(ONE_PART, one_part), Predictor(HEURISTIC, heuristic_body))


def true_body(case: PriorCase) -> SegmentedBody:
    """The truth as if predicted, to show what the scores themselves cost.

    Joints that mimic others are free here.
    """
    mesh, joints = case.mesh, case.joints
    part = np.zeros(len(mesh.vertices), np.int64)
    part[mesh.faces[:, 1:].ravel()] = np.repeat(case.face_link, 2)
    part[mesh.faces[:, 0]] = case.face_link
    specs = [
        JointSpec(
            name=f"part{row + 1}",
            parent=int(joints.parent[row]),
            kind="prismatic" if joints.slides[row] else "revolute",
            point=joints.pivot[row],
            axis=joints.axis[row],
            limits=tuple(np.sort(joints.limits[row] * joints.factor[row]).tolist()),
            probability=1.0,
        )
        for row in range(len(joints))
    ]
    return SegmentedBody(mesh, part, specs, confidence=1.0)
