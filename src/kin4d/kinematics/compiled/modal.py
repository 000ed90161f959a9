"""ModalKinematics: exact kinematics of a soft body of vibration modes, compiled."""

from __future__ import annotations

import numpy as np

from kin4d.bodies.capabilities import NodeGraph
from kin4d.bodies.edge_network import EdgeNetwork
from kin4d.geometry.sampling import SurfaceSamples
from kin4d.kinematics.compiled.compiled_kinematics import Configuration, MassPointKinematics
from kin4d.kinematics.compiled.modal_kernels import (
    ModalData,
    ModalPoints,
    modal_embed,
    modal_nodes_from_embedding,
    modal_points_and_jacobians,
    modal_points_from_embedding,
)


class ModalKinematics(MassPointKinematics):
    """Kinematics of a warped `ModalBody`, or of `FloatingBase` around it."""

    def __init__(
        self,
        body: NodeGraph,
        network: EdgeNetwork,
        surface: SurfaceSamples,
        *,
        floating: bool,
        mass_scale: float,
    ) -> None:
        first = 6 if floating else 0
        self.mass, self.floating = body.mass.numpy() * mass_scale, floating
        self.width, self.size = first + len(body.q0), 3 * len(self.mass)
        edges = EdgeNetwork(*map(np.ascontiguousarray, network))
        self.data = ModalData(first=first, network=edges, root_mass=np.sqrt(self.mass))
        self._surface = _attach_to_nodes(body, network.rest, surface)

    def embed(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """y = sqrt(m) x [3N] and its Jacobian [3N, k]."""
        y, jacobian = np.empty(self.size), np.empty((self.size, self.width))
        modal_embed(self.data, q, y, jacobian, True)
        return y, jacobian

    def surface_points(self, configuration: Configuration) -> np.ndarray:
        """All chosen points on the surface [S, 3] (m)."""
        return modal_points_from_embedding(
            self.data, configuration.q, configuration.y, self._surface
        )

    def points_and_jacobians(
        self, configuration: Configuration, index: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Surface points [N, 3] (m) and their Jacobians [N, 3, k]."""
        return modal_points_and_jacobians(
            self.data, configuration.q, configuration.intermediates, self._surface, index
        )

    def intermediates(self, configuration: Configuration) -> tuple[np.ndarray, ...]:
        """Nodes [N, 3] (m), their rotations [N, 3, 3], and the derivatives of both [N, 3, k]."""
        q, y, jacobian = configuration.q, configuration.y, configuration.jacobian
        return modal_nodes_from_embedding(self.data, q, y, jacobian)


def _attach_to_nodes(body: NodeGraph, rest: np.ndarray, surface: SurfaceSamples) -> ModalPoints:
    """Surface points, carried by the nodes that carry their triangles' corners, each node once."""
    count, nodes = len(surface), len(rest)
    shares = surface.barycentric[:, :, None] * body.skin.weights[surface.corners]
    carriers = body.skin.joints[surface.corners]
    arms = body.rest.vertices[surface.corners][:, :, None] - rest[carriers]
    key = (np.arange(count)[:, None, None] * nodes + carriers)[shares != 0]
    used, at = np.unique(key, return_inverse=True)
    share, arm = np.zeros(len(used)), np.zeros((len(used), 3))
    np.add.at(share, at, shares[shares != 0])
    np.add.at(arm, at, (shares[..., None] * arms)[shares != 0])
    begin = np.searchsorted(used, np.arange(count + 1) * nodes)
    return ModalPoints(begin, used % nodes, share, arm)
