"""ArticulatedSample: rigid links on joints; points are bound to links, so posing is one product."""

from __future__ import annotations

import numpy as np

from kin4d.geometry.mesh import face_normals
from kin4d.geometry.mesh_ops import connected_components
from kin4d.objects.object_sample import ObjectSample, PointMotions, SurfacePoints
from kin4d.objects.procedural.assembly import ArticulatedObject
from kin4d.storage.sample_id import SampleId


class ArticulatedSample(ObjectSample):
    """States are joint coordinates q [k].

    Components are those of the surface with all joints at zero, where parts that touch exactly are
    one. Parts are links.

    Args:
        identity: Source, category and name.
        obj: Links and joints; frames aligned at q = 0.
        face_component: [F] if known from the same object in other proportions.
    """

    def __init__(
        self,
        identity: SampleId,
        obj: ArticulatedObject,
        *,
        face_component: np.ndarray | None = None,
    ) -> None:
        self.identity, self.object = identity, obj
        self.faces, self.colors = obj.faces, obj.colors
        self._local = np.concatenate([link.vertices for link in obj.links])
        link = obj.vertex_link
        if face_component is None:
            at_zero = obj.poses(np.zeros((1, len(obj.q0))))[0, :, :3]
            positions = self._local + at_zero[link, :, 3]
            face_component = connected_components(positions, self.faces)[self.faces[:, 0]]
        self.face_component = face_component
        self.face_part = link[self.faces[:, 0]]
        normals = face_normals(self._local, self.faces)
        length = np.sqrt(np.einsum("fi,fi->f", normals, normals))
        self.face_areas = 0.5 * length
        self._normals = normals / np.maximum(length, 1e-300)[:, None]

    def states(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """[count, k] uniform within the joint limits; a fifth of the values are at an end."""
        low, high = self.object.limits.T
        shape = (count, len(low))
        share = rng.random(shape)
        at_end = rng.random(shape) < 0.2
        return low + (high - low) * np.where(at_end, np.round(share), share)

    def state_pairs(self, rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Any state to any other; in half of the pairs some joints stay where they were."""
        before, after = self.states(rng, count), self.states(rng, count)
        width = before.shape[1]
        before[rng.random(count) < 0.25] = self.object.q0
        keep = (rng.random((count, width)) < 0.5) & (rng.random((count, 1)) < 0.5)
        keep[np.arange(count), rng.integers(width, size=count)] = False
        return before, np.where(keep, before, after)

    def demo_states(self, frames: int) -> np.ndarray:
        """[T, k]: rest, then each joint in turn to both ends of its range and back."""
        low, high = self.object.limits.T
        rest = self.object.q0
        keys = [rest]
        for i in range(len(rest)):
            for value in (low[i], high[i], rest[i]):
                key = rest.copy()
                key[i] = value
                keys.append(key)
        at = np.linspace(0, len(keys) - 1, frames)
        table = np.array(keys)
        return np.stack([np.interp(at, np.arange(len(keys)), column) for column in table.T], axis=1)

    def extreme_states(self) -> np.ndarray:
        """[3, k]: rest, all joints at their lower and all at their upper limits."""
        return np.stack([self.object.q0, *self.object.limits.T])

    def vertices(self, states: np.ndarray) -> np.ndarray:
        """[n, V, 3] m."""
        return self.object.vertices(states)

    def transform_points(
        self, surface_points: SurfacePoints, states: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `ObjectSample.transform_points`."""
        poses = self.object.poses(states)[np.arange(len(states))[:, None], surface_points.part, :3]
        local = np.einsum(
            "nsc,nsci->nsi", surface_points.barycentric, self._local[surface_points.corners]
        )
        points = np.einsum("nsij,nsj->nsi", poses[..., :3], local) + poses[..., 3]
        return points, np.einsum(
            "nsij,nsj->nsi", poses[..., :3], self._normals[surface_points.face]
        )

    def motions(
        self, surface_points: SurfacePoints, before: np.ndarray, after: np.ndarray
    ) -> PointMotions:
        """The links' own motions; see `ObjectSample.motions`."""
        start, end = self.object.poses(before), self.object.poses(after)
        matrices = np.tile(np.eye(4), (*start.shape[:2], 1, 1))
        rotation = end[..., :3, :3] @ start[..., :3, :3].swapaxes(-1, -2)
        matrices[..., :3, :3] = rotation
        matrices[..., :3, 3] = end[..., :3, 3] - (rotation @ start[..., :3, 3:])[..., 0]
        return PointMotions(
            matrices,
            np.broadcast_to(surface_points.part, (len(before), surface_points.part.shape[1])),
            True,
        )

    def rescaled(self, scale: np.ndarray, *, mirror: bool = False) -> ArticulatedSample:
        """Links and joints scaled at q = 0, so that every part still moves rigidly."""
        obj = self.object.stretched(scale)
        obj = obj.mirrored() if mirror else obj
        return ArticulatedSample(self.identity, obj, face_component=self.face_component)
