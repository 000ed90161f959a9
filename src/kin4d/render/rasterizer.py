"""A z-buffer on the CPU: which triangle each pixel sees first, and where.

Vertices are kept in homogeneous image coordinates K @ (x, y, z): pixel times depth, and depth.
There the line through two vertices is their cross product, whatever side of the camera they are
on, so nothing needs to be cut: a triangle that crosses the near plane is clipped per pixel,
exactly (Olano and Greer, "Triangle scan conversion using 2D homogeneous coordinates", 1997).

The two triangles at a shared edge compute its line from the same numbers with opposite sign, bit
for bit, and a pixel centre on it goes to the one on its right: covered once, neither doubled nor
missed.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from kin4d.geometry.camera import Camera
from kin4d.render.compiled import compiled, thread_count

NEAR = 1e-3
_NOTHING = -1


@dataclass(frozen=True, eq=False, kw_only=True)
class Fragments:
    """What each pixel sees first.

    Attributes:
        face: [H, W] int32 index of the face; -1 where nothing is seen.
        weights: [H, W, 3] float32 perspective-correct barycentric weights of its corners.
        xyz: [H, W, 3] float32 metres in the camera frame (OpenCV); NaN where nothing is seen.
    """

    face: np.ndarray
    weights: np.ndarray
    xyz: np.ndarray


def rasterize(
    vertices: np.ndarray,
    faces: np.ndarray,
    camera: Camera,
    *,
    near: float = NEAR,
    threads: int | None = None,
) -> Fragments:
    """Draw triangles, both sides, as seen through pixel centres.

    Args:
        vertices: [V, 3] metres, world frame, finite.
        faces: [F, 3] indices of vertices.
        camera: The view.
        near: Depth (m) below which nothing is drawn.
        threads: How many threads share the rows; all usable cores if None. The result does not
            depend on it.
    """
    vertices = np.ascontiguousarray(vertices, np.float64)
    joints = np.zeros((len(vertices), 1), np.int32)
    weights = np.ones((len(vertices), 1), np.float32)
    placed = place(vertices, joints, weights, image_matrix(camera)[None])
    return draw(placed, np.asarray(faces, np.int32), camera, near=near, threads=threads)


def image_matrix(camera: Camera) -> np.ndarray:
    """[3, 4] from world metres to homogeneous image coordinates."""
    return camera.K @ camera.world_to_camera[:3]


def place(
    rest: np.ndarray, joints: np.ndarray, weights: np.ndarray, matrices: np.ndarray
) -> np.ndarray:
    """Vertices where the joints carry them, [V, 5]: homogeneous image coordinates, then pixels.

    Args:
        rest: [V, 3] float64 metres at rest.
        joints: [V, K] int32; `weights` [V, K] float32 sum to 1.
        matrices: [J, 3, 4] float64 from rest metres to homogeneous image coordinates.
    """
    placed = np.empty((len(rest), 5))
    _place(rest, joints, weights, np.ascontiguousarray(matrices), placed)
    return placed


def draw(
    placed: np.ndarray,
    faces: np.ndarray,
    camera: Camera,
    *,
    near: float = NEAR,
    threads: int | None = None,
) -> Fragments:
    """Draw triangles of vertices that are already in the image (see `place` and `rasterize`)."""
    height, width = camera.height, camera.width
    out = Fragments(
        face=np.empty((height, width), np.int32),
        weights=np.empty((height, width, 3), np.float32),
        xyz=np.empty((height, width, 3), np.float32),
    )
    unproject = np.linalg.inv(camera.K)

    def band(top: int, bottom: int) -> None:
        rows = slice(top, bottom)
        _draw(placed, faces, near, top, out.face[rows])
        _resolve(placed, faces, unproject, top, out.face[rows], out.weights[rows], out.xyz[rows])

    in_bands(band, height, threads)
    return out


def coverage(
    placed: np.ndarray, faces: np.ndarray, camera: Camera, *, near: float = NEAR
) -> np.ndarray:
    """[H, W] bool: pixels that any of the triangles covers."""
    face = np.empty((camera.height, camera.width), np.int32)
    _draw(placed, faces, near, 0, face)
    return face != _NOTHING


def in_bands(job: Callable[[int, int], None], rows: int, threads: int | None) -> None:
    """Call ``job(top, bottom)`` for bands of `rows`, one per thread."""
    count = thread_count(threads)
    edges = np.linspace(0, rows, min(count, rows) + 1).astype(int).tolist()
    if count == 1:
        job(0, rows)
        return
    with ThreadPoolExecutor(count) as pool:
        for _ in pool.map(job, edges[:-1], edges[1:]):
            pass


@compiled
def _place(rest, joints, weights, matrices, placed):
    for v in range(len(rest)):
        x, y, z = rest[v, 0], rest[v, 1], rest[v, 2]
        for row in range(3):
            total = 0.0
            for k in range(joints.shape[1]):
                m = matrices[joints[v, k], row]
                total += weights[v, k] * (m[0] * x + m[1] * y + m[2] * z + m[3])
            placed[v, row] = total
        placed[v, 3] = placed[v, 0] / placed[v, 2]
        placed[v, 4] = placed[v, 1] / placed[v, 2]


@compiled
def _draw(placed, faces, near, top, face_out):
    """Fill `face_out` [rows, W] (image rows from `top` on) with the nearest face of each pixel."""
    height, width = face_out.shape
    # Inverse depth is linear in the image: compared without a division, 0 is infinitely far.
    nearest = np.zeros((height, width), np.float32)
    face_out[:] = _NOTHING
    for f in range(len(faces)):
        i, j, k = faces[f, 0], faces[f, 1], faces[f, 2]
        z_min = min(placed[i, 2], placed[j, 2], placed[k, 2])
        z_max = max(placed[i, 2], placed[j, 2], placed[k, 2])
        if z_max < near:
            continue
        crossing = z_min < near
        if crossing:
            left, right, upper, lower = _clipped_box(placed, i, j, k, near)
        else:
            left = min(placed[i, 3], placed[j, 3], placed[k, 3])
            right = max(placed[i, 3], placed[j, 3], placed[k, 3])
            upper = min(placed[i, 4], placed[j, 4], placed[k, 4])
            lower = max(placed[i, 4], placed[j, 4], placed[k, 4])
        # The box only bounds the search: widened past its rounding, the edges decide.
        x0, x1 = max(np.ceil(left - 1e-6), 0.0), min(np.floor(right + 1e-6), width - 1.0)
        y0 = max(np.ceil(upper - 1e-6), float(top))
        y1 = min(np.floor(lower + 1e-6), top + height - 1.0)
        if not (x0 <= x1 and y0 <= y1):
            continue
        volume, wx, wy, wz = _inverse_depth(placed, i, j, k)
        if volume == 0.0:
            continue
        # With this sign the inside of every edge is positive, whichever side of the face is seen.
        sign = 1.0 if volume > 0.0 else -1.0
        ax, ay, aw, au, av = _edge(placed, j, k, near, sign)
        bx, by, bw, bu, bv = _edge(placed, k, i, near, sign)
        cx, cy, cw, cu, cv = _edge(placed, i, j, near, sign)
        edge_a, edge_b, edge_c = _threshold(ax, ay), _threshold(bx, by), _threshold(cx, cy)
        w_min, w_max = 1.0 / z_max, 1.0 / max(z_min, near)
        w_clip = w_max if crossing else np.inf
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


@compiled
def _resolve(placed, faces, unproject, top, face, weights, xyz):
    """Barycentric weights and camera-frame points of the pixels that `_draw` covered."""
    for row in range(face.shape[0]):
        y = float(top + row)
        for column in range(face.shape[1]):
            f = face[row, column]
            if f == _NOTHING:
                for axis in range(3):
                    weights[row, column, axis] = 0.0
                    xyz[row, column, axis] = np.nan
                continue
            x = float(column)
            i, j, k = faces[f, 0], faces[f, 1], faces[f, 2]
            ax, ay, az = _line(placed, j, k)
            bx, by, bz = _line(placed, k, i)
            cx, cy, cz = _line(placed, i, j)
            volume = ax * placed[i, 0] + ay * placed[i, 1] + az * placed[i, 2]
            ea = ax * x + (ay * y + az)
            eb = bx * x + (by * y + bz)
            ec = cx * x + (cy * y + cz)
            total = ea + eb + ec
            z_min = min(placed[i, 2], placed[j, 2], placed[k, 2])
            z_max = max(placed[i, 2], placed[j, 2], placed[k, 2])
            z = min(max(volume / total, z_min), z_max)
            weights[row, column, 0] = ea / total
            weights[row, column, 1] = eb / total
            weights[row, column, 2] = ec / total
            for axis in range(3):
                ray = unproject[axis, 0] * x + unproject[axis, 1] * y + unproject[axis, 2]
                xyz[row, column, axis] = z * ray


@compiled
def _line(placed, a, b):
    """The image line through vertices a and b, in homogeneous coordinates."""
    return (
        placed[a, 1] * placed[b, 2] - placed[a, 2] * placed[b, 1],
        placed[a, 2] * placed[b, 0] - placed[a, 0] * placed[b, 2],
        placed[a, 0] * placed[b, 1] - placed[a, 1] * placed[b, 0],
    )


@compiled
def _inverse_depth(placed, i, j, k):
    """Volume spanned by a triangle and the camera, and 1/z as coefficients of pixel x, y and 1."""
    ax, ay, az = _line(placed, j, k)
    bx, by, bz = _line(placed, k, i)
    cx, cy, cz = _line(placed, i, j)
    volume = ax * placed[i, 0] + ay * placed[i, 1] + az * placed[i, 2]
    return volume, (ax + bx + cx) / volume, (ay + by + cy) / volume, (az + bz + cz) / volume


@compiled
def _edge(placed, a, b, near, sign):
    """The line through two vertices as gx, gy, c, u, v of gx * (x - u) + gy * (y - v) + c.

    Both triangles at an edge get the same numbers with opposite gx, gy and c. For an edge in front
    of the camera the line starts from one of its ends, the same one from either side, so that it is
    exactly zero at both ends: a pixel centre on a vertex goes to one triangle around it.
    """
    if placed[a, 2] < near or placed[b, 2] < near:
        gx, gy, c = _line(placed, a, b)
        return sign * gx, sign * gy, sign * c, 0.0, 0.0
    first = placed[a, 3] < placed[b, 3] or (
        placed[a, 3] == placed[b, 3] and placed[a, 4] < placed[b, 4]
    )
    origin = a if first else b
    gx, gy = placed[a, 4] - placed[b, 4], placed[b, 3] - placed[a, 3]
    return sign * gx, sign * gy, 0.0, placed[origin, 3], placed[origin, 4]


@compiled
def _threshold(x, y):
    """What an edge function must exceed: zero counts as inside for a triangle right of its edge."""
    return -1e-300 if x > 0.0 or (x == 0.0 and y > 0.0) else 0.0


@compiled
def _narrow(slope, u, offset, start, stop):
    """Where in a row ``slope * (x - u) + offset`` may be positive, a pixel wider to be safe."""
    if slope > 0.0:
        start = min(max(start, np.floor(u - offset / slope) - 1.0), stop + 1.0)
    elif slope < 0.0:
        stop = max(min(stop, np.ceil(u - offset / slope) + 1.0), start - 1.0)
    return start, stop


@compiled
def _clipped_box(placed, i, j, k, near):
    """Image box of the part of a triangle beyond the near plane."""
    left, right, upper, lower = np.inf, -np.inf, np.inf, -np.inf
    for a, b in ((i, j), (j, k), (k, i)):
        z_a, z_b = placed[a, 2], placed[b, 2]
        if z_a >= near:
            left, right = min(left, placed[a, 3]), max(right, placed[a, 3])
            upper, lower = min(upper, placed[a, 4]), max(lower, placed[a, 4])
        if (z_a >= near) != (z_b >= near):
            t = (near - z_a) / (z_b - z_a)
            u = (placed[a, 0] + t * (placed[b, 0] - placed[a, 0])) / near
            v = (placed[a, 1] + t * (placed[b, 1] - placed[a, 1])) / near
            left, right, upper, lower = min(left, u), max(right, u), min(upper, v), max(lower, v)
    return left, right, upper, lower
