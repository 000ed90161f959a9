"""PointMap: a body's map q -> x(q) as mechanics steps it, many thousand times a second.

Kinetic energy needs no points as such, only an *embedding* y(q) in R^n whose length measures it:
T = |dy/dt|^2 / 2. For mass points y is sqrt(m) x; a body whose points move in a low-dimensional
linear space needs just its coefficients there. Forces on points become covectors on y.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from kin4d.geometry.sampling import SurfaceSamples


class PointMap(ABC):
    """A body's mass points and chosen places on its surface, as functions of q [k].

    Attributes:
        width: k, the number of coordinates.
        size: n, the dimension of the embedding.
        mass: [P] kg.
        floating: Whether the first six coordinates are those of `Floating`.
        error: Metres (root mean square over points and the limits' box) by which a fitted map
            differs from the body; 0 for exact ones.
        compiled: Whether `data` can be passed to compiled kernels.
        data: What the kernels of `flow` see.
    """

    width: int
    size: int
    mass: np.ndarray
    floating: bool
    error: float = 0.0
    compiled: bool = True
    data: Any

    @abstractmethod
    def embed(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """y [n] and dy/dq [n, k]."""

    @abstractmethod
    def points(self, q: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Mass points [P, 3] (m), given y(q)."""

    @abstractmethod
    def velocities(self, q: np.ndarray, jacobian: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Velocities [P, 3] (m/s) of the mass points, given dy/dq."""

    @abstractmethod
    def lift(self, force: np.ndarray) -> np.ndarray:
        """[n] covector on y that forces [P, 3] (N) on the mass points amount to."""

    def note(self, q: np.ndarray, y: np.ndarray, jacobian: np.ndarray) -> None:  # noqa: B027
        """Told that y and dy/dq were found at q, should that be of use."""

    @abstractmethod
    def places(self, q: np.ndarray) -> np.ndarray:
        """The places on the surface [S, 3] (m)."""

    @abstractmethod
    def place_jacobians(self, q: np.ndarray, index: np.ndarray) -> np.ndarray:
        """d places / dq [N, 3, k] of the places `index` [N]."""

    def places_and_jacobians(
        self, q: np.ndarray, index: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """`places` and `place_jacobians`, for maps that find them faster together."""
        return self.places(q), self.place_jacobians(q, index)


class MassPointMap(PointMap):
    """A map whose embedding is its mass points, each times the root of its mass."""

    def points(self, q: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Mass points [P, 3] (m)."""
        return y.reshape(-1, 3) / self.data.root_mass[:, None]

    def velocities(self, q: np.ndarray, jacobian: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Velocities [P, 3] (m/s) of the mass points."""
        return (jacobian @ qd).reshape(-1, 3) / self.data.root_mass[:, None]

    def lift(self, force: np.ndarray) -> np.ndarray:
        """[n] covector of forces [P, 3] (N)."""
        return (force / self.data.root_mass[:, None]).ravel()


def compile_map(body: Any, places: SurfaceSamples, *, mass_scale: float = 1.0) -> PointMap:
    """The fastest faithful map of a body.

    Trees of rigid links and bodies of modes, floating or not, are exact; any other is fitted by
    `LowRankMap`, or asked directly if that does not fit well.

    Args:
        body: A `Body`.
        places: Places on `body.rest` that forces and contacts act on.
        mass_scale: Factor on the body's masses.
    """
    from kin4d.bodies.floating import Floating
    from kin4d.bodies.modal import ModalBody
    from kin4d.bodies.tree import TreeBody

    inner = body.body if isinstance(body, Floating) else body
    if isinstance(inner, TreeBody):
        from kin4d.motion.maps.tree_map import TreeMap

        return TreeMap(inner, places, floating=inner is not body, mass_scale=mass_scale)
    if isinstance(inner, ModalBody) and inner.warp:
        from kin4d.motion.maps.modal_map import ModalMap

        return ModalMap(inner, places, floating=inner is not body, mass_scale=mass_scale)
    from kin4d.motion.maps.low_rank import fit_map

    return fit_map(inner, places, floating=inner is not body, mass_scale=mass_scale)
