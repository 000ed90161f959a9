"""Collision limits: joint limits shortened to where a part would pass through another.

Surfaces are sampled, and each sample stands for a small disc. A part moves along its axis in small
steps until enough of its points have crossed discs of other parts. Points in contact at the start
are ignored, as in a hinge.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import KDTree
from scipy.spatial.transform import Rotation

from kin4d.bodies.segmented import JointSpec
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.sampling import sample_surface


@dataclass(frozen=True, kw_only=True)
class CollisionConfig:
    """Resolution and tolerances; distances are in mean distances between samples.

    Attributes:
        samples: Surface samples of the whole mesh.
        steps: Steps from rest to each limit; limits are shortened to a whole number of them.
        min_hits: Points that must hit something, at least, so that single samples do not count.
        min_hit_share: The same, as a share of the part's points.
        disc_radius: Radius of the disc that a sample stands for; at 1 the discs cover the surface.
        contact_distance: Points that are closer to another part at rest are in contact with it.
    """

    samples: int = 6000
    steps: int = 48
    min_hits: int = 3
    min_hit_share: float = 0.01
    disc_radius: float = 1.0
    contact_distance: float = 2.0


@dataclass(frozen=True, eq=False)
class PartSamples:
    """Samples of a surface that is divided into parts.

    Attributes:
        points: [N, 3] m.
        normals: [N, 3] unit normals.
        part: [N] part of each sample.
        spacing: m, mean distance between samples.
        config: Resolution and tolerances.
    """

    points: np.ndarray
    normals: np.ndarray
    part: np.ndarray
    spacing: float
    config: CollisionConfig

    @classmethod
    def of(
        cls, mesh: Mesh, part: np.ndarray, *, config: CollisionConfig | None = None
    ) -> PartSamples:
        """Samples of a mesh whose vertices belong to parts [V]."""
        config = config or CollisionConfig()
        samples = sample_surface(mesh, config.samples, seed=0)
        return cls(
            points=samples.points(mesh.vertices),
            normals=samples.normals(mesh.vertices),
            part=part[samples.corners[:, 0]],
            spacing=float(np.sqrt(mesh.face_areas.sum() / config.samples)),
            config=config,
        )

    def clip_limits(self, joint: JointSpec, moving: np.ndarray) -> tuple[float, float]:
        """The limits of a joint, rad or m, shortened to where its part would hit something.

        A hinge without limits keeps none if a full turn is free.

        Args:
            joint: The joint.
            moving: [N] bool: samples that move with it: of its part and of all descendants.
        """
        own, rest = self.points[moving], self.points[~moving]
        if len(own) == 0 or len(rest) == 0:
            return joint.limits
        tree, normals = KDTree(rest), self.normals[~moving]
        own = own[np.asarray(tree.query(own)[0]) > self.config.contact_distance * self.spacing]
        if len(own) == 0:
            return joint.limits
        low, high = (self._free_range(joint, end, own, tree, normals) for end in joint.limits)
        return low, high

    def _free_range(
        self, joint: JointSpec, end: float, own: np.ndarray, tree: KDTree, normals: np.ndarray
    ) -> float:
        """The last value from zero towards `end` at which the part hits nothing."""
        last = float(np.clip(end, -2 * np.pi, 2 * np.pi)) if np.isinf(end) else end
        steps, radius = self.config.steps, self.config.disc_radius * self.spacing
        needed = max(self.config.min_hits, self.config.min_hit_share * len(own))
        hit = np.zeros(len(own), bool)
        before = own
        for number in range(1, steps + 1):
            value = last * number / steps
            after = _moved(own, joint, value)
            near = np.asarray(tree.query(0.5 * (before + after))[1])
            disc, normal = tree.data[near], normals[near]
            start, stop = (np.einsum("ni,ni->n", x - disc, normal) for x in (before, after))
            through = start * stop < 0
            share = start / np.where(through, start - stop, 1.0)
            crossing = before + share[:, None] * (after - before)
            hit |= through & (np.linalg.norm(crossing - disc, axis=-1) < radius)
            if hit.sum() >= needed:
                return last * (number - 1) / steps
            before = after
        return end


def _moved(points: np.ndarray, joint: JointSpec, value: float) -> np.ndarray:
    if joint.kind == "prismatic":
        return points + value * joint.axis
    return Rotation.from_rotvec(value * joint.axis).apply(points - joint.point) + joint.point
