"""Rivals of our rasteriser, as small as they can fairly be: the same pixels on other engines.

Each takes a `PointmapCase` and returns ``render(frame) -> (face, depth)`` of [H, W] arrays: the
face seen (-1 for none) and its depth in metres. What does not change between frames is prepared.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from kin4d.benchmarks.robot.pointmap_task import PointmapCase
from kin4d.extras import require
from kin4d.render.rasterizer import NEAR, image_matrix, project_vertices, rasterize_projected

Render = Callable[[int], tuple[np.ndarray, np.ndarray]]


def ours(task: PointmapCase, *, cull: bool = False) -> Render:
    """The library's own: place, then draw. One thread, because frames run side by side."""
    surface, camera = task.surface, task.camera

    def render(frame: int) -> tuple[np.ndarray, np.ndarray]:
        matrices = image_matrix(camera) @ task.transforms[frame]
        projected = project_vertices(surface.rest, surface.joints, surface.weights, matrices)
        seen = rasterize_projected(projected, surface.faces, camera, cull=cull, threads=1)
        return seen.face, seen.xyz[..., 2]

    return render


def embree(task: PointmapCase, *, rebuild: bool = True) -> Render:
    """Rays through the pixel centres. The robot moves, so its tree of boxes is built per frame.

    With ``rebuild=False`` the tree of the last frame drawn is kept: the cost of the rays alone.
    """
    require("embreex", extra="bench", purpose="casting rays with Embree")
    from embreex.mesh_construction import TriangleMesh
    from embreex.rtcore_scene import EmbreeScene

    camera = task.camera
    rays = (camera.rays() @ camera.pose[:3, :3].T).reshape(-1, 3).astype(np.float32)
    origins = np.tile(camera.pose[:3, 3].astype(np.float32), (len(rays), 1))
    size = (camera.height, camera.width)
    triangles = {
        frame: task.vertices[frame][task.surface.faces].astype(np.float32)
        for frame in range(len(task.q) if rebuild else 1)
    }
    kept: list[Any] = []

    def render(frame: int) -> tuple[np.ndarray, np.ndarray]:
        if rebuild or not kept:
            kept[:] = [EmbreeScene()]
            TriangleMesh(kept[0], triangles[frame if rebuild else 0])
        hit = kept[0].run(origins, rays, output=1)
        face = hit["primID"].reshape(size)
        return face, np.where(face >= 0, hit["tfar"].reshape(size), np.nan)

    return render


def torch_scatter(task: PointmapCase) -> Render:
    """Every (face, pixel of its box) pair as one row of tensors, then a scattered minimum."""
    import torch

    camera, faces = task.camera, torch.from_numpy(task.surface.faces).long()
    width, height = camera.width, camera.height
    matrix = torch.from_numpy(image_matrix(camera))
    vertices = torch.from_numpy(task.vertices)

    def render(frame: int) -> tuple[np.ndarray, np.ndarray]:
        image = vertices[frame] @ matrix[:, :3].T + matrix[:, 3]
        pixel, depth = image[:, :2] / image[:, 2:], image[:, 2]
        corners, z = pixel[faces], depth[faces]
        low = corners.amin(1).ceil().clamp(min=0).long()
        high = corners.amax(1).floor().long()
        high = torch.minimum(high, torch.tensor([width - 1, height - 1]))
        extent = (high - low + 1).clamp(min=0) * (z.amin(1, keepdim=True) > NEAR)
        count = extent.prod(1)
        row = torch.repeat_interleave(torch.arange(len(faces)), count)
        index = torch.arange(len(row)) - torch.repeat_interleave(count.cumsum(0) - count, count)
        span = extent[row, 0]
        x, y = low[row, 0] + index % span, low[row, 1] + index // span
        a, b, c = corners[row].unbind(1)
        point = torch.stack([x, y], -1).double()

        def area(p, q, r):
            return (q[:, 0] - p[:, 0]) * (r[:, 1] - p[:, 1]) - (q[:, 1] - p[:, 1]) * (
                r[:, 0] - p[:, 0]
            )

        total = area(a, b, c)
        weights = torch.stack([area(b, c, point), area(c, a, point), area(a, b, point)], -1)
        weights = weights / total[:, None]
        inside = (weights >= 0).all(-1)
        inverse = (weights[inside] / z[row[inside]]).sum(-1)
        target, owner = (y * width + x)[inside], row[inside]
        nearest = torch.zeros(height * width, dtype=torch.float64)
        nearest.scatter_reduce_(0, target, inverse, "amax")
        face = torch.full((height * width,), -1)
        won = inverse == nearest[target]
        face[target[won]] = owner[won]
        size = (height, width)
        far = torch.where(nearest > 0, 1 / nearest, torch.nan)
        return face.reshape(size).numpy(), far.reshape(size).numpy()

    return render


def warp_zbuffer(task: PointmapCase) -> Render:
    """A z-buffer as a warp kernel, one logical thread per face, on warp's CPU device."""
    wp = require("warp", extra="bench", purpose="drawing with warp")
    # Its banner would mix with what the benchmark prints; older versions know `quiet` alone.
    wp.config.quiet, wp.config.log_level = True, 40
    wp.init()
    kernel = _warp_kernel(wp)
    camera, faces = task.camera, wp.array(task.surface.faces, dtype=wp.vec3i, device="cpu")
    size, matrix = (camera.height, camera.width), image_matrix(camera)

    def render(frame: int) -> tuple[np.ndarray, np.ndarray]:
        image = task.vertices[frame] @ matrix[:, :3].T + matrix[:, 3]
        projected = wp.array(image, dtype=wp.vec3d, device="cpu")
        depth = wp.full(size, float("inf"), dtype=wp.float32, device="cpu")
        face = wp.full(size, -1, dtype=wp.int32, device="cpu")
        wp.launch(kernel, len(faces), [projected, faces, depth, face], device="cpu")
        return face.numpy(), depth.numpy()

    return render


def _warp_kernel(wp):
    def rasterize(projected, faces, depth, face):
        f = wp.tid()
        a, b, c = projected[faces[f][0]], projected[faces[f][1]], projected[faces[f][2]]
        near = wp.float64(NEAR)
        if a[2] < near or b[2] < near or c[2] < near:
            return
        ax, ay, bx, by = a[0] / a[2], a[1] / a[2], b[0] / b[2], b[1] / b[2]
        cx, cy = c[0] / c[2], c[1] / c[2]
        x0 = wp.max(int(wp.ceil(wp.min(ax, wp.min(bx, cx)))), 0)
        x1 = wp.min(int(wp.floor(wp.max(ax, wp.max(bx, cx)))), depth.shape[1] - 1)
        y0 = wp.max(int(wp.ceil(wp.min(ay, wp.min(by, cy)))), 0)
        y1 = wp.min(int(wp.floor(wp.max(ay, wp.max(by, cy)))), depth.shape[0] - 1)
        total = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
        if total == wp.float64(0.0):
            return
        for y in range(y0, y1 + 1):
            v = wp.float64(y)
            for x in range(x0, x1 + 1):
                u = wp.float64(x)
                wa = ((cx - bx) * (v - by) - (cy - by) * (u - bx)) / total
                wb = ((ax - cx) * (v - cy) - (ay - cy) * (u - cx)) / total
                wc = wp.float64(1.0) - wa - wb
                if wa >= wp.float64(0.0) and wb >= wp.float64(0.0) and wc >= wp.float64(0.0):
                    z = wp.float32(wp.float64(1.0) / (wa / a[2] + wb / b[2] + wc / c[2]))
                    # On the CPU device the threads of a launch run one after another.
                    if z < depth[y, x]:
                        depth[y, x] = z
                        face[y, x] = f

    kinds = (
        wp.array(dtype=wp.vec3d),
        wp.array(dtype=wp.vec3i),
        wp.array2d(dtype=wp.float32),
        wp.array2d(dtype=wp.int32),
    )
    names = inspect.signature(rasterize).parameters
    rasterize.__annotations__ = dict(zip(names, kinds, strict=True))
    return wp.Kernel(rasterize)
