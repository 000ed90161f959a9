"""Renderer: one camera, one set of meshes, prepared once and then drawn frame by frame."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kin4d.errors import InputError
from kin4d.geometry.camera import Camera
from kin4d.render.background import Background, BackgroundLike, FloorPlane
from kin4d.render.rasterizer import (
    NEAR,
    Fragments,
    coverage,
    image_matrix,
    project_vertices,
    rasterize_projected,
)
from kin4d.render.render_scene import RenderScene, group_normals
from kin4d.render.shading import Lights, interpolate_normals, shade, to_srgb

_SHADOW = 0.45


@dataclass(frozen=True, eq=False, kw_only=True)
class RenderedFrame:
    """One image and its geometry.

    Attributes:
        rgb: [H, W, 3] uint8 sRGB.
        xyz: [H, W, 3] float32 metres in the camera frame (OpenCV); NaN where nothing is seen.
        mask: [H, W] uint8: 0 for background, then one id per mesh, starting with 1.
        normals: [H, W, 3] float32 unit normals in the camera frame, towards the camera; NaN where
            nothing is seen.
    """

    rgb: np.ndarray
    xyz: np.ndarray
    mask: np.ndarray
    normals: np.ndarray


class Renderer:
    """Draws a `RenderScene` in any pose. It holds no state that drawing changes.

    Args:
        surface: What is drawn.
        camera: The view.
        background: See `Background.paint`; or a function that paints a backdrop for a camera.
        floor: A floor with soft shadows, or None.
        up: World direction of the sky.
        near: Depth (m) below which nothing is drawn.
        cull: Leave out faces seen from behind; see `rasterize`.
        antialias: Colour is averaged over this many samples along each side of a pixel.
            Geometry is always that of the pixel's centre.
        lights: Where light comes from; `Lights.studio` if None.
    """

    def __init__(
        self,
        surface: RenderScene,
        camera: Camera,
        *,
        background: BackgroundLike | Callable[[Camera], Background] = "studio",
        floor: FloorPlane | None = None,
        up: np.ndarray | tuple[float, float, float] = (0.0, 0.0, 1.0),
        near: float = NEAR,
        cull: bool = False,
        antialias: int = 1,
        lights: Lights | None = None,
    ) -> None:
        if not (np.isfinite(near) and near > 0):
            raise InputError("near plane is not in front of the camera", value=near, allowed="> 0")
        if antialias < 1:
            raise InputError("antialias must be at least 1", value=antialias)
        self.surface, self.camera, self.near, self.cull = surface, camera, near, cull
        self._floor, self._lights = floor, lights or Lights.studio(camera, up=up)
        self._finer = None
        if antialias > 1:
            if isinstance(background, np.ndarray) and background.ndim == 3:
                background = background.repeat(antialias, 0).repeat(antialias, 1)
            size = camera.width * antialias, camera.height * antialias
            self._finer = Renderer(
                surface,
                camera.resized(*size),
                background=background,
                floor=floor,
                up=up,
                near=near,
                cull=cull,
                lights=lights,
            )
            return
        painted = callable(background)
        self._backdrop = (
            background(camera) if painted else Background.paint(camera, background, floor)
        )
        self._plain = to_srgb(self._backdrop.image)

    def draw(
        self,
        transforms: np.ndarray,
        vertices: np.ndarray | None = None,
        *,
        threads: int | None = None,
    ) -> RenderedFrame:
        """Draw one pose.

        Args:
            transforms: [J, 4, 4] motions of the surface's joints from rest, world frame.
            vertices: [V, 3] metres: replaces the surface's rest vertices, where some deform.
            threads: How many threads share the rows; all usable cores if None.
        """
        surface, camera = self.surface, self.camera
        rest = surface.rest if vertices is None else np.ascontiguousarray(vertices, np.float64)
        to_image = image_matrix(camera)
        projected = project_vertices(rest, surface.joints, surface.weights, to_image @ transforms)
        fragments = rasterize_projected(
            projected, surface.faces, camera, near=self.near, cull=self.cull, threads=threads
        )
        mask = np.where(fragments.face < 0, np.uint8(0), surface.face_body[fragments.face])
        normals = self._normals(fragments, transforms, threads)
        if self._finer is None:
            background = self._background(rest, transforms)
            lights = self._lights.in_camera(camera)
            rgb = shade(surface, fragments, normals, lights, background, threads=threads)
        else:
            rgb = _averaged(self._finer.draw(transforms, vertices, threads=threads).rgb, mask.shape)
        return RenderedFrame(rgb=rgb, xyz=fragments.xyz, mask=mask, normals=normals)

    def _normals(
        self, fragments: Fragments, transforms: np.ndarray, threads: int | None
    ) -> np.ndarray:
        surface, camera = self.surface, self.camera
        if surface.rigid:
            normals, rotation_index = surface.group_normal, surface.group_joint
            rotations = camera.world_to_camera[:3, :3] @ transforms[:, :3, :3]
        else:
            local = np.ascontiguousarray((np.linalg.inv(camera.K) @ fragments.projected[3:]).T)
            normals = group_normals(local, surface.faces, surface.corner_group)
            rotation_index, rotations = np.zeros(len(normals), np.int32), np.eye(3)[None]
        return interpolate_normals(
            surface,
            fragments,
            normals=normals,
            rotation_index=rotation_index,
            rotations=rotations,
            threads=threads,
        )

    def _background(self, rest: np.ndarray, transforms: np.ndarray) -> np.ndarray:
        """[H, W, 3] uint8: the backdrop, with the shadow that this pose casts on the floor."""
        backdrop, floor = self._backdrop, self._floor
        if floor is None or backdrop.floor is None:
            return self._plain
        from scipy.ndimage import gaussian_filter

        surface = self.surface
        flattened = image_matrix(self.camera) @ floor.shadow_matrix(self._lights) @ transforms
        projected = project_vertices(rest, surface.joints, surface.weights, flattened)
        hard = coverage(projected, surface.faces, self.camera, near=self.near)
        soft = gaussian_filter(hard.astype(np.float32), self.camera.height / 90)
        shadow = _SHADOW * soft * backdrop.floor
        where = shadow > 1e-3
        image = self._plain.copy()
        image[where] = to_srgb(backdrop.image[where] * (1 - shadow[where])[:, None])
        return image


def _averaged(rgb: np.ndarray, size: tuple[int, ...]) -> np.ndarray:
    """Mean of square blocks: [n H, n W, 3] to [H, W, 3] uint8."""
    step = rgb.shape[0] // size[0]
    total = np.zeros((size[0], size[1], 3), np.uint16)
    for row in range(step):
        for column in range(step):
            total += rgb[row::step, column::step]
    return np.round(total / np.float32(step * step)).astype(np.uint8)
