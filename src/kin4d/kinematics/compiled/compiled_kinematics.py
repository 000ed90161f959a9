"""CompiledKinematics: a body's map q -> x(q), evaluated thousands of times a second.

Kinetic energy needs no points as such, only an *embedding* y(q) in R^n whose length measures it:
T = |dy/dt|^2 / 2. For mass points y is sqrt(m) x; a body whose points move in a low-dimensional
linear space needs just its coefficients there. Forces on points become covectors on y.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np

from kin4d.bodies.body import Body
from kin4d.bodies.capabilities import (
    BlendedTree,
    FrameSkinned,
    KinematicTree,
    NodeGraph,
    fixed_base,
)
from kin4d.geometry.sampling import SurfaceSamples

MAX_FIT_ERROR = 0.04
"""Of the bounding-box diagonal, over the limits' box: a fit with a larger error is not used."""


class Configuration:
    """A body at coordinates q. Arrays that derive from q are computed on first use and kept here.

    Attributes:
        kinematics: What the arrays are computed by.
        q: [k] coordinates.
        y: [n] embedding.
        jacobian: [n, k] dy/dq.
    """

    def __init__(
        self, kinematics: CompiledKinematics, q: np.ndarray, y: np.ndarray, jacobian: np.ndarray
    ) -> None:
        self.kinematics, self.q, self.y, self.jacobian = kinematics, q, y, jacobian

    @cached_property
    def mass_points(self) -> np.ndarray:
        """[P, 3] m."""
        return self.kinematics.mass_points(self)

    @cached_property
    def surface_points(self) -> np.ndarray:
        """[S, 3] m."""
        return self.kinematics.surface_points(self)

    @cached_property
    def intermediates(self) -> Any:
        """What several queries about the surface share; its form is up to the kinematics."""
        return self.kinematics.intermediates(self)


class CompiledKinematics(ABC):
    """A body's mass points and chosen points on its surface, as functions of q [k].

    Attributes:
        width: k, the number of coordinates.
        size: n, the dimension of the embedding.
        mass: [P] kg.
        floating: Whether the first six coordinates are those of `FloatingBase`.
        error: Metres (root mean square over points and the limits' box) by which a fitted map
            differs from the body; 0 for exact ones.
        compiled: Whether `data` can be passed to compiled kernels.
        data: What compiled kernels see, see `embed_into`.
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

    def at(self, q: np.ndarray) -> Configuration:
        """The body at q [k]."""
        return Configuration(self, q, *self.embed(q))

    @abstractmethod
    def mass_points(self, configuration: Configuration) -> np.ndarray:
        """Mass points [P, 3] (m)."""

    @abstractmethod
    def velocities(self, configuration: Configuration, qd: np.ndarray) -> np.ndarray:
        """Velocities [P, 3] (m/s) of the mass points."""

    @abstractmethod
    def pull_back(self, force: np.ndarray) -> np.ndarray:
        """[n] covector on y that forces [P, 3] (N) on the mass points amount to."""

    @abstractmethod
    def surface_points(self, configuration: Configuration) -> np.ndarray:
        """All chosen points on the surface [S, 3] (m)."""

    @abstractmethod
    def points_and_jacobians(
        self, configuration: Configuration, index: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The surface points `index` [N]: positions [N, 3] (m) and Jacobians [N, 3, k]."""

    def intermediates(self, configuration: Configuration) -> Any:
        """See `Configuration`."""
        return None


class MassPointKinematics(CompiledKinematics):
    """Kinematics whose embedding is the mass points, each times the root of its mass."""

    def mass_points(self, configuration: Configuration) -> np.ndarray:
        """Mass points [P, 3] (m)."""
        return configuration.y.reshape(-1, 3) / self.data.root_mass[:, None]

    def velocities(self, configuration: Configuration, qd: np.ndarray) -> np.ndarray:
        """Velocities [P, 3] (m/s) of the mass points."""
        return (configuration.jacobian @ qd).reshape(-1, 3) / self.data.root_mass[:, None]

    def pull_back(self, force: np.ndarray) -> np.ndarray:
        """[n] covector of forces [P, 3] (N)."""
        return (force / self.data.root_mass[:, None]).ravel()


def compile_kinematics(
    body: Body, surface: SurfaceSamples, *, mass_scale: float = 1.0
) -> CompiledKinematics:
    """The fastest faithful evaluation of a body's map.

    A `KinematicTree`, a `BlendedTree` and a `NodeGraph`, floating or not, are exact. Others are
    fitted: the motion of their frames if they are `FrameSkinned`, else that of all points. Where
    the fit is poor, the body's own methods are called.

    Args:
        body: Any.
        surface: Points on `body.rest` that forces and contacts act on.
        mass_scale: Factor on the body's masses.
    """
    from kin4d.kinematics.compiled.articulated import ArticulatedKinematics
    from kin4d.kinematics.compiled.autograd import AutogradKinematics
    from kin4d.kinematics.compiled.blended import BlendedKinematics
    from kin4d.kinematics.compiled.low_rank import LowRankKinematics
    from kin4d.kinematics.compiled.modal import ModalKinematics
    from kin4d.kinematics.compiled.skinned import SkinnedKinematics

    inner = fixed_base(body)
    options = {"floating": inner is not body, "mass_scale": mass_scale}
    if isinstance(inner, KinematicTree):
        return ArticulatedKinematics(inner, surface, **options)
    if isinstance(inner, BlendedTree):
        return BlendedKinematics(inner, surface, **options)
    if isinstance(inner, NodeGraph) and (network := inner.edge_network()) is not None:
        return ModalKinematics(inner, network, surface, **options)
    frames = inner.skinning_frames() if isinstance(inner, FrameSkinned) else None
    if frames is None:
        fitted = LowRankKinematics(inner, surface, **options)
    else:
        fitted = SkinnedKinematics(inner, frames, surface, **options)
    if fitted.error <= MAX_FIT_ERROR * inner.rest.bbox_diagonal:
        return fitted
    return AutogradKinematics(inner, surface, **options)
