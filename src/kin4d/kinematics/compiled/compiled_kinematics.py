"""CompiledKinematics: a body's map q -> x(q) as mechanics steps it, many thousand times a second.

Kinetic energy needs no points as such, only an *embedding* y(q) in R^n whose length measures it:
T = |dy/dt|^2 / 2. For mass points y is sqrt(m) x; a body whose points move in a low-dimensional
linear space needs just its coefficients there. Forces on points become covectors on y.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from kin4d.bodies.body import Body
from kin4d.bodies.capabilities import FrameSkinned, KinematicTree, NodeGraph, fixed_base
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
    body: Body, places: SurfaceSamples, *, mass_scale: float = 1.0
) -> CompiledKinematics:
    """The fastest faithful evaluation of a body's map.

    A `KinematicTree` and a `NodeGraph`, floating or not, are exact. Others are fitted: the motion
    of their frames if they are `FrameSkinned`, else that of all points. Where the fit is poor, the
    body's own methods are called.

    Args:
        body: Any.
        places: Points on `body.rest` that forces and contacts act on.
        mass_scale: Factor on the body's masses.
    """
    from kin4d.kinematics.compiled.articulated import ArticulatedKinematics
    from kin4d.kinematics.compiled.autograd import AutogradKinematics
    from kin4d.kinematics.compiled.low_rank import LowRankKinematics
    from kin4d.kinematics.compiled.modal import ModalKinematics
    from kin4d.kinematics.compiled.skinned import SkinnedKinematics

    inner = fixed_base(body)
    options = {"floating": inner is not body, "mass_scale": mass_scale}
    if isinstance(inner, KinematicTree):
        return ArticulatedKinematics(inner, places, **options)
    if isinstance(inner, NodeGraph) and (network := inner.edge_network()) is not None:
        return ModalKinematics(inner, network, places, **options)
    frames = inner.skinning_frames() if isinstance(inner, FrameSkinned) else None
    if frames is None:
        found = LowRankKinematics(inner, places, **options)
    else:
        found = SkinnedKinematics(inner, frames, places, **options)
    if found.error <= ACCEPTED * inner.rest.bbox_diagonal:
        return found
    return AutogradKinematics(inner, places, **options)
