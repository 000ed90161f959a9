"""Capabilities: what only some bodies can do, each a small protocol.

`Body` says points, vertices, Jacobian, limits and mass. Code that can use more asks for the
capability with `isinstance`, never for the class, so a new body gains a feature by having its
members.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from kin4d.bodies.articulated_base import Link
from kin4d.bodies.body import Body
from kin4d.bodies.edge_network import EdgeNetwork
from kin4d.bodies.joint import Joint
from kin4d.bodies.joint_coupling import JointCoupling
from kin4d.bodies.segmented import JointSpec
from kin4d.bodies.skinning_frames import SkinningFrames
from kin4d.geometry.sampling import SurfaceSamples
from kin4d.geometry.skin import Skin


@runtime_checkable
class Named(Protocol):
    """A body with a name of its own."""

    name: str


@runtime_checkable
class Predicted(Protocol):
    """A body made by a network.

    Attributes:
        confidence: How well the network knows such shapes, 0 to 1; None if its weights do not say.
    """

    confidence: float | None


@runtime_checkable
class PredictedJoints(Protocol):
    """A body whose joints a network predicted.

    Attributes:
        joint_specs: The joints, each with its probability, the surest first.
    """

    joint_specs: tuple[JointSpec, ...]


@runtime_checkable
class StateSampler(Protocol):
    """A body that can draw plausible states."""

    def sample(self, count: int, *, seed: int = 0) -> Tensor:
        """[count, k] coordinates, within the limits."""
        ...


@runtime_checkable
class Elastic(Protocol):
    """A body with an elastic energy, 1/2 q' stiffness q."""

    @property
    def stiffness(self) -> Tensor:
        """[k, k] J."""
        ...

    @property
    def low_membrane_stiffness(self) -> bool:
        """Whether `stiffness` leaves stretching in the surface to a `Membrane` force."""
        ...


@runtime_checkable
class FloatingRoot(Body, Protocol):
    """A body whose first six coordinates move another body as a whole."""

    @property
    def body(self) -> Body:
        """The body without the root."""
        ...

    def root_pose(self, q: Tensor) -> Tensor:
        """[..., 4, 4] motion of the whole body."""
        ...


@runtime_checkable
class Placeable(Protocol):
    """A body that can be put elsewhere as it is. Others are made from a mesh that is there."""

    def placed(self, pose: np.ndarray) -> Body:
        """The same body moved by the rigid transform `pose` [4, 4]."""
        ...


@runtime_checkable
class RigidLinks(Body, Protocol):
    """A body made of rigid links."""

    @property
    def links(self) -> Sequence[Link]:
        """The links."""
        ...

    def link_poses(self, q: Tensor) -> Tensor:
        """World pose of every link's frame, [..., L, 4, 4]."""
        ...

    def link_index(self, name: str) -> int:
        """Position of a link by name."""
        ...


@runtime_checkable
class KinematicTree(RigidLinks, Protocol):
    """Rigid links on joints in a tree; compiled exactly for stepping and for IK."""

    name: str
    joints: tuple[Joint, ...]
    drive: JointCoupling
    root: np.ndarray

    @property
    def skin(self) -> Skin:
        """The link that each vertex belongs to."""
        ...

    @property
    def order(self) -> Sequence[str]:
        """Names of the links, parents before children."""
        ...

    def joints_above(self, link: str) -> list[int]:
        """Indices of the joints between the root and `link`, the root's first."""
        ...


@runtime_checkable
class Correctable(KinematicTree, PredictedJoints, Protocol):
    """Parts on predicted joints, each of which can be changed; see `kin4d.bodies.corrections`.

    Attributes:
        part: [V] the part of each vertex, 0 for what stands still.
    """

    part: np.ndarray

    def corrected(self, parts: Mapping[str, Mapping[str, Any]]) -> Correctable:
        """A body with some of its joints and parts changed."""
        ...


@runtime_checkable
class BlendedTree(Body, Protocol):
    """A skin whose points are weighted sums of points of a tree; compiled exactly for stepping.

    Attributes:
        tree: The joints, with the same coordinates.
        mass_samples: Where on the surface the mass points are.
    """

    tree: KinematicTree
    mass_samples: SurfaceSamples

    def influences(self, samples: SurfaceSamples) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Links [N, K] that carry points of the surface, those with a share first, their shares
        [N, K], and positions [N, K, 3] (m) at rest of what they carry."""
        ...


@runtime_checkable
class LooseJoints(BlendedTree, Protocol):
    """A skin over a tree that can be fitted more closely if its joints slide a little."""

    def loosened(self, most: float) -> tuple[BlendedTree, np.ndarray]:
        """The same with joints that also slide by up to `most` (m) along each axis, and which [k]
        of its coordinates these are."""
        ...


@runtime_checkable
class EndEffector(Protocol):
    """A robot with a link that pose targets and actions refer to."""

    end_effector: str


@runtime_checkable
class NodeGraph(Body, Protocol):
    """A soft body assembled from rotated edges between nodes; compiled exactly for stepping."""

    @property
    def skin(self) -> Skin:
        """The nodes that carry each vertex."""
        ...

    def edge_network(self) -> EdgeNetwork | None:
        """The map in plain arrays; None where it is not made of edges."""
        ...


@runtime_checkable
class FrameSkinned(Body, Protocol):
    """A body whose points blend the motions of a few rigid frames; compiled by fitting those."""

    def skinning_frames(self) -> SkinningFrames | None:
        """The frames; None where points move by themselves."""
        ...


@runtime_checkable
class SurfaceProbe(Protocol):
    """A body that evaluates chosen surface points without evaluating all vertices."""

    def probe(self, samples: SurfaceSamples) -> Callable[[Tensor], Tensor]:
        """The map q [..., k] -> surface points [..., N, 3] (m)."""
        ...


@runtime_checkable
class InitialGuesses(Protocol):
    """A body that can guess its coordinates from a target."""

    def initial_guesses(self, target: np.ndarray) -> Tensor:
        """[S, k] coordinates in which the body may look like unordered points target [M, 3] (m)."""
        ...


@runtime_checkable
class WideSearch(Protocol):
    """A body that may be fitted beyond its limits."""

    search_limits: Tensor
    """[k, 2] bounds within which a fit searches."""


@runtime_checkable
class PartFittable(InitialGuesses, Body, Protocol):
    """A body of parts whose triangles a fit may assign to other parts."""

    @property
    def parts(self) -> np.ndarray | None:
        """[F] the part each triangle follows, 0 for still, -1 if several; None without parts."""
        ...

    @property
    def pieces(self) -> np.ndarray:
        """[F] the piece of the surface each triangle belongs to."""
        ...

    def refined(self, parts: np.ndarray | None = None) -> PartFittable:
        """The same with more coordinates, and with triangles that follow `parts` [F]."""
        ...

    def encode_pose(self, vertices: np.ndarray) -> Tensor:
        """[k] coordinates in which the vertices are about at `vertices` [V, 3] (m)."""
        ...


def body_name(body: Body) -> str:
    """The body's own name, or its mesh's."""
    return (body.name if isinstance(body, Named) else "") or body.rest.name


def fixed_base(body: Body) -> Body:
    """The body without its floating root, if it has one."""
    return body.body if isinstance(body, FloatingRoot) else body


def modal_stiffness(body: Body) -> Tensor | None:
    """[k, k] J: the elastic stiffness of a body, a floating root left free; None if it has none."""
    if isinstance(body, FloatingRoot):
        inner = modal_stiffness(body.body)
        return None if inner is None else torch.block_diag(inner.new_zeros(6, 6), inner)
    return body.stiffness if isinstance(body, Elastic) else None


def surface_map(body: Body, samples: SurfaceSamples) -> Callable[[Tensor], Tensor]:
    """The map q [..., k] -> surface points [..., N, 3] (m), by the body's `probe` if it has one."""
    if isinstance(body, SurfaceProbe) and len(samples):
        return body.probe(samples)
    return lambda q: samples.points(body.vertices(q))
