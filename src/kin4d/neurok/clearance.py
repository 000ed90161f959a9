"""Clearance: joint limits cut short where a part would pass through another.

Surfaces are sampled, and each sample stands for a small disc. A part moves along its axis in small
steps and stops when enough of its points have crossed discs of other parts. Points in contact at
the start are ignored, as in a hinge.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import KDTree
from scipy.spatial.transform import Rotation

from kin4d.bodies.segmented import JointSpec
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.sampling import sample_surface

_SAMPLES = 6000
_STEPS = 48  # to the end of a range
_ENOUGH = 0.01  # of a part's points that must meet something, and
_FEW = 3  # at least so many
_DISC = 1.0  # radius of a disc, in mean distances between samples
_TOUCHING = 2.0  # the same, within which points touch at the start


@dataclass(frozen=True, eq=False)
class PartSamples:
    """A surface, sampled and cut into parts.

    Attributes:
        points: [N, 3] m.
        normals: [N, 3] unit.
        part: [N] number of the part.
        spacing: m, mean distance between samples.
    """

    points: np.ndarray
    normals: np.ndarray
    part: np.ndarray
    spacing: float

    @classmethod
    def of(cls, mesh: Mesh, part: np.ndarray) -> PartSamples:
        """Of a mesh whose vertices belong to parts [V]."""
        samples = sample_surface(mesh, _SAMPLES, seed=0)
        return cls(
            points=samples.points(mesh.vertices),
            normals=samples.normals(mesh.vertices),
            part=part[samples.corners[:, 0]],
            spacing=float(np.sqrt(mesh.face_areas.sum() / _SAMPLES)),
        )

    def clip_limits(self, joint: JointSpec, moving: np.ndarray) -> tuple[float, float]:
        """The limits of a joint, cut short where the part would pass through something.

        Args:
            joint: Of the part.
            moving: [N] bool, what moves with it: the part and all that hangs on it.
        """
        own, rest = self.points[moving], self.points[~moving]
        if len(own) == 0 or len(rest) == 0:
            return joint.limits
        tree, normals = KDTree(rest), self.normals[~moving]
        own = own[np.asarray(tree.query(own)[0]) > _TOUCHING * self.spacing]
        if len(own) == 0:
            return joint.limits
        low, high = (self._free_range(joint, end, own, tree, normals) for end in joint.limits)
        return low, high

    def _free_range(
        self, joint: JointSpec, end: float, own: np.ndarray, tree: KDTree, normals: np.ndarray
    ) -> float:
        """How far towards `end` nothing is met."""
        met = np.zeros(len(own), bool)
        before = own
        for number in range(1, _STEPS + 1):
            value = end * number / _STEPS
            after = _moved(own, joint, value)
            near = np.asarray(tree.query(0.5 * (before + after))[1])
            disc, normal = tree.data[near], normals[near]
            start, stop = (np.einsum("ni,ni->n", x - disc, normal) for x in (before, after))
            through = start * stop < 0
            share = start / np.where(through, start - stop, 1.0)
            crossing = before + share[:, None] * (after - before)
            met |= through & (np.linalg.norm(crossing - disc, axis=-1) < _DISC * self.spacing)
            if met.sum() >= max(_FEW, _ENOUGH * len(own)):
                return end * (number - 1) / _STEPS
            before = after
        return end


def _moved(points: np.ndarray, joint: JointSpec, value: float) -> np.ndarray:
    if joint.kind == "prismatic":
        return points + value * joint.axis
    return Rotation.from_rotvec(value * joint.axis).apply(points - joint.place) + joint.place
