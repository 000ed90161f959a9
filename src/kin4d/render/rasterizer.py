"""A z-buffer on the CPU: which triangle each pixel sees first, and where (see `kernels`)."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from kin4d.geometry.camera import Camera
from kin4d.render import kernels
from kin4d.render.jit import thread_count

NEAR = 1e-3


@dataclass(frozen=True, eq=False, kw_only=True)
class Fragments:
    """What each pixel sees first.

    Attributes:
        face: [H, W] int32 index of the face; -1 where nothing is seen.
        xyz: [H, W, 3] float32 metres in the camera frame (OpenCV); NaN where nothing is seen.
        projected: The vertices that were drawn (see `project_vertices`).
        faces: [F, 3] int32, indices of them.
    """

    face: np.ndarray
    xyz: np.ndarray
    projected: np.ndarray = field(repr=False)
    faces: np.ndarray = field(repr=False)

    @cached_property
    def weights(self) -> np.ndarray:
        """[H, W, 3] float32 perspective-correct barycentric weights; zero where nothing is seen."""
        weights = np.zeros((*self.face.shape, 3), np.float32)
        kernels.corner_weights(self.projected, self.faces.view(np.uint32), self.face, weights)
        return weights


def rasterize(
    vertices: np.ndarray,
    faces: np.ndarray,
    camera: Camera,
    *,
    near: float = NEAR,
    cull: bool = False,
    threads: int | None = None,
) -> Fragments:
    """Draw triangles as seen through pixel centres.

    Args:
        vertices: [V, 3] metres, world frame, finite.
        faces: [F, 3] indices of vertices.
        camera: The view.
        near: Depth (m) below which nothing is drawn.
        cull: Leave out faces seen from behind, as OpenGL programs often do: a third faster, and
            the same image of closed surfaces that face outwards.
        threads: How many threads share the rows; all usable cores if None. The result does not
            depend on it.
    """
    vertices = np.ascontiguousarray(vertices, np.float64)
    joints = np.zeros((len(vertices), 1), np.int32)
    weights = np.ones((len(vertices), 1), np.float32)
    projected = project_vertices(vertices, joints, weights, image_matrix(camera)[None])
    faces = np.ascontiguousarray(faces, np.int32)
    return rasterize_projected(projected, faces, camera, near=near, cull=cull, threads=threads)


def image_matrix(camera: Camera) -> np.ndarray:
    """[3, 4] from world metres to homogeneous image coordinates."""
    return camera.K @ camera.world_to_camera[:3]


def project_vertices(
    rest: np.ndarray, joints: np.ndarray, weights: np.ndarray, matrices: np.ndarray
) -> np.ndarray:
    """Vertices where the joints carry them, in the image.

    Args:
        rest: [V, 3] float64 metres at rest.
        joints: [V, K] int32; `weights` [V, K] float32 sum to 1.
        matrices: [J, 3, 4] float64 from rest metres to homogeneous image coordinates.

    Returns:
        [6, V] float64: pixel u, v, inverse depth (infinite behind the camera), and homogeneous
        image coordinates u z, v z, z.
    """
    projected = np.empty((6, len(rest)))
    kernels.project_kernel(rest, joints, weights, np.ascontiguousarray(matrices), projected)
    return projected


def rasterize_projected(
    projected: np.ndarray,
    faces: np.ndarray,
    camera: Camera,
    *,
    near: float = NEAR,
    cull: bool = False,
    threads: int | None = None,
) -> Fragments:
    """Rasterize triangles (`faces` [F, 3] int32) of projected vertices."""
    face = np.empty((camera.height, camera.width), np.int32)
    xyz = np.empty((camera.height, camera.width, 3), np.float32)
    unproject, indices = np.linalg.inv(camera.K), faces.view(np.uint32)

    def band(top: int, bottom: int) -> None:
        kernels.rasterize_kernel(projected, indices, near, cull, top, face[top:bottom])
        kernels.unproject_kernel(
            projected, indices, unproject, top, face[top:bottom], xyz[top:bottom]
        )

    parallel_rows(band, camera.height, threads)
    return Fragments(face=face, xyz=xyz, projected=projected, faces=faces)


def coverage(
    projected: np.ndarray, faces: np.ndarray, camera: Camera, *, near: float = NEAR
) -> np.ndarray:
    """[H, W] bool: pixels that any of the triangles covers."""
    face = np.empty((camera.height, camera.width), np.int32)
    kernels.rasterize_kernel(projected, faces.view(np.uint32), near, False, 0, face)
    return face >= 0


def parallel_rows(job: Callable[[int, int], None], rows: int, threads: int | None) -> None:
    """Call ``job(top, bottom)`` for bands of `rows`, one per thread."""
    count = min(thread_count(threads), rows)
    if count == 1:
        job(0, rows)
        return
    edges = np.linspace(0, rows, count + 1).astype(int).tolist()
    with ThreadPoolExecutor(count) as pool:
        for _ in pool.map(job, edges[:-1], edges[1:]):
            pass
