"""Kernels of `ModalMap`: nodes held together by ties, what they carry, and a floating root.

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
    """What the kernels know of a body.

    Attributes:
        first: 6 if a floating root comes before the modes' coordinates, else 0.
        ties: What holds the nodes together.
        root_mass: [N] square root of kg.
    """

    first: int
    ties: EdgeNetwork
    root_mass: np.ndarray


class ModalPoints(NamedTuple):
    """S places on the surface, each carried by a few nodes.

    Attributes:
        begin: [S + 1] where the carriers of each place begin in the following.
        carrier: [C] nodes.
        share: [C] how much each carries.
        arm: [C, 3] m from the node to the place at rest, times the share.
    """

    begin: np.ndarray
    carrier: np.ndarray
    share: np.ndarray
    arm: np.ndarray


@numba.njit(cache=True, error_model="numpy", fastmath=LOOSE)
def _turns(ties, own, with_jacobian):
    """Turns of the nodes [N, 3, 3], and their derivatives [N, 3, k]; see `modal_nodes`."""
    count, k = len(ties.rest), ties.spin.shape[2]
    vectors = ties.spin.reshape(3 * count, k) @ own
    turns, turning = np.empty((count, 3, 3)), np.empty((count if with_jacobian else 0, 3, k))
    slope = np.empty((3, 3))
    for n in range(count):
        write_rotation(vectors[3 * n], vectors[3 * n + 1], vectors[3 * n + 2], turns[n], slope)
        if with_jacobian:
            for r in range(3):
                a, b, d = slope[r, 0], slope[r, 1], slope[r, 2]
                for c in range(k):
                    turning[n, r, c] = (
                        a * ties.spin[n, 0, c] + b * ties.spin[n, 1, c] + d * ties.spin[n, 2, c]
                    )
    return turns, turning


@numba.njit(cache=True, error_model="numpy", fastmath=LOOSE)
def modal_nodes(data, q, with_jacobian):
    """Nodes [N, 3], their turns [N, 3, 3], and the derivatives of both: [N, 3, k], [N, 3, k].

    Those of the turns are angular velocities per unit of each coordinate. No floating root.
    Derivatives are empty unless wanted.
    """
    ties = data.ties
    count, k = len(ties.rest), ties.spin.shape[2]
    own = q[data.first :]
    turns, turning = _turns(ties, own, with_jacobian)
    known, longer = len(turning), ties.stretch.reshape(-1, k) @ own
    pull, pulling, way = np.zeros((count, 3)), np.zeros((known, 3 * k)), np.empty(3 * k)
    for e in range(len(ties.start)):
        i, j, weight, turn = ties.start[e], ties.end[e], ties.weight[e], turns[ties.start[e]]
        a, b, d = ties.arms[e, 0], ties.arms[e, 1], ties.arms[e, 2]
        s, t, u = a + longer[3 * e], b + longer[3 * e + 1], d + longer[3 * e + 2]
        x = turn[0, 0] * s + turn[0, 1] * t + turn[0, 2] * u
        y = turn[1, 0] * s + turn[1, 1] * t + turn[1, 2] * u
        z = turn[2, 0] * s + turn[2, 1] * t + turn[2, 2] * u
        a, b, d = weight * (x - a), weight * (y - b), weight * (z - d)
        pull[j, 0] += a
        pull[j, 1] += b
        pull[j, 2] += d
        pull[i, 0] -= a
        pull[i, 1] -= b
        pull[i, 2] -= d
        if with_jacobian:
            for c in range(k):
                a, b, d = turning[i, 0, c], turning[i, 1, c], turning[i, 2, c]
                s, t, u = ties.stretch[e, 0, c], ties.stretch[e, 1, c], ties.stretch[e, 2, c]
                way[c] = b * z - d * y + turn[0, 0] * s + turn[0, 1] * t + turn[0, 2] * u
                way[k + c] = d * x - a * z + turn[1, 0] * s + turn[1, 1] * t + turn[1, 2] * u
                way[2 * k + c] = a * y - b * x + turn[2, 0] * s + turn[2, 1] * t + turn[2, 2] * u
            for c in range(3 * k):
                pulling[j, c] += weight * way[c]
            for c in range(3 * k):
                pulling[i, c] -= weight * way[c]
    nodes = ties.rest + ties.settle @ pull
    moving = (ties.settle @ pulling).reshape(known, 3, k) if with_jacobian else turning
    return nodes, turns, moving, turning


@numba.njit(cache=True, error_model="numpy", fastmath=LOOSE)
def modal_embed(data, q, y, jacobian, with_jacobian):
    """Write sqrt(m) x [3N] and, if wanted, its Jacobian [3N, k]."""
    nodes, _, moving, _ = modal_nodes(data, q, with_jacobian)
    rotation, turning, origin = root_or_world(data.first, q)
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
                write_root_transform(rows, weight, u, v, w, moving[n], rotation, turning)
            else:
                for r in range(3):
                    for c in range(moving.shape[2]):
                        rows[r, c] = weight * moving[n, r, c]


@numba.njit(cache=True, error_model="numpy", fastmath=LOOSE)
def modal_cached_embed(data, q, y, jacobian):
    """What `modal_nodes` finds at q, from what `modal_embed` wrote there: without the ties."""
    count, first = len(data.ties.rest), data.first
    turns, turning = _turns(data.ties, q[first:], True)
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
    return nodes, turns, moving, turning


@numba.njit(cache=True, error_model="numpy", fastmath=LOOSE)
def modal_cached_points(data, q, y, spots):
    """All places [S, 3], from what `modal_embed` wrote at q: without the ties."""
    turns, _ = _turns(data.ties, q[data.first :], False)
    rotation, _, origin = root_or_world(data.first, q)
    nodes = np.empty((len(turns), 3))
    for n in range(len(nodes)):
        a, b, d = y[3 * n : 3 * n + 3] / data.root_mass[n] - origin
        for r in range(3):
            nodes[n, r] = rotation[0, r] * a + rotation[1, r] * b + rotation[2, r] * d
    return modal_surface_points(data, q, (nodes, turns), spots)


@numba.njit(cache=True, error_model="numpy", fastmath=LOOSE)
def modal_surface_points(data, q, known, spots):
    """Places [S, 3], given what `modal_nodes` found."""
    nodes, turns = known[0], known[1]
    rotation, _, origin = root_or_world(data.first, q)
    out = np.empty((len(spots.begin) - 1, 3))
    for p in range(len(out)):
        x, y, z = 0.0, 0.0, 0.0
        for at in range(spots.begin[p], spots.begin[p + 1]):
            n, share = spots.carrier[at], spots.share[at]
            a, b, d = spots.arm[at, 0], spots.arm[at, 1], spots.arm[at, 2]
            x += share * nodes[n, 0] + turns[n, 0, 0] * a + turns[n, 0, 1] * b + turns[n, 0, 2] * d
            y += share * nodes[n, 1] + turns[n, 1, 0] * a + turns[n, 1, 1] * b + turns[n, 1, 2] * d
            z += share * nodes[n, 2] + turns[n, 2, 0] * a + turns[n, 2, 1] * b + turns[n, 2, 2] * d
        for r in range(3):
            out[p, r] = rotation[r, 0] * x + rotation[r, 1] * y + rotation[r, 2] * z + origin[r]
    return out


@numba.njit(cache=True, error_model="numpy", fastmath=LOOSE)
def modal_points_and_jacobians(data, q, known, spots, index):
    """The places `index` [N, 3], and d places / dq [N, 3, k], from what `modal_nodes` found."""
    nodes, turns, moving, turning = known
    rotation, whirl, origin = root_or_world(data.first, q)
    k = moving.shape[2]
    out, inner, place = np.empty((len(index), 3, len(q))), np.empty((3, k)), np.empty(3)
    places = np.empty((len(index), 3))
    for i in range(len(index)):
        p = index[i]
        inner[:] = 0.0
        place[:] = 0.0
        for at in range(spots.begin[p], spots.begin[p + 1]):
            n, share, turn = spots.carrier[at], spots.share[at], turns[spots.carrier[at]]
            a, b, d = spots.arm[at, 0], spots.arm[at, 1], spots.arm[at, 2]
            x = turn[0, 0] * a + turn[0, 1] * b + turn[0, 2] * d
            y = turn[1, 0] * a + turn[1, 1] * b + turn[1, 2] * d
            z = turn[2, 0] * a + turn[2, 1] * b + turn[2, 2] * d
            place[0] += share * nodes[n, 0] + x
            place[1] += share * nodes[n, 1] + y
            place[2] += share * nodes[n, 2] + z
            for c in range(k):
                a, b, d = turning[n, 0, c], turning[n, 1, c], turning[n, 2, c]
                inner[0, c] += share * moving[n, 0, c] + b * z - d * y
                inner[1, c] += share * moving[n, 1, c] + d * x - a * z
                inner[2, c] += share * moving[n, 2, c] + a * y - b * x
        a, b, d = place[0], place[1], place[2]
        x = rotation[0, 0] * a + rotation[0, 1] * b + rotation[0, 2] * d
        y = rotation[1, 0] * a + rotation[1, 1] * b + rotation[1, 2] * d
        z = rotation[2, 0] * a + rotation[2, 1] * b + rotation[2, 2] * d
        places[i, 0], places[i, 1], places[i, 2] = x + origin[0], y + origin[1], z + origin[2]
        if data.first:
            write_root_transform(out[i], 1.0, x, y, z, inner, rotation, whirl)
        else:
            out[i] = inner
    return places, out


@numba.njit(cache=True, error_model="numpy", fastmath=LOOSE)
def modal_triangles(data, q, y, jacobian, spots, index):
    """The cached embedding, surface points and their Jacobians in one call."""
    known = modal_cached_embed(data, q, y, jacobian)
    places = modal_surface_points(data, q, known, spots)
    return known, places, modal_points_and_jacobians(data, q, known, spots, index)[1]
