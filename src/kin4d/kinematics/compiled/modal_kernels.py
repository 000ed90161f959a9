"""Kernels of `ModalKinematics`: nodes joined by edges, surface points, and a floating root.

They run many thousand times a second, so sums over axes are written out.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from kin4d.bodies.edge_network import EdgeNetwork
from kin4d.kinematics.compiled.rotation import (
    LOOSE,
    root_or_world,
    write_root_transform,
    write_rotation,
)


class ModalData(NamedTuple):
    """Constants of a body.

    Attributes:
        first: 6 if a floating root comes before the modes' coordinates, else 0.
        network: Edges between the nodes.
        root_mass: [N] square root of kg.
    """

    first: int
    network: EdgeNetwork
    root_mass: np.ndarray


class ModalPoints(NamedTuple):
    """S points on the surface, each carried by a few nodes.

    Attributes:
        begin: [S + 1] where the carriers of each point begin in the following.
        carrier: [C] nodes.
        share: [C] how much each carries.
        arm: [C, 3] m from the node to the point at rest, times the share.
    """

    begin: np.ndarray
    carrier: np.ndarray
    share: np.ndarray
    arm: np.ndarray


@numba.njit(cache=True, error_model="numpy", fastmath=LOOSE)
def _rotations(network, own, with_jacobian):
    """Rotations of the nodes [N, 3, 3], and their derivatives [N, 3, k]; see `modal_nodes`."""
    count, k = len(network.rest), network.spin.shape[2]
    vectors = network.spin.reshape(3 * count, k) @ own
    rotations, angular = np.empty((count, 3, 3)), np.empty((count if with_jacobian else 0, 3, k))
    slope = np.empty((3, 3))
    for n in range(count):
        write_rotation(vectors[3 * n], vectors[3 * n + 1], vectors[3 * n + 2], rotations[n], slope)
        if with_jacobian:
            for r in range(3):
                a, b, d = slope[r, 0], slope[r, 1], slope[r, 2]
                for c in range(k):
                    angular[n, r, c] = (
                        a * network.spin[n, 0, c]
                        + b * network.spin[n, 1, c]
                        + d * network.spin[n, 2, c]
                    )
    return rotations, angular


@numba.njit(cache=True, error_model="numpy", fastmath=LOOSE)
def modal_nodes(data, q, with_jacobian):
    """Nodes [N, 3], their rotations [N, 3, 3], and the derivatives of both: [N, 3, k], [N, 3, k].

    Those of the rotations are angular velocities per unit of each coordinate. No floating root.
    Derivatives are empty unless wanted.
    """
    network = data.network
    count, k = len(network.rest), network.spin.shape[2]
    own = q[data.first :]
    rotations, angular = _rotations(network, own, with_jacobian)
    rows, longer = len(angular), network.stretch.reshape(-1, k) @ own
    pull, pull_slopes, slope = np.zeros((count, 3)), np.zeros((rows, 3 * k)), np.empty(3 * k)
    for e in range(len(network.start)):
        i, j, weight = network.start[e], network.end[e], network.weight[e]
        rot = rotations[i]
        a, b, d = network.arms[e, 0], network.arms[e, 1], network.arms[e, 2]
        s, t, u = a + longer[3 * e], b + longer[3 * e + 1], d + longer[3 * e + 2]
        x = rot[0, 0] * s + rot[0, 1] * t + rot[0, 2] * u
        y = rot[1, 0] * s + rot[1, 1] * t + rot[1, 2] * u
        z = rot[2, 0] * s + rot[2, 1] * t + rot[2, 2] * u
        a, b, d = weight * (x - a), weight * (y - b), weight * (z - d)
        pull[j, 0] += a
        pull[j, 1] += b
        pull[j, 2] += d
        pull[i, 0] -= a
        pull[i, 1] -= b
        pull[i, 2] -= d
        if with_jacobian:
            for c in range(k):
                a, b, d = angular[i, 0, c], angular[i, 1, c], angular[i, 2, c]
                s, t, u = (
                    network.stretch[e, 0, c],
                    network.stretch[e, 1, c],
                    network.stretch[e, 2, c],
                )
                slope[c] = b * z - d * y + rot[0, 0] * s + rot[0, 1] * t + rot[0, 2] * u
                slope[k + c] = d * x - a * z + rot[1, 0] * s + rot[1, 1] * t + rot[1, 2] * u
                slope[2 * k + c] = a * y - b * x + rot[2, 0] * s + rot[2, 1] * t + rot[2, 2] * u
            for c in range(3 * k):
                pull_slopes[j, c] += weight * slope[c]
            for c in range(3 * k):
                pull_slopes[i, c] -= weight * slope[c]
    nodes = network.rest + network.inverse_laplacian @ pull
    moving = (
        (network.inverse_laplacian @ pull_slopes).reshape(rows, 3, k) if with_jacobian else angular
    )
    return nodes, rotations, moving, angular


@numba.njit(cache=True, error_model="numpy", fastmath=LOOSE)
def modal_embed(data, q, y, jacobian, with_jacobian):
    """Write sqrt(m) x [3N] and, if wanted, its Jacobian [3N, k]."""
    nodes, _, moving, _ = modal_nodes(data, q, with_jacobian)
    rotation, angular, origin = root_or_world(data.first, q)
    for n in range(len(nodes)):
        weight, a, b, d = data.root_mass[n], nodes[n, 0], nodes[n, 1], nodes[n, 2]
        u = rotation[0, 0] * a + rotation[0, 1] * b + rotation[0, 2] * d
        v = rotation[1, 0] * a + rotation[1, 1] * b + rotation[1, 2] * d
        w = rotation[2, 0] * a + rotation[2, 1] * b + rotation[2, 2] * d
        y[3 * n] = weight * (u + origin[0])
        y[3 * n + 1] = weight * (v + origin[1])
        y[3 * n + 2] = weight * (w + origin[2])
        if with_jacobian:
            rows = jacobian[3 * n : 3 * n + 3]
            if data.first:
                write_root_transform(rows, weight, u, v, w, moving[n], rotation, angular)
            else:
                for r in range(3):
                    for c in range(moving.shape[2]):
                        rows[r, c] = weight * moving[n, r, c]


@numba.njit(cache=True, error_model="numpy", fastmath=LOOSE)
def modal_nodes_from_embedding(data, q, y, jacobian):
    """What `modal_nodes` returns at q, from the embedding there: without going over the edges."""
    count, first = len(data.network.rest), data.first
    rotations, angular = _rotations(data.network, q[first:], True)
    rotation, _, origin = root_or_world(data.first, q)
    nodes, moving = np.empty((count, 3)), np.empty((count, 3, jacobian.shape[1] - first))
    for n in range(count):
        rows = jacobian[3 * n : 3 * n + 3]
        a, b, d = y[3 * n : 3 * n + 3] / data.root_mass[n] - origin
        for r in range(3):
            u, v, w = rotation[0, r], rotation[1, r], rotation[2, r]
            nodes[n, r] = u * a + v * b + w * d
            u, v, w = u / data.root_mass[n], v / data.root_mass[n], w / data.root_mass[n]
            for c in range(moving.shape[2]):
                moving[n, r, c] = (
                    u * rows[0, first + c] + v * rows[1, first + c] + w * rows[2, first + c]
                )
    return nodes, rotations, moving, angular


@numba.njit(cache=True, error_model="numpy", fastmath=LOOSE)
def modal_points_from_embedding(data, q, y, surface):
    """All surface points [S, 3], from the embedding at q: without going over the edges."""
    rots, _ = _rotations(data.network, q[data.first :], False)
    rotation, _, origin = root_or_world(data.first, q)
    nodes = np.empty((len(rots), 3))
    for n in range(len(nodes)):
        a, b, d = y[3 * n : 3 * n + 3] / data.root_mass[n] - origin
        for r in range(3):
            nodes[n, r] = rotation[0, r] * a + rotation[1, r] * b + rotation[2, r] * d
    out = np.empty((len(surface.begin) - 1, 3))
    for p in range(len(out)):
        u, v, w = 0.0, 0.0, 0.0
        for at in range(surface.begin[p], surface.begin[p + 1]):
            n, share = surface.carrier[at], surface.share[at]
            a, b, d = surface.arm[at, 0], surface.arm[at, 1], surface.arm[at, 2]
            u += share * nodes[n, 0] + rots[n, 0, 0] * a + rots[n, 0, 1] * b + rots[n, 0, 2] * d
            v += share * nodes[n, 1] + rots[n, 1, 0] * a + rots[n, 1, 1] * b + rots[n, 1, 2] * d
            w += share * nodes[n, 2] + rots[n, 2, 0] * a + rots[n, 2, 1] * b + rots[n, 2, 2] * d
        for r in range(3):
            out[p, r] = rotation[r, 0] * u + rotation[r, 1] * v + rotation[r, 2] * w + origin[r]
    return out


@numba.njit(cache=True, error_model="numpy", fastmath=LOOSE)
def modal_points_and_jacobians(data, q, node_motion, surface, index):
    """The surface points `index` [N, 3] and their Jacobians [N, 3, k], given the nodes."""
    nodes, rotations, moving, angular = node_motion
    rotation, root_angular, origin = root_or_world(data.first, q)
    k = moving.shape[2]
    out, inner, point = np.empty((len(index), 3, len(q))), np.empty((3, k)), np.empty(3)
    points = np.empty((len(index), 3))
    for i in range(len(index)):
        p = index[i]
        inner[:] = 0.0
        point[:] = 0.0
        for at in range(surface.begin[p], surface.begin[p + 1]):
            n, share = surface.carrier[at], surface.share[at]
            rot = rotations[n]
            a, b, d = surface.arm[at, 0], surface.arm[at, 1], surface.arm[at, 2]
            x = rot[0, 0] * a + rot[0, 1] * b + rot[0, 2] * d
            y = rot[1, 0] * a + rot[1, 1] * b + rot[1, 2] * d
            z = rot[2, 0] * a + rot[2, 1] * b + rot[2, 2] * d
            point[0] += share * nodes[n, 0] + x
            point[1] += share * nodes[n, 1] + y
            point[2] += share * nodes[n, 2] + z
            for c in range(k):
                a, b, d = angular[n, 0, c], angular[n, 1, c], angular[n, 2, c]
                inner[0, c] += share * moving[n, 0, c] + b * z - d * y
                inner[1, c] += share * moving[n, 1, c] + d * x - a * z
                inner[2, c] += share * moving[n, 2, c] + a * y - b * x
        a, b, d = point[0], point[1], point[2]
        x = rotation[0, 0] * a + rotation[0, 1] * b + rotation[0, 2] * d
        y = rotation[1, 0] * a + rotation[1, 1] * b + rotation[1, 2] * d
        z = rotation[2, 0] * a + rotation[2, 1] * b + rotation[2, 2] * d
        points[i, 0], points[i, 1], points[i, 2] = x + origin[0], y + origin[1], z + origin[2]
        if data.first:
            write_root_transform(out[i], 1.0, x, y, z, inner, rotation, root_angular)
        else:
            out[i] = inner
    return points, out
