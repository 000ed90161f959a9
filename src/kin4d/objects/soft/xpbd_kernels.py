"""The loops of the soft solver, compiled; see `kin4d.objects.soft.xpbd`."""

from __future__ import annotations

import numpy as np

from kin4d.render.jit import jit


@jit
def advance(
    nodes, speeds, inverse, forces, gravity, pins, held, step, count, damping,
    stencils, weights, rests, compliances,
    solids, rest_edges, volumes, shear, bulk,
    touching, touch_shares, margin, friction, obstacles,
):  # fmt: skip
    """Move nodes [N, 3] and their speeds by `count` small steps of `step` s, in place."""
    before = np.empty_like(nodes)
    start = nodes[pins].copy()
    # A pass leaves each constraint with this share of its speed undamped (Rayleigh's beta / h).
    drag = damping / step
    for small in range(count):
        for n in range(len(nodes)):
            for k in range(3):
                before[n, k] = nodes[n, k]
                if inverse[n] > 0:
                    speeds[n, k] += step * (gravity[k] + inverse[n] * forces[n, k])
                    nodes[n, k] += step * speeds[n, k]
        for p in range(len(pins)):
            for k in range(3):
                share = (small + 1) / count
                nodes[pins[p], k] = start[p, k] + share * (held[p, k] - start[p, k])
        stretch(nodes, before, inverse, step, drag, stencils, weights, rests, compliances)
        squeeze(nodes, before, inverse, step, drag, solids, rest_edges, volumes, shear, bulk)
        if len(obstacles) > 0:
            collide_nodes(
                nodes, before, inverse, touching, touch_shares, margin, friction, obstacles
            )
        for n in range(len(nodes)):
            for k in range(3):
                speeds[n, k] = (nodes[n, k] - before[n, k]) / step


@jit
def stretch(nodes, before, inverse, step, drag, stencils, weights, rests, compliances):
    """One pass over the constraints ``|sum_k c_k x_k| = rest``."""
    vector = np.empty(3)
    for c in range(len(stencils)):
        total = 0.0
        mobility = 0.0
        for k in range(3):
            vector[k] = 0.0
            for s in range(4):
                vector[k] += weights[c, s] * nodes[stencils[c, s], k]
            total += vector[k] * vector[k]
        for s in range(4):
            mobility += weights[c, s] * weights[c, s] * inverse[stencils[c, s]]
        length = np.sqrt(total)
        if length < 1e-9 or mobility == 0.0:
            continue
        rate = 0.0
        for k in range(3):
            vector[k] /= length
            for s in range(4):
                n = stencils[c, s]
                rate += weights[c, s] * vector[k] * (nodes[n, k] - before[n, k])
        softness = compliances[c] / (step * step)
        amount = -(length - rests[c] + drag * rate) / ((1 + drag) * mobility + softness)
        for s in range(4):
            n = stencils[c, s]
            for k in range(3):
                nodes[n, k] += amount * inverse[n] * weights[c, s] * vector[k]


@jit
def squeeze(nodes, before, inverse, step, drag, solids, rest_edges, volumes, shear, bulk):
    """One pass over tetrahedra: keep their shape (trace), then their volume (determinant)."""
    now = np.empty((3, 3))
    deformation = np.empty((3, 3))
    slope = np.empty((3, 3))
    gradient = np.empty((4, 3))
    for e in range(len(solids)):
        for kind in range(2):
            for i in range(3):
                for j in range(3):
                    now[i, j] = nodes[solids[e, j + 1], i] - nodes[solids[e, 0], i]
            for i in range(3):
                for j in range(3):
                    deformation[i, j] = 0.0
                    for k in range(3):
                        deformation[i, j] += now[i, k] * rest_edges[e, k, j]
            if kind == 0:
                value = 0.0
                for i in range(3):
                    for j in range(3):
                        value += deformation[i, j] * deformation[i, j]
                value = np.sqrt(value)
                for i in range(3):
                    for j in range(3):
                        slope[i, j] = deformation[i, j] / max(value, 1e-9)
                softness = 1 / (shear * volumes[e] * step * step)
            else:
                for j in range(3):
                    a, b = (j + 1) % 3, (j + 2) % 3
                    for i in range(3):
                        p, q = (i + 1) % 3, (i + 2) % 3
                        slope[i, j] = (
                            deformation[p, a] * deformation[q, b]
                            - deformation[q, a] * deformation[p, b]
                        )
                value = -1 - shear / bulk
                for i in range(3):
                    value += deformation[i, 0] * slope[i, 0]
                softness = 1 / (bulk * volumes[e] * step * step)
            mobility = 0.0
            rate = 0.0
            for i in range(3):
                gradient[0, i] = 0.0
                for s in range(3):
                    gradient[s + 1, i] = 0.0
                    for j in range(3):
                        gradient[s + 1, i] += slope[i, j] * rest_edges[e, s, j]
                    gradient[0, i] -= gradient[s + 1, i]
            for s in range(4):
                n = solids[e, s]
                for i in range(3):
                    mobility += inverse[n] * gradient[s, i] * gradient[s, i]
                    rate += gradient[s, i] * (nodes[n, i] - before[n, i])
            if mobility == 0.0:
                continue
            amount = -(value + drag * rate) / ((1 + drag) * mobility + softness)
            for s in range(4):
                n = solids[e, s]
                for i in range(3):
                    nodes[n, i] += amount * inverse[n] * gradient[s, i]


@jit
def collide_nodes(nodes, before, inverse, touching, shares, margin, friction, obstacles):
    """Put points that are inside an obstacle onto it, and let it rub."""
    point = np.empty(3)
    moved = np.empty(3)
    normal = np.empty(3)
    for t in range(len(touching)):
        mobility = 0.0
        for s in range(4):
            mobility += shares[t, s] * shares[t, s] * inverse[touching[t, s]]
        if mobility == 0.0:
            continue
        for o in range(len(obstacles)):
            for k in range(3):
                point[k] = -obstacles[o, 4 + k]
                moved[k] = 0.0
                for s in range(4):
                    n = touching[t, s]
                    point[k] += shares[t, s] * nodes[n, k]
                    moved[k] += shares[t, s] * (nodes[n, k] - before[n, k])
            depth = margin - obstacle_gap(point, obstacles[o], normal)
            if depth <= 0:
                continue
            along = 0.0
            for k in range(3):
                along += moved[k] * normal[k]
            slide = 0.0
            for k in range(3):
                moved[k] -= along * normal[k]
                slide += moved[k] * moved[k]
            slide = np.sqrt(slide)
            rub = min(1.0, friction * depth / slide) if slide > 1e-12 else 0.0
            for s in range(4):
                n = touching[t, s]
                scale = shares[t, s] * inverse[n] / mobility
                for k in range(3):
                    nodes[n, k] += scale * (depth * normal[k] - rub * moved[k])


@jit
def obstacle_gap(point, obstacle, normal):
    """Distance (m) of a point from an obstacle at the origin, negative inside; sets `normal`."""
    kind = int(obstacle[0])
    normal[:] = 0.0
    if kind == 0:
        normal[2] = 1.0
        return point[2]
    if kind == 1:
        length = max(np.sqrt(point[0] ** 2 + point[1] ** 2 + point[2] ** 2), 1e-9)
        for k in range(3):
            normal[k] = point[k] / length
        return length - obstacle[1]
    if kind == 3:
        # A cylinder is a box of two half sizes: across its axis and along it.
        across = max(np.sqrt(point[0] ** 2 + point[1] ** 2), 1e-9)
        side, top = across - obstacle[1], abs(point[2]) - obstacle[2]
        if side > 0 and top > 0:
            length = np.sqrt(side * side + top * top)
            normal[0], normal[1] = (
                side / length * point[0] / across,
                side / length * point[1] / across,
            )
            normal[2] = top / length * np.sign(point[2])
            return length
        if side > top:
            normal[0], normal[1] = point[0] / across, point[1] / across
            return side
        normal[2] = np.sign(point[2])
        return top
    outside = 0.0
    deepest = -1e30
    axis = 0
    for k in range(3):
        over = abs(point[k]) - obstacle[1 + k]
        if over > 0:
            outside += over * over
            normal[k] = over * np.sign(point[k])
        if over > deepest:
            deepest = over
            axis = k
    if outside > 0:
        length = np.sqrt(outside)
        for k in range(3):
            normal[k] /= length
        return length
    normal[axis] = np.sign(point[axis])
    return deepest
