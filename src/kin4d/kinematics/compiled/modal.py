"""ModalMap: exact kinematics of a soft body of vibration modes, floating or not, compiled."""

from __future__ import annotations

import numpy as np

from kin4d.bodies.capabilities import NodeGraph
from kin4d.bodies.edge_network import EdgeNetwork
from kin4d.geometry.sampling import SurfaceSamples
from kin4d.kinematics.compiled.compiled_kinematics import MassPointKinematics
from kin4d.kinematics.compiled.modal_kernels import (
    ModalData,
    ModalPoints,
    modal_cached_embed,
    modal_cached_points,
    modal_embed,
    modal_nodes,
    modal_points_and_jacobians,
    modal_surface_points,
    modal_triangles,
)

_REMEMBERED = 3  # instants: a step asks about its start, where it would end, and where it ends


class ModalKinematics(MassPointKinematics):
    """The map of a warped `ModalBody`, or of `Floating` around it."""

    def __init__(
        self,
        body: NodeGraph,
        network: EdgeNetwork,
        places: SurfaceSamples,
        *,
        floating: bool,
        mass_scale: float,
    ) -> None:
        first = 6 if floating else 0
        self.mass, self.floating = body.mass.numpy() * mass_scale, floating
        self.width, self.size = first + len(body.q0), 3 * len(self.mass)
        ties = EdgeNetwork(*map(np.ascontiguousarray, network))
        self.data = ModalData(first=first, ties=ties, root_mass=np.sqrt(self.mass))
        self._spots = _spots(body, network.rest, places)
        self._known: dict[bytes, tuple[np.ndarray, ...]] = {}
        self._noted: tuple[np.ndarray, ...] = (np.zeros(0),)

    def embed(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """y = sqrt(m) x [3N] and its Jacobian [3N, k]."""
        y, jacobian = np.empty(self.size), np.empty((self.size, self.width))
        modal_embed(self.data, q, y, jacobian, True)
        return y, jacobian

    def places(self, q: np.ndarray) -> np.ndarray:
        """Places on the surface [S, 3] (m)."""
        if q is self._noted[0]:
            return modal_cached_points(self.data, q, self._noted[1], self._spots)
        return modal_surface_points(self.data, q, self._nodes(q, moving=False), self._spots)

    def followed(self, q: np.ndarray, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Some places [N, 3] (m) and their Jacobians [N, 3, k]."""
        return modal_points_and_jacobians(
            self.data, q, self._nodes(q, moving=True), self._spots, index
        )

    def places_and_jacobians(
        self, q: np.ndarray, index: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Both at once where a step has just ended."""
        if q is not self._noted[0]:
            return super().places_and_jacobians(q, index)
        _, y, jacobian = self._noted
        known, places, moving = modal_triangles(self.data, q, y, jacobian, self._spots, index)
        self._remember(q.tobytes(), known)
        return places, moving

    def note(self, q: np.ndarray, y: np.ndarray, jacobian: np.ndarray) -> None:
        """Keeps it: most of what is asked about places at q follows from it."""
        self._noted = (q, y, jacobian)

    def _nodes(self, q: np.ndarray, *, moving: bool) -> tuple[np.ndarray, ...]:
        """The nodes at q: forces and contacts ask again and again about one instant."""
        key = q.tobytes()
        found = self._known.pop(key, None)
        if found is None and q is self._noted[0]:
            found = modal_cached_embed(self.data, *self._noted)
        elif found is None or (moving and not len(found[2])):
            found = modal_nodes(self.data, q, moving)
        self._remember(key, found)
        return found

    def _remember(self, key: bytes, found: tuple[np.ndarray, ...]) -> None:
        self._known[key] = found
        if len(self._known) > _REMEMBERED:
            del self._known[next(iter(self._known))]


def _spots(body: NodeGraph, rest: np.ndarray, places: SurfaceSamples) -> ModalPoints:
    """Places as carried by the nodes that carry their triangles' corners, each node once."""
    count, nodes = len(places), len(rest)
    shares = places.barycentric[:, :, None] * body.skin.weights[places.corners]
    carriers = body.skin.joints[places.corners]
    arms = body.rest.vertices[places.corners][:, :, None] - rest[carriers]
    key = (np.arange(count)[:, None, None] * nodes + carriers)[shares != 0]
    used, at = np.unique(key, return_inverse=True)
    share, arm = np.zeros(len(used)), np.zeros((len(used), 3))
    np.add.at(share, at, shares[shares != 0])
    np.add.at(arm, at, (shares[..., None] * arms)[shares != 0])
    begin = np.searchsorted(used, np.arange(count + 1) * nodes)
    return ModalPoints(begin, used % nodes, share, arm)
