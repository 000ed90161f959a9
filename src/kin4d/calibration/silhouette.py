"""A robot's outline in a video: where the model puts it, and where the image shows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kin4d.bodies.articulated_base import ArticulatedBodyBase
from kin4d.bodies.body import check_coordinates
from kin4d.errors import InputError
from kin4d.geometry.camera import Camera
from kin4d.render.rasterizer import Fragments, image_matrix, project_vertices, rasterize_projected
from kin4d.render.render_scene import RenderScene

# Grey levels per pixel below which a change along the search line is noise, not an edge.
_EDGE = 12.0
# Grey levels by which a pixel differs between two frames when something moved there.
_CHANGED = 24
_STEP = 0.5


@dataclass(frozen=True, eq=False, kw_only=True)
class Outline:
    """Points around the robot in one frame, M of them, one per pixel.

    Attributes:
        points: [M, 3] metres, world frame: where the lines of sight touch the robot.
        pixels: [M, 2] (u, v) on the boundary.
        outwards: [M, 2] unit vectors in the image, across the boundary.
    """

    points: np.ndarray
    pixels: np.ndarray
    outwards: np.ndarray


class SilhouetteVideo:
    """A video beside a robot whose motion is known, seen by any camera.

    Args:
        body: The robot.
        q: [T, k] its coordinates in each frame.
        frames: [T, H, W, 3] uint8.
    """

    def __init__(self, body: ArticulatedBodyBase, q: np.ndarray, frames: np.ndarray) -> None:
        import torch

        frames = np.asarray(frames)
        coordinates = check_coordinates(body, q).to(torch.float64)
        if frames.ndim != 4 or frames.shape[3] != 3 or frames.dtype != np.uint8:
            raise InputError(
                "video frames have the wrong form",
                value=(frames.shape, str(frames.dtype)),
                allowed="[T, H, W, 3] uint8",
            )
        if len(frames) != len(coordinates):
            raise InputError(
                "every frame needs the robot's coordinates",
                value=(len(frames), len(coordinates)),
                allowed="as many frames as rows of q",
            )
        self.frames = frames
        self._surface = RenderScene.of([body.rest], [body.skin])
        self._face_link = self._surface.joints[self._surface.faces[:, 0], 0]
        with torch.no_grad():
            self._transforms = body.skin_transforms(coordinates).numpy()

    def __len__(self) -> int:
        return len(self.frames)

    def rasterize(self, frame: int, camera: Camera) -> Fragments:
        """What `camera` sees of the robot in a frame."""
        surface = self._surface
        matrices = image_matrix(camera) @ self._transforms[frame]
        projected = project_vertices(surface.rest, surface.joints, surface.weights, matrices)
        return rasterize_projected(projected, surface.faces, camera)

    def links(self, frame: int, camera: Camera) -> np.ndarray:
        """[H, W] int32: index of the link that `camera` sees, -1 where there is none."""
        face = self.rasterize(frame, camera).face
        return np.where(face < 0, -1, self._face_link[face])

    def mask(self, frame: int, camera: Camera) -> np.ndarray:
        """[H, W] bool: where `camera` sees the robot."""
        return self.rasterize(frame, camera).face >= 0

    def outline(self, frame: int, camera: Camera) -> Outline:
        """The robot's outline in a frame, away from the image's border."""
        from scipy.ndimage import gaussian_filter

        fragments = self.rasterize(frame, camera)
        mask = fragments.face >= 0
        around = np.pad(mask, 1, mode="edge")
        inner = around[:-2, 1:-1] & around[2:, 1:-1] & around[1:-1, :-2] & around[1:-1, 2:]
        v, u = np.nonzero(mask & ~inner)
        soft = np.asarray(gaussian_filter(mask.astype(np.float64), 2.0))
        inwards = np.stack([np.gradient(soft, axis=axis)[v, u] for axis in (1, 0)], axis=1)
        length = np.linalg.norm(inwards, axis=1)
        clear = length > 1e-3
        u, v, outwards = u[clear], v[clear], -inwards[clear] / length[clear, None]
        return Outline(
            points=camera.to_world(fragments.xyz[v, u].astype(np.float64)),
            # The boundary is between the last pixel inside and the first outside.
            pixels=np.stack([u, v], axis=1) + 0.5 * outwards,
            outwards=outwards,
        )

    def edges(self, frame: int, outline: Outline, reach: float) -> np.ndarray:
        """[M] pixels outwards from the outline to the image's clearest edge; NaN if none.

        Args:
            frame: Index.
            outline: Where to look from.
            reach: How far to look, in pixels, inwards and outwards; nearer edges are preferred.
        """
        from scipy.ndimage import gaussian_filter, map_coordinates

        image = gaussian_filter(self.frames[frame].astype(np.float32), (0.8, 0.8, 0))
        along = np.arange(-reach - _STEP, reach + 1.5 * _STEP, _STEP)
        positions = outline.pixels[:, None] + along[:, None] * outline.outwards[:, None]
        where = [positions[..., 1], positions[..., 0]]
        colors = [map_coordinates(image[..., c], where, order=1, mode="nearest") for c in range(3)]
        colors = np.stack(colors, axis=-1)
        change = np.linalg.norm(colors[:, 2:] - colors[:, :-2], axis=-1) / (2 * _STEP)
        offset = along[1:-1]
        best = (change * np.exp(-((offset / reach) ** 2))).argmax(1).clip(1, len(offset) - 2)
        rows = np.arange(len(best))
        before, peak, after = (change[rows, best + step] for step in (-1, 0, 1))
        bend = np.maximum(2 * peak - before - after, 1e-9)
        exact = offset[best] + _STEP * np.clip((after - before) / (2 * bend), -0.5, 0.5)
        return np.where(peak > _EDGE, exact, np.nan)

    def edge_distances(self, frames: Sequence[int], camera: Camera, *, reach: float) -> np.ndarray:
        """[F] mean distance (px) from outline to edge in each frame, at most `reach`."""
        means = []
        for frame in frames:
            offset = self.edges(frame, self.outline(frame, camera), reach)
            distance = np.where(np.isnan(offset), reach, np.abs(offset))
            means.append(distance.mean() if len(distance) else reach)
        return np.array(means)

    def motion_overlap(
        self, pairs: Sequence[tuple[int, int]], camera: Camera, *, band: int
    ) -> float:
        """Intersection over union of where the robot comes or goes and where images differ.

        Between two frames the image must change where exactly one of them shows the robot, and
        stay where neither does. Where both show it, there is no constraint.

        Args:
            pairs: Frames to compare.
            camera: The view.
            band: How many pixels around the first region the second is looked at.
        """
        from scipy.ndimage import binary_dilation

        both = either = 0
        for first, second in pairs:
            one, other = self.mask(first, camera), self.mask(second, camera)
            expected = one ^ other
            nearby = np.asarray(binary_dilation(expected, iterations=band), bool)
            watched = nearby & ~(one & other)
            apart = self.frames[first].astype(np.int16) - self.frames[second]
            seen = (np.abs(apart).max(-1) > _CHANGED) & watched
            both += int((seen & expected).sum())
            either += int((seen | expected).sum())
        return both / either if either else 0.0
