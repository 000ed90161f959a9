"""ObjectSample: one object that can move, from any source; pairs and stores see only this.

A sample has a fixed triangle surface and a set of *states*. A state is a vector of joint values or
a frame number, depending on the subclass; callers only pass states back to the sample.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields

import numpy as np

from kin4d.storage.sample_id import SampleId


@dataclass(frozen=True, eq=False, kw_only=True)
class SurfacePoints:
    """n draws of N points on one sample's surface, bound to its triangles.

    Attributes:
        face: [n, N] int64: the triangle each point is in.
        corners: [n, N, 3] int64: its vertices.
        barycentric: [n, N, 3] float64: their weights.
        component: [n, N] int64: connected component of the surface.
        part: [n, N] int64: rigid part, -1 where there is none.
    """

    face: np.ndarray
    corners: np.ndarray
    barycentric: np.ndarray
    component: np.ndarray
    part: np.ndarray

    def put(self, row: int, other: SurfacePoints, order: np.ndarray) -> None:
        """Replace draw `row` by the points `order` [N] of the only draw of `other`."""
        for field in fields(self):
            getattr(self, field.name)[row] = getattr(other, field.name)[0, order]


@dataclass(frozen=True, eq=False)
class PointMotions:
    """Rigid motions between two states, and which of them moves each point.

    Attributes:
        matrices: [n, M, 4, 4] float64: world motions, metres.
        index: [n, N] int64 into M.
        exact: Whether they are the true motions of rigid parts, or fitted to a neighbourhood.
    """

    matrices: np.ndarray
    index: np.ndarray
    exact: bool


class ObjectSample(ABC):
    """An object that can move; z up, metres. Subclasses set these attributes.

    Attributes:
        identity: Source, category and name.
        faces: [F, 3] int64.
        face_component: [F] int64 connected component of each face.
        face_part: [F] int64 rigid part of each face, -1 where there is none.
        face_areas: [F] m^2, for spreading samples.
        colors: [V, 3] uint8 sRGB, or None.
    """

    identity: SampleId
    faces: np.ndarray
    face_component: np.ndarray
    face_part: np.ndarray
    face_areas: np.ndarray
    colors: np.ndarray | None = None

    @abstractmethod
    def states(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """[count, ...] random states."""

    @abstractmethod
    def state_pairs(self, rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Two times `count` states: what a motion may lead from, and to."""

    @abstractmethod
    def demo_states(self, frames: int) -> np.ndarray:
        """[T, ...] states of a demonstration in order, T at most `frames`."""

    @abstractmethod
    def extreme_states(self) -> np.ndarray:
        """[3, ...] states: at rest, and both extremes of its range of motion."""

    @abstractmethod
    def vertices(self, states: np.ndarray) -> np.ndarray:
        """[n, V, 3] m."""

    @abstractmethod
    def transform_points(
        self, surface_points: SurfacePoints, states: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Surface points (m) and unit normals [n, N, 3] in n states: draw i in state i.

        A single draw serves all states.
        """

    @abstractmethod
    def motions(
        self, surface_points: SurfacePoints, before: np.ndarray, after: np.ndarray
    ) -> PointMotions:
        """Rigid motions of the points of draw i from state `before[i]` to `after[i]`."""

    @abstractmethod
    def rescaled(self, scale: np.ndarray, *, mirror: bool = False) -> ObjectSample:
        """Other proportions: scaled by [3] > 0 along each axis before it moves, x mirrored."""

    def surface(
        self, count: int, rng: np.random.Generator, *, draws: int = 1, unevenness: float = 0.0
    ) -> SurfacePoints:
        """`draws` times `count` points spread over the surface by area, in random order.

        Args:
            count: Points in each draw.
            rng: Random generator.
            draws: Independent draws.
            unevenness: Standard deviation of the logarithm of a component's sampling density.
        """
        weights = np.broadcast_to(self.face_areas, (draws, len(self.faces)))
        if unevenness > 0:
            density = rng.normal(0.0, unevenness, (draws, int(self.face_component.max()) + 1))
            weights = weights * np.exp(density)[:, self.face_component]
        face = _spread(weights, count, rng)
        root, share = np.sqrt(rng.random(face.shape)), rng.random(face.shape)
        return SurfacePoints(
            face=face,
            corners=self.faces[face],
            barycentric=np.stack([1 - root, root * (1 - share), root * share], -1),
            component=self.face_component[face],
            part=self.face_part[face],
        )


def _spread(weights: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """[n, count] columns of weights [n, F], each as often as its share says, to within one."""
    total = np.cumsum(weights, axis=1)
    total /= total[:, -1:]
    draws, width = weights.shape
    steps = (np.arange(count) + rng.random((draws, 1))) / count
    # One search for all draws: row i of the running totals is shifted to [i, i + 1].
    row = np.arange(draws)[:, None]
    found = np.searchsorted((total + row).ravel(), (steps + row).ravel(), side="right")
    last = np.argmax(total >= 1.0, axis=1)[:, None]
    face = np.clip(found.reshape(draws, count) - row * width, 0, last)
    return rng.permuted(face, axis=1)
