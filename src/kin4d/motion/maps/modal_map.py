"""ModalMap: exact kinematics of a soft body of vibration modes, floating or not, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from kin4d.bodies.modal import ModalBody
from kin4d.geometry.sampling import SurfaceSamples
from kin4d.motion.maps.point_map import MassPointMap
from kin4d.motion.maps.rotation import root_pose

_LOOSE = {"reassoc", "contract", "nsz"}  # sums in any order, so that they are vectorised


class ModalData(NamedTuple):
    """The arrays of `kin4d.bodies.modal.Ties`, and the masses.

    Attributes:
        first: 6 if a floating root comes before the modes' coordinates, else 0.
        root_mass: [N] square root of kg.
    """

    first: int
    start: np.ndarray
    end: np.ndarray
    weight: np.ndarray
    arms: np.ndarray
    stretch: np.ndarray
    spin: np.ndarray
    rest: np.ndarray
    settle: np.ndarray
    root_mass: np.ndarray


class ModalMap(MassPointMap):
    """The map of a warped `ModalBody`, or of `Floating` around it."""

    def __init__(
        self, body: ModalBody, places: SurfaceSamples, *, floating: bool, mass_scale: float
    ) -> None:
        ties, first = body.ties, 6 if floating else 0
        self.mass, self.floating = body.mass.numpy() * mass_scale, floating
        self.width, self.size = first + len(body.q0), 3 * len(self.mass)
        arrays = {name: np.ascontiguousarray(part) for name, part in ties._asdict().items()}
        self.data = ModalData(first=first, root_mass=np.sqrt(self.mass), **arrays)
        # A place is carried by the carriers of its triangle's corners, each with share and arm.
        shares = places.barycentric[:, :, None] * body.skin.weights[places.corners]
        carriers = body.skin.joints[places.corners]
        arms = body.rest.vertices[places.corners][:, :, None] - ties.rest[carriers]
        flat = (len(places), 3 * carriers.shape[2])
        self._spots = (
            carriers.reshape(flat),
            shares.reshape(flat),
            (shares[..., None] * arms).reshape(*flat, 3),
        )
        self._last = (np.full(self.width, np.nan), None)

    def embed(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """y = sqrt(m) x [3N] and its Jacobian [3N, k]."""
        y, jacobian = np.empty(self.size), np.empty((self.size, self.width))
        modal_embed(self.data, q, y, jacobian, True)
        return y, jacobian

    def places(self, q: np.ndarray) -> np.ndarray:
        """Places on the surface [S, 3] (m)."""
        return modal_places(self.data, q, self._shared(q), *self._spots, False)[0]

    def place_jacobians(self, q: np.ndarray, index: np.ndarray) -> np.ndarray:
        """d places / dq [N, 3, k]."""
        carriers, shares, arms = (part[index] for part in self._spots)
        return modal_places(self.data, q, self._shared(q), carriers, shares, arms, True)[1]

    def _shared(self, q: np.ndarray):
        """The nodes at q: forces and contacts ask again and again about one instant."""
        if not np.array_equal(q, self._last[0]):
            self._last = (q.copy(), modal_nodes(self.data, q, True))
        return self._last[1]


@numba.njit(cache=True, error_model="numpy", fastmath=_LOOSE)
def modal_nodes(data, q, with_jacobian):
    """Nodes [N, 3], their turns [N, 3, 3], and the derivatives of both: [N, 3, k], [N, 3, k].

    Those of the turns are angular velocities per unit of each coordinate. No floating root.
    """
    count, k = len(data.rest), data.spin.shape[2]
    own = q[data.first :]
    turns, turning = np.empty((count, 3, 3)), np.zeros((count, 3, k))
    vector, jacobian = np.zeros(6), np.empty((3, 3))
    for n in range(count):
        for r in range(3):
            total = 0.0
            for c in range(k):
                total += data.spin[n, r, c] * own[c]
            vector[3 + r] = total
        root_pose(vector, turns[n], jacobian)
        if with_jacobian:
            for r in range(3):
                for c in range(k):
                    for s in range(3):
                        turning[n, r, c] += jacobian[r, s] * data.spin[n, s, c]
    pull, pulling = np.zeros((count, 3)), np.zeros((count if with_jacobian else 0, 3 * k))
    tie, turned, way = np.empty(3), np.empty(3), np.empty((3, k))
    for e in range(len(data.start)):
        i, j, weight, turn = data.start[e], data.end[e], data.weight[e], turns[data.start[e]]
        for r in range(3):
            tie[r] = data.arms[e, r]
            for c in range(k):
                tie[r] += data.stretch[e, r, c] * own[c]
        for r in range(3):
            turned[r] = turn[r, 0] * tie[0] + turn[r, 1] * tie[1] + turn[r, 2] * tie[2]
            change = weight * (turned[r] - data.arms[e, r])
            pull[j, r] += change
            pull[i, r] -= change
        if with_jacobian:
            x, y, z = turned
            for c in range(k):
                a, b, d = turning[i, 0, c], turning[i, 1, c], turning[i, 2, c]
                way[0, c] = b * z - d * y
                way[1, c] = d * x - a * z
                way[2, c] = a * y - b * x
                a, b, d = data.stretch[e, 0, c], data.stretch[e, 1, c], data.stretch[e, 2, c]
                for r in range(3):
                    way[r, c] += turn[r, 0] * a + turn[r, 1] * b + turn[r, 2] * d
                    change = weight * way[r, c]
                    pulling[j, r * k + c] += change
                    pulling[i, r * k + c] -= change
    nodes = data.rest + data.settle @ pull
    moving = (data.settle @ pulling).reshape(count, 3, k) if with_jacobian else turning
    return nodes, turns, moving, turning


@numba.njit(cache=True, error_model="numpy", fastmath=_LOOSE)
def _rooted(x, moving, rotation, turning, origin, weight, out, slope, with_jacobian):
    """Carry a point x [3] and its derivatives [3, k] by a floating root, times `weight`."""
    k = moving.shape[1]
    world = np.empty(3)
    for r in range(3):
        world[r] = rotation[r, 0] * x[0] + rotation[r, 1] * x[1] + rotation[r, 2] * x[2]
        out[r] = weight * (world[r] + origin[r])
    if not with_jacobian:
        return
    for c in range(3):
        for r in range(3):
            slope[r, c] = weight if r == c else 0.0
        a, b, d = turning[0, c] * weight, turning[1, c] * weight, turning[2, c] * weight
        slope[0, 3 + c] = b * world[2] - d * world[1]
        slope[1, 3 + c] = d * world[0] - a * world[2]
        slope[2, 3 + c] = a * world[1] - b * world[0]
    for c in range(k):
        for r in range(3):
            total = 0.0
            for s in range(3):
                total += rotation[r, s] * moving[s, c]
            slope[r, 6 + c] = weight * total


@numba.njit(cache=True, error_model="numpy", fastmath=_LOOSE)
def modal_embed(data, q, y, jacobian, with_jacobian):
    """Write sqrt(m) x [3N] and, if wanted, its Jacobian [3N, k]."""
    nodes, _, moving, _ = modal_nodes(data, q, with_jacobian)
    rotation, turning = np.empty((3, 3)), np.empty((3, 3))
    if data.first:
        root_pose(q, rotation, turning)
    for n in range(len(nodes)):
        weight, out = data.root_mass[n], y[3 * n : 3 * n + 3]
        slope = jacobian[3 * n : 3 * n + 3]
        if data.first:
            _rooted(nodes[n], moving[n], rotation, turning, q, weight, out, slope, with_jacobian)
            continue
        for r in range(3):
            out[r] = weight * nodes[n, r]
            if with_jacobian:
                for c in range(moving.shape[2]):
                    slope[r, c] = weight * moving[n, r, c]


@numba.njit(cache=True, error_model="numpy", fastmath=_LOOSE)
def modal_places(data, q, known, carriers, shares, arms, with_jacobian):
    """Places [S, 3] and, if wanted, their Jacobians [S, 3, k], given what `modal_nodes` found."""
    nodes, turns, moving, turning = known
    count, k = len(carriers), moving.shape[2]
    out = np.zeros((count, 3))
    slopes = np.zeros((count if with_jacobian else 0, 3, len(q)))
    rotation, whirl, place, slope = (
        np.empty((3, 3)),
        np.empty((3, 3)),
        np.empty(3),
        np.empty((3, k)),
    )
    if data.first:
        root_pose(q, rotation, whirl)
    arm = np.empty(3)
    for p in range(count):
        place[:] = 0.0
        slope[:] = 0.0
        for a in range(carriers.shape[1]):
            n, share = carriers[p, a], shares[p, a]
            for r in range(3):
                arm[r] = 0.0
                for s in range(3):
                    arm[r] += turns[n, r, s] * arms[p, a, s]
                place[r] += share * nodes[n, r] + arm[r]
            if with_jacobian:
                for c in range(k):
                    x, y, z = turning[n, 0, c], turning[n, 1, c], turning[n, 2, c]
                    slope[0, c] += share * moving[n, 0, c] + y * arm[2] - z * arm[1]
                    slope[1, c] += share * moving[n, 1, c] + z * arm[0] - x * arm[2]
                    slope[2, c] += share * moving[n, 2, c] + x * arm[1] - y * arm[0]
        if data.first:
            rows = slopes[p] if with_jacobian else np.empty((3, len(q)))
            _rooted(place, slope, rotation, whirl, q, 1.0, out[p], rows, with_jacobian)
        else:
            out[p] = place
            if with_jacobian:
                slopes[p] = slope
    return out, slopes
