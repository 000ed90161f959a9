"""Impulses that satisfy all contacts at once: projected Gauss-Seidel with exact friction cones."""

from __future__ import annotations

import numba
import numpy as np

CONTACT, LIMIT, TARGET, MOTOR = 0, 1, 2, 3


@numba.njit(cache=True, error_model="numpy")
def solve_impulses(table, count, inverses, sweeps, tolerance):
    """Impulses (N s) of the first `count` rows, in their own frames, written in place.

    A contact has normal velocity >= target and impulse >= 0, one of them exactly, and friction that
    opposes sliding within Coulomb's cone. A limit is a contact without friction. A position target
    has all three velocities equal to it. A motor has one velocity equal to its target, as far as an
    impulse of at most `friction` achieves it. Frames are a normal and two tangents.

    Args:
        table: Constraints; its impulses are the first guess.
        count: How many of them.
        inverses: [K, K] inverse mass matrix.
        sweeps: Most sweeps over all constraints.
        tolerance: m/s of change at which to stop.

    Returns:
        [K] what the impulses add up to on the coordinates.
    """
    kind, rows, impulse = table.kind, table.jacobian[:count], table.impulse[:count]
    velocity, target, friction = table.velocity, table.target, table.friction
    n, _, k = rows.shape
    # Change of velocity of all coordinates per unit impulse.
    responses = (rows.reshape(3 * n, k) @ inverses).reshape(n, 3, k)
    moved = np.zeros(k)
    inertia = np.empty((n, 3, 3))
    for c in range(n):
        for a in range(3):
            for b in range(3):
                total = 0.0
                for i in range(k):
                    total += rows[c, a, i] * responses[c, b, i]
                inertia[c, a, b] = total
            for i in range(k):
                moved[i] += responses[c, a, i] * impulse[c, a]
    u, old = np.empty(3), np.empty(3)
    for _ in range(sweeps):
        worst = 0.0
        for c in range(n):
            last = 1 if kind[c] == LIMIT or kind[c] == MOTOR else 3
            for a in range(last):
                u[a] = velocity[c, a] - target[c, a]
                for i in range(k):
                    u[a] += rows[c, a, i] * moved[i]
                old[a] = impulse[c, a]
            if kind[c] == TARGET:
                for a in range(3):
                    weight = inertia[c, a, a]
                    if weight <= 1e-300:
                        continue
                    step = -u[a] / weight
                    impulse[c, a] += step
                    for b in range(3):
                        u[b] += inertia[c, b, a] * step
            elif kind[c] == MOTOR:
                wanted = old[0] - u[0] / inertia[c, 0, 0]
                impulse[c, 0] = min(max(wanted, -friction[c]), friction[c])
            elif inertia[c, 0, 0] > 1e-300:
                impulse[c, 0] = max(0.0, old[0] - u[0] / inertia[c, 0, 0])
                if last == 3:
                    step = impulse[c, 0] - old[0]
                    for a in range(1, 3):
                        u[a] += inertia[c, a, 0] * step
                    # One number for both tangents keeps the projection on the cone round.
                    weight = 0.5 * (inertia[c, 1, 1] + inertia[c, 2, 2]) + np.sqrt(
                        0.25 * (inertia[c, 1, 1] - inertia[c, 2, 2]) ** 2 + inertia[c, 1, 2] ** 2
                    )
                    if weight > 1e-300:
                        first = old[1] - u[1] / weight
                        second = old[2] - u[2] / weight
                        size = np.sqrt(first * first + second * second)
                        most = friction[c] * impulse[c, 0]
                        scale = most / size if size > most else 1.0
                        impulse[c, 1], impulse[c, 2] = scale * first, scale * second
            for a in range(last):
                step = impulse[c, a] - old[a]
                if step != 0.0:
                    worst = max(worst, abs(step) * inertia[c, a, a])
                    for i in range(k):
                        moved[i] += responses[c, a, i] * step
        if worst < tolerance:
            break
    return impulse.reshape(3 * n) @ rows.reshape(3 * n, k)


@numba.njit(cache=True, error_model="numpy")
def limit_margin(q, limits):
    """How far coordinates q [k] are from hard limits [k, 3], at least; negative beyond one."""
    least = np.inf
    for i in range(len(q)):
        least = min(least, q[i] - limits[i, 0], limits[i, 1] - q[i])
    return least


@numba.njit(cache=True, error_model="numpy")
def contact_frames(normals):
    """[N, 3, 3] right-handed frames whose first rows are the normals."""
    out = np.empty((len(normals), 3, 3))
    for c in range(len(normals)):
        x, y, z = normals[c, 0], normals[c, 1], normals[c, 2]
        # Duff et al., "Building an Orthonormal Basis, Revisited" (2017).
        sign = 1.0 if z >= 0 else -1.0
        a = -1.0 / (sign + z)
        b = x * y * a
        out[c, 0, 0], out[c, 0, 1], out[c, 0, 2] = x, y, z
        out[c, 1, 0], out[c, 1, 1], out[c, 1, 2] = 1.0 + sign * x * x * a, sign * b, -sign * x
        out[c, 2, 0], out[c, 2, 1], out[c, 2, 2] = b, sign + y * y * a, -y
    return out
