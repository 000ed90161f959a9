"""SequenceSample: a recorded motion; points are bound to triangles of freely moving vertices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kin4d.geometry.mesh import face_normals
from kin4d.geometry.mesh_ops import connected_components
from kin4d.geometry.procrustes import best_rotation
from kin4d.objects.object_sample import ObjectSample, PointMotions, SurfacePoints
from kin4d.objects.sequence import VertexSequence
from kin4d.storage.sample_id import SampleId

NEIGHBOURS = 12
"""Points, itself included, that a point's rigid motion is fitted to."""


class SequenceSample(ObjectSample):
    """States are frame numbers. Motions are those of its rigid parts if known, else fitted locally.

    Args:
        sequence: The motion.
        identity: Source, category and name; by default those of the sequence.
            ``sequence.meta["instance"]`` names the object when several sequences show the same one
            (default: its name up to a slash); ``sequence.meta["up"]`` is "y" or "z" (default).
        face_part: [F] rigid parts, if all of it is made of such.
        colors: [V, 3] uint8 sRGB, or None.
    """

    def __init__(
        self,
        sequence: VertexSequence,
        identity: SampleId | None = None,
        *,
        face_part: np.ndarray | None = None,
        colors: np.ndarray | None = None,
    ) -> None:
        self.sequence = sequence = sequence.z_up()
        self.identity = identity or SampleId(
            source=sequence.source,
            category=sequence.category,
            name=sequence.name,
            licence=sequence.licence,
            seed=sequence.seed,
            instance=str(sequence.meta.get("instance") or sequence.name.partition("/")[0]),
        )
        first = sequence.vertices[0].astype(np.float64)
        self.faces = sequence.faces
        self.face_component = connected_components(first, self.faces)[self.faces[:, 0]]
        self.rigid, self.colors = face_part is not None, colors
        self.face_part = np.full(len(self.faces), -1) if face_part is None else face_part
        self.face_areas = 0.5 * np.linalg.norm(face_normals(first, self.faces), axis=-1)

    def states(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """[count] frames."""
        return rng.integers(len(self.sequence), size=count)

    def state_pairs(self, rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Two different frames each, if there are two."""
        frames = len(self.sequence)
        before = self.states(rng, count)
        return before, (before + rng.integers(1, max(frames, 2), size=count)) % frames

    def demo_states(self, frames: int) -> np.ndarray:
        """[T] frames, evenly spread."""
        count = min(frames, len(self.sequence))
        return np.round(np.linspace(0, len(self.sequence) - 1, count)).astype(np.int64)

    def extreme_states(self) -> np.ndarray:
        """[3]: the first frame, the one farthest from it, and the one farthest from that."""
        flat = self.sequence.vertices.reshape(len(self.sequence), -1)
        far = int(np.linalg.norm(flat - flat[0], axis=1).argmax())
        return np.array([0, far, int(np.linalg.norm(flat - flat[far], axis=1).argmax())])

    def vertices(self, states: np.ndarray) -> np.ndarray:
        """[n, V, 3] m."""
        return self.sequence.vertices[states].astype(np.float64)

    def transform_points(
        self, surface_points: SurfacePoints, states: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `ObjectSample.transform_points`."""
        corners = self.sequence.vertices[states[:, None, None], surface_points.corners].astype(
            np.float64
        )
        normals = np.cross(
            corners[..., 1, :] - corners[..., 0, :], corners[..., 2, :] - corners[..., 0, :]
        )
        length = np.linalg.norm(normals, axis=-1, keepdims=True)
        weights = np.broadcast_to(surface_points.barycentric, corners.shape[:-1])
        points = np.einsum("nsc,nsci->nsi", weights, corners)
        return points, normals / np.maximum(length, 1e-300)

    def motions(
        self, surface_points: SurfacePoints, before: np.ndarray, after: np.ndarray
    ) -> PointMotions:
        """One motion per point: exact for the point itself, fitted to its neighbours."""
        if self.rigid:
            return self._part_motions(surface_points, before, after)
        start, _ = self.transform_points(surface_points, before)
        end, _ = self.transform_points(surface_points, after)
        component = np.broadcast_to(surface_points.component, start.shape[:2])
        rotation = np.stack(
            [local_rotations(*row) for row in zip(start, end, component, strict=True)]
        )
        matrices = np.tile(np.eye(4), (*start.shape[:2], 1, 1))
        matrices[..., :3, :3] = rotation
        matrices[..., :3, 3] = end - (rotation @ start[..., None])[..., 0]
        index = np.broadcast_to(np.arange(start.shape[1]), start.shape[:2])
        return PointMotions(matrices, index, False)

    def _part_motions(
        self, surface_points: SurfacePoints, before: np.ndarray, after: np.ndarray
    ) -> PointMotions:
        start, end = self.vertices(before), self.vertices(after)
        count = int(self.face_part.max()) + 1
        matrices = np.tile(np.eye(4), (len(before), count, 1, 1))
        for part in np.unique(self.face_part):
            members = np.unique(self.faces[self.face_part == part])
            old, new = start[:, members], end[:, members]
            middle, moved = old.mean(1, keepdims=True), new.mean(1, keepdims=True)
            rotation = _best_rotations(old - middle, new - moved)
            matrices[:, part, :3, :3] = rotation
            matrices[:, part, :3, 3] = moved[:, 0] - (rotation @ middle.mT)[..., 0]
        index = np.broadcast_to(surface_points.part, (len(before), surface_points.part.shape[1]))
        return PointMotions(matrices, index, True)

    def rescaled(self, scale: np.ndarray, *, mirror: bool = False) -> SequenceSample:
        """All frames scaled: soft objects stay plausible, and motions are fitted anew.

        Rigid parts, moved already, would not stay rigid: then only the mean of `scale` counts.
        """
        scale = np.asarray(scale, np.float32)
        scale = np.full(3, np.prod(scale) ** (1 / 3), np.float32) if self.rigid else scale
        scale = scale * np.array([-1 if mirror else 1, 1, 1], np.float32)
        faces = self.faces[:, ::-1] if mirror else self.faces
        # Velocities and forces would no longer belong to the material: they are left behind.
        sequence = replace(
            self.sequence,
            vertices=self.sequence.vertices * scale,
            faces=faces,
            velocities=None,
            forces=None,
        )
        part = self.face_part if self.rigid else None
        return SequenceSample(sequence, self.identity, face_part=part, colors=self.colors)


def local_rotations(start: np.ndarray, end: np.ndarray, component: np.ndarray) -> np.ndarray:
    """[N, 3, 3] rotations that best align each point's neighbourhood (Kabsch).

    Args:
        start: [N, 3] points before, m.
        end: [N, 3] the same points after.
        component: [N] neighbours are looked for in the same component first.
    """
    from scipy.spatial import KDTree

    size = float(np.ptp(start, axis=0).max()) or 1.0
    # A second component lies farther off than anything in the first.
    spread = np.concatenate([start / size, 4.0 * component[:, None]], axis=1)
    _, near = KDTree(spread).query(spread, k=min(NEIGHBOURS, len(start)))
    near = near.reshape(len(start), -1)
    return _best_rotations(start[near] - start[:, None], end[near] - end[:, None])


def _best_rotations(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """[N, 3, 3] rotations that best take vectors [N, K, 3] to others (Kabsch)."""
    covariance = np.einsum("nki,nkj->nij", after, before)
    # Where the vectors leave a rotation open (a straight rope), the smallest is taken.
    trace = np.einsum("nki,nki->n", before, before)
    covariance += (1e-6 * trace + 1e-30)[:, None, None] * np.eye(3)
    return best_rotation(covariance)
