"""Comparison: the truth about a mesh and what a method predicts, on the same surface points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kin4d.benchmarks.prior.mechanism import Mechanism, joints_of_specs
from kin4d.bodies.segmented import SegmentedBody
from kin4d.geometry.sampling import spread_points
from kin4d.objects.piece_object import LinkJoints


@dataclass(frozen=True, eq=False, kw_only=True)
class Comparison:
    """True and predicted mechanism of the same points.

    Attributes:
        true: With the true links.
        predicted: With the predicted parts.
        weight: [P] m^2 of surface that each point stands for.
        probability: [k] of the predicted coordinates, NaN where unknown.
        size: m, the longest side of the object's box.
    """

    true: Mechanism
    predicted: Mechanism
    weight: np.ndarray
    probability: np.ndarray
    size: float

    @classmethod
    def of(
        cls,
        body: SegmentedBody,
        face_link: np.ndarray,
        joints: LinkJoints,
        *,
        count: int,
        least: int = 8,
        seed: int,
    ) -> Comparison:
        """Points by area, and at least a few wherever a true link and a predicted part meet.

        Args:
            body: The prediction.
            face_link: [F] true link of every triangle.
            joints: The true joints as they are now.
            count: About how many points.
            least: On every pair of link and part.
            seed: Of the points.
        """
        mesh = body.rest
        predicted, number = joints_of_specs(body.joint_specs)
        part = number[body.part[mesh.faces[:, 0]]]
        pair = face_link * (int(part.max()) + 1) + part
        face, points, weight = spread_points(mesh, pair, count=count, least=least, seed=seed)
        probability = np.full(len(number) - 1, np.nan)
        for spec, row in zip(body.joint_specs, number[1:] - 1, strict=True):
            probability[row] = np.nan if spec.probability is None else spec.probability
        return cls(
            true=Mechanism(points, face_link[face], joints),
            predicted=Mechanism(points, part[face], predicted),
            weight=weight,
            probability=probability,
            size=float(np.ptp(mesh.bounds, axis=0).max()),
        )
