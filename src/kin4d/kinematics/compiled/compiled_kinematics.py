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

ACCEPTED = 0.04  # Of the diameter, over the limits' box: a fit worse than that is not used.


class CompiledKinematics(ABC):
    """A body's mass points and chosen places on its surface, as functions of q [k].

    Attributes:
        width: k, the number of coordinates.
        size: n, the dimension of the embedding.
        mass: [P] kg.
        floating: Whether the first six coordinates are those of `FloatingBase`.
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
    def followed(self, q: np.ndarray, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The places `index` [N]: where they are [N, 3] (m), and d places / dq [N, 3, k]."""

    def places_and_jacobians(
        self, q: np.ndarray, index: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """All places [S, 3] and Jacobians as `followed`; some maps find both faster together."""
        return self.places(q), self.followed(q, index)[1]


class MassPointKinematics(CompiledKinematics):
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


def compile_kinematics(
    body: Any, places: SurfaceSamples, *, mass_scale: float = 1.0
) -> CompiledKinematics:
    """The fastest faithful map of a body.

    Trees of rigid links and bodies of modes, floating or not, are exact. Others are fitted: how
    their frames move, if they have any, else how all points do. If that does not fit well the body
    is asked directly.

    Args:
        body: A `Body`.
        places: Places on `body.rest` that forces and contacts act on.
        mass_scale: Factor on the body's masses.
    """
    from kin4d.bodies.articulated import ArticulatedBody
    from kin4d.bodies.floating import FloatingBase
    from kin4d.bodies.modal import ModalBody

    inner = body.body if isinstance(body, FloatingBase) else body
    if isinstance(inner, ArticulatedBody):
        from kin4d.kinematics.compiled.articulated import ArticulatedKinematics

        return ArticulatedKinematics(
            inner, places, floating=inner is not body, mass_scale=mass_scale
        )
    if isinstance(inner, ModalBody) and inner.warp:
        from kin4d.kinematics.compiled.modal import ModalKinematics

        return ModalKinematics(inner, places, floating=inner is not body, mass_scale=mass_scale)
    return _fitted(inner, places, floating=inner is not body, mass_scale=mass_scale)


def _fitted(
    body: Any, places: SurfaceSamples, *, floating: bool, mass_scale: float
) -> CompiledKinematics:
    from kin4d.kinematics.compiled.autograd import AutogradKinematics
    from kin4d.kinematics.compiled.low_rank import LowRankKinematics
    from kin4d.kinematics.compiled.skinned import SkinnedKinematics

    options = {"floating": floating, "mass_scale": mass_scale}
    frames = getattr(body, "frames", None)
    if frames is None:
        found = LowRankKinematics(body, places, **options)
    else:
        found = SkinnedKinematics(body, frames, places, **options)
    if found.error <= ACCEPTED * body.rest.bbox_diagonal:
        return found
    return AutogradKinematics(body, places, **options)
