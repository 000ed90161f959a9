"""The inner loops of the rasteriser.

A vertex is kept as pixel u, v and inverse depth w, and in homogeneous image coordinates
K @ (x, y, z). In the latter the line through two vertices is their cross product, whatever side of
the camera they are on, so a triangle that crosses the near plane need not be cut: it is clipped per
pixel, exactly (Olano and Greer, "Triangle scan conversion using 2D homogeneous coordinates", 1997).

Faces are unsigned: numba then leaves out the test for indices that count from the end.

The two triangles at a shared edge compute its line from the same numbers with opposite sign, bit
for bit, and a pixel centre on it goes to the one on its right: covered once, neither doubled nor
missed.
"""

from __future__ import annotations

import numpy as np

from kin4d.render.jit import jit

U, V, W, X, Y, Z = range(6)  # rows of the placed vertices


@jit
def project_kernel(rest, joints, weights, matrices, projected):
    """Carry vertices by their joints into the image; see `rasterizer.place`."""
    for v in range(len(rest)):
        x, y, z = rest[v, 0], rest[v, 1], rest[v, 2]
        for row in range(3):
            total = 0.0
            for k in range(joints.shape[1]):
                j = joints[v, k]
                moved = matrices[j, row, 0] * x + matrices[j, row, 1] * y + matrices[j, row, 2] * z
                total += weights[v, k] * (moved + matrices[j, row, 3])
            projected[X + row, v] = total
        w = 1.0 / projected[Z, v] if projected[Z, v] > 0.0 else np.inf
        projected[U, v], projected[V, v], projected[W, v] = (
            projected[X, v] * w,
            projected[Y, v] * w,
            w,
        )


@jit
def rasterize_kernel(projected, faces, near, cull, top, face_out):
    """Fill `face_out` [rows, width] (image rows from `top` on) with the nearest face, or -1.

    With `cull`, faces seen from behind are left out.
    """
    height, width = face_out.shape
    w_near = 1.0 / near
    # Inverse depth is linear in the image: compared without a division, 0 is infinitely far.
    nearest = np.zeros((height, width), np.float32)
    face_out[:] = -1
    candidates = np.empty(len(faces), np.uint32)
    count = _candidates(projected, faces, w_near, cull, top, height, width, candidates)
    for f in candidates[:count]:
        i, j, k = faces[f, 0], faces[f, 1], faces[f, 2]
        w_min = min(min(projected[W, i], projected[W, j]), projected[W, k])
        w_max = max(max(projected[W, i], projected[W, j]), projected[W, k])
        crossing = w_max > w_near
        if crossing:
            left, right, upper, lower = _clipped_box(projected, i, j, k, near)
        else:
            left, right, upper, lower = _box(projected, i, j, k)
        x0, x1, y0, y1 = _pixels(left, right, upper, lower, top, height, width)
        if not (x0 <= x1 and y0 <= y1):
            continue
        if crossing:
            side, wx, wy, wz = _inverse_depth_anywhere(projected, i, j, k)
            w_max, w_clip = w_near, w_near
        else:
            side, wx, wy, wz = _inverse_depth(projected, i, j, k)
            w_clip = np.inf
        if side == 0.0 or (cull and side > 0.0):
            continue
        # With this sign the inside of every edge is positive, whichever side of the face is seen.
        sign = 1.0 if side > 0.0 else -1.0
        ax, ay, aw, au, av = _edge(projected, j, k, w_near, sign)
        bx, by, bw, bu, bv = _edge(projected, k, i, w_near, sign)
        cx, cy, cw, cu, cv = _edge(projected, i, j, w_near, sign)
        edge_a, edge_b, edge_c = _threshold(ax, ay), _threshold(bx, by), _threshold(cx, cy)
        for y in range(int(y0), int(y1) + 1):
            ra, rb, rc = ay * (y - av) + aw, by * (y - bv) + bw, cy * (y - cv) + cw
            start, stop = x0, x1
            if x1 - x0 > 8.0:
                start, stop = _narrow(ax, au, ra, start, stop)
                start, stop = _narrow(bx, bu, rb, start, stop)
                start, stop = _narrow(cx, cu, rc, start, stop)
            rw = wy * y + wz
            for x in range(int(start), int(stop) + 1):
                w = wx * x + rw
                # One branch, not seven: most triangles are a pixel or two and guess wrongly.
                if (
                    (ax * (x - au) + ra > edge_a)
                    & (bx * (x - bu) + rb > edge_b)
                    & (cx * (x - cu) + rc > edge_c)
                    & (w <= w_clip)
                ):
                    # Slivers seen edge-on lose digits: their depth stays that of their corners.
                    w = np.float32(min(max(w, w_min), w_max))
                    if w > nearest[y - top, x]:
                        nearest[y - top, x] = w
                        face_out[y - top, x] = f


@jit
def unproject_kernel(projected, faces, unproject, top, face, xyz):
    """Camera-frame points `xyz` [rows, width, 3] of covered pixels; NaN elsewhere.

    `unproject` [3, 3] is the inverse of the camera's K.
    """
    for row in range(face.shape[0]):
        y = float(top + row)
        for column in range(face.shape[1]):
            f = face[row, column]
            if f < 0:
                for axis in range(3):
                    xyz[row, column, axis] = np.nan
                continue
            x = float(column)
            i, j, k = faces[f, 0], faces[f, 1], faces[f, 2]
            _, wx, wy, wz = _inverse_depth_anywhere(projected, i, j, k)
            z_min = min(projected[Z, i], projected[Z, j], projected[Z, k])
            z_max = max(projected[Z, i], projected[Z, j], projected[Z, k])
            z = min(max(1.0 / (wx * x + (wy * y + wz)), z_min), z_max)
            for axis in range(3):
                ray = unproject[axis, 0] * x + unproject[axis, 1] * y + unproject[axis, 2]
                xyz[row, column, axis] = z * ray


@jit
def corner_weights(projected, faces, face, weights):
    """Barycentric weights on the surface, for all covered pixels of a whole image."""
    for row in range(face.shape[0]):
        for column in range(face.shape[1]):
            f = face[row, column]
            if f >= 0:
                i, j, k = faces[f, 0], faces[f, 1], faces[f, 2]
                ax, ay, az = _line(projected, j, k)
                bx, by, bz = _line(projected, k, i)
                cx, cy, cz = _line(projected, i, j)
                a = ax * column + (ay * row + az)
                b = bx * column + (by * row + bz)
                c = cx * column + (cy * row + cz)
                total = a + b + c
                weights[row, column, 0] = a / total
                weights[row, column, 1] = b / total
                weights[row, column, 2] = c / total


@jit
def _line(projected, a, b):
    """The image line through vertices a and b, in homogeneous coordinates."""
    return (
        projected[Y, a] * projected[Z, b] - projected[Z, a] * projected[Y, b],
        projected[Z, a] * projected[X, b] - projected[X, a] * projected[Z, b],
        projected[X, a] * projected[Y, b] - projected[Y, a] * projected[X, b],
    )


@jit
def _inverse_depth(projected, i, j, k):
    """Twice the signed area in the image, and 1/z as coefficients of pixel x, y and 1."""
    u, v, w = projected[U, i], projected[V, i], projected[W, i]
    ux, uy, uw = projected[U, j] - u, projected[V, j] - v, projected[W, j] - w
    vx, vy, vw = projected[U, k] - u, projected[V, k] - v, projected[W, k] - w
    area = ux * vy - uy * vx
    inverse = 1.0 / area
    wx, wy = (uw * vy - uy * vw) * inverse, (ux * vw - uw * vx) * inverse
    return area, wx, wy, w - wx * u - wy * v


@jit
def _inverse_depth_anywhere(projected, i, j, k):
    """The same for any triangle: the volume it spans with the camera has the sign of the area."""
    ax, ay, az = _line(projected, j, k)
    bx, by, bz = _line(projected, k, i)
    cx, cy, cz = _line(projected, i, j)
    volume = ax * projected[X, i] + ay * projected[Y, i] + az * projected[Z, i]
    inverse = 1.0 / volume
    return volume, (ax + bx + cx) * inverse, (ay + by + cy) * inverse, (az + bz + cz) * inverse


@jit
def _edge(projected, a, b, w_near, sign):
    """The line through two vertices as gx, gy, c, u, v of gx * (x - u) + gy * (y - v) + c.

    Both triangles at an edge get the same numbers with opposite gx, gy and c. For an edge in front
    of the camera the line starts from one of its ends, the same one from either side, so that it is
    exactly zero at both ends: a pixel centre on a vertex goes to one triangle around it.
    """
    if projected[W, a] > w_near or projected[W, b] > w_near:
        gx, gy, c = _line(projected, a, b)
        return sign * gx, sign * gy, sign * c, 0.0, 0.0
    first = (projected[U, a] < projected[U, b]) | (
        (projected[U, a] == projected[U, b]) & (projected[V, a] < projected[V, b])
    )
    u, v = projected[U, a if first else b], projected[V, a if first else b]
    gx, gy = projected[V, a] - projected[V, b], projected[U, b] - projected[U, a]
    return sign * gx, sign * gy, 0.0, u, v


@jit
def _threshold(x, y):
    """What an edge function must exceed: zero counts as inside for a triangle right of its edge."""
    return -1e-300 if x > 0.0 or (x == 0.0 and y > 0.0) else 0.0


@jit
def _narrow(slope, u, offset, start, stop):
    """Where in a row ``slope * (x - u) + offset`` may be positive, a pixel wider to be safe."""
    if slope > 0.0:
        start = min(max(start, np.floor(u - offset / slope) - 1.0), stop + 1.0)
    elif slope < 0.0:
        stop = max(min(stop, np.ceil(u - offset / slope) + 1.0), start - 1.0)
    return start, stop


@jit
def _candidates(projected, faces, w_near, cull, top, height, width, out):
    """Collect the faces that may cover a pixel; returns how many there are.

    A separate pass without branches: half of the faces of a fine mesh miss all pixel centres, and
    a processor guesses wrongly which.
    """
    count = 0
    for f in range(len(faces)):
        i, j, k = faces[f, 0], faces[f, 1], faces[f, 2]
        w_min = min(min(projected[W, i], projected[W, j]), projected[W, k])
        w_max = max(max(projected[W, i], projected[W, j]), projected[W, k])
        left, right, upper, lower = _box(projected, i, j, k)
        x0, x1, y0, y1 = _pixels(left, right, upper, lower, top, height, width)
        ux, uy = projected[U, j] - projected[U, i], projected[V, j] - projected[V, i]
        vx, vy = projected[U, k] - projected[U, i], projected[V, k] - projected[V, i]
        seen = (x0 <= x1) & (y0 <= y1) & ((ux * vy < uy * vx) | (not cull))
        out[count] = f
        count += (w_min <= w_near) & ((w_max > w_near) | seen)
    return count


@jit
def _box(projected, i, j, k):
    """Image box of a triangle in front of the camera."""
    return (
        min(min(projected[U, i], projected[U, j]), projected[U, k]),
        max(max(projected[U, i], projected[U, j]), projected[U, k]),
        min(min(projected[V, i], projected[V, j]), projected[V, k]),
        max(max(projected[V, i], projected[V, j]), projected[V, k]),
    )


@jit
def _pixels(left, right, upper, lower, top, height, width):
    """Pixel centres in a box, which only bounds the search: widened past rounding, edges decide."""
    return (
        max(np.ceil(left - 1e-6), 0.0),
        min(np.floor(right + 1e-6), width - 1.0),
        max(np.ceil(upper - 1e-6), float(top)),
        min(np.floor(lower + 1e-6), top + height - 1.0),
    )


@jit
def _clipped_box(projected, i, j, k, near):
    """Image box of the part of a triangle beyond the near plane."""
    left, right, upper, lower = np.inf, -np.inf, np.inf, -np.inf
    for a, b in ((i, j), (j, k), (k, i)):
        z_a, z_b = projected[Z, a], projected[Z, b]
        if z_a >= near:
            left, right = min(left, projected[U, a]), max(right, projected[U, a])
            upper, lower = min(upper, projected[V, a]), max(lower, projected[V, a])
        if (z_a >= near) != (z_b >= near):
            t = (near - z_a) / (z_b - z_a)
            u = (projected[X, a] + t * (projected[X, b] - projected[X, a])) / near
            v = (projected[Y, a] + t * (projected[Y, b] - projected[Y, a])) / near
            left, right, upper, lower = min(left, u), max(right, u), min(upper, v), max(lower, v)
    return left, right, upper, lower
