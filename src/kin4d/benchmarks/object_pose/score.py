"""Scores: how well a shape matches where the object truly is, whole and where it moved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kin4d.benchmarks.object_pose.cases import moving_faces
from kin4d.geometry.distance import chamfer_l1, chamfer_l2, occupied_cells
from kin4d.geometry.mesh import Mesh, RawMesh
from kin4d.geometry.sampling import sample_surface

CELL = 1 / 32
_ORIGIN = (
    CELL / 2,
    CELL / 2,
    CELL / 2,
)  # the box's own faces then lie inside cells, never on their borders
_POINTS = 10_000
_STILL = 1e-9  # of the box: below it a point has not moved
_SHORTEST = 1e-4  # of the box: edges below it say nothing about stretching


@dataclass(frozen=True)
class Score:
    """Of one shape against one goal; lengths in boxes of M0. NaN where there is nothing to score.

    Attributes:
        cd_l1: `chamfer_l1` of 10,000 points of each surface, sampled independently.
        cd_l2: `chamfer_l2` of the same.
        iou: Of the cells, 1/32 wide, that the surfaces touch.
        moved_cd_l1: As `cd_l1`, of the triangles that truly move alone: where the shape has them
            against where they should be.
        moved_cd_l2: As `cd_l2`, of the same.
        moved_iou: As `iou`, of the same.
        spurious: Mean distance from M0 of the points that truly stay.
        stretch: Median relative change of the edges of the triangles that truly move.
        error: Mean distance of all points from where they should be.
    """

    cd_l1: float
    cd_l2: float
    iou: float
    moved_cd_l1: float
    moved_cd_l2: float
    moved_iou: float
    spurious: float
    stretch: float
    error: float


class PoseMetrics:
    """Scores shapes with the vertices and faces of `mesh` against one goal.

    All that depends on the truth alone is computed once.

    Args:
        mesh: M0, in its unit box.
        goal: [V, 3] the true target.
        seed: Of the samples.
        points: On each surface.
    """

    def __init__(self, mesh: Mesh, goal: np.ndarray, *, seed: int, points: int = _POINTS) -> None:
        self.mesh, self.goal, self.seed, self.count = mesh, goal, seed, points
        self._moving = moving_faces(mesh.vertices, goal, mesh.faces)
        samples = sample_surface(mesh.replace_vertices(goal), points, seed=seed)
        self._true = samples.points(goal)
        self._moved = self._true[self._moving[samples.face]]
        self._cells = _cells(goal, mesh.faces)
        self._moved_cells = _cells(goal, mesh.faces[self._moving])

    def score(self, vertices: np.ndarray) -> Score:
        """Of vertices [V, 3]."""
        shape = self.mesh.replace_vertices(vertices)
        samples = sample_surface(shape, self.count, seed=self.seed + 1)
        points = samples.points(shape.vertices)
        moved = points[self._moving[samples.face]]
        start, end = samples.points(self.mesh.vertices), samples.points(self.goal)
        still = np.linalg.norm(end - start, axis=1) < _STILL
        faces = self.mesh.faces
        fair = len(moved) > 0 and len(self._moved) > 0
        nothing = float("nan")
        return Score(
            cd_l1=chamfer_l1(points, self._true),
            cd_l2=chamfer_l2(points, self._true),
            iou=_iou(_cells(shape.vertices, faces), self._cells),
            moved_cd_l1=chamfer_l1(moved, self._moved) if fair else nothing,
            moved_cd_l2=chamfer_l2(moved, self._moved) if fair else nothing,
            moved_iou=_iou(_cells(shape.vertices, faces[self._moving]), self._moved_cells)
            if fair
            else nothing,
            spurious=_mean(np.linalg.norm((points - start)[still], axis=1)),
            stretch=self._stretch(shape.vertices),
            error=_mean(np.linalg.norm(points - end, axis=1)),
        )

    def _stretch(self, vertices: np.ndarray) -> float:
        corners = self.mesh.faces[self._moving]
        ends = np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]])
        before = _lengths(self.mesh.vertices, ends)
        long = before > _SHORTEST
        if not long.any():
            return float("nan")
        change = _lengths(vertices, ends[long]) / before[long] - 1
        return float(np.median(np.abs(change)))


def _cells(vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """[C] numbers of the cells that triangles touch."""
    if not len(faces):
        return np.zeros(0, np.int64)
    cells = occupied_cells(RawMesh(vertices=vertices, faces=faces), cell=CELL, origin=_ORIGIN)
    return ((cells[:, 0] << 21) + cells[:, 1] << 21) + cells[:, 2]


def _iou(a: np.ndarray, b: np.ndarray) -> float:
    both = len(np.intersect1d(a, b, assume_unique=True))
    return both / (len(a) + len(b) - both)


def _lengths(vertices: np.ndarray, ends: np.ndarray) -> np.ndarray:
    return np.linalg.norm(vertices[ends[:, 1]] - vertices[ends[:, 0]], axis=1)


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else float("nan")
