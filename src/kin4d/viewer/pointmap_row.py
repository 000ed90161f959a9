"""PointmapRow: pointmap videos side by side, as coloured points in metres and as images."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from kin4d.geometry.pointmap import PointmapVideo
from kin4d.geometry.pointmap_layout import beside_each_other, pixel_spacing, world_points
from kin4d.geometry.transforms import matrix_to_quaternion
from kin4d.viewer.page import Page

_MOST_POINTS = 60_000


class PointmapRow:
    """Clouds, their cameras and their images; each can be hidden.

    Args:
        page: Where.
        videos: By name, in one world; they are moved apart to the right of the first camera, to be
            seen beside each other.

    Attributes:
        videos: As given.
        frames: Of the longest.
        fps: Of the first.
        shown: A checkbox for each.
    """

    def __init__(self, page: Page, videos: Mapping[str, PointmapVideo]) -> None:
        self._page, self.videos = page, dict(videos)
        first = next(iter(self.videos.values()))
        self.frames, self.fps = max(len(video) for video in self.videos.values()), first.fps
        self._strides = {name: _stride(video) for name, video in self.videos.items()}
        shifts, box = beside_each_other(self.videos)
        page.floor(box)
        size = float(np.linalg.norm(np.ptp(box, axis=0)))
        self._clouds, self._frusta, self._images, self._labels = {}, {}, {}, {}
        self.shown: dict[str, Any] = {}
        self._shifts = dict(zip(self.videos, shifts, strict=True))
        for name, video in self.videos.items():
            shift, camera = self._shifts[name], video.camera
            points, colors = self.points(name, 0)
            self._clouds[name] = page.scene.add_point_cloud(
                page.path("pointmap"),
                points + shift,
                colors,
                point_size=1.2 * self._strides[name] * pixel_spacing(video),
                point_shape="square",
            )
            self._frusta[name] = page.scene.add_camera_frustum(
                page.path("camera"),
                fov=float(2 * np.arctan(0.5 * camera.height / camera.K[1, 1])),
                aspect=camera.width / camera.height,
                scale=0.03 * size,
                line_width=1.0,
                wxyz=matrix_to_quaternion(torch.from_numpy(np.array(camera.pose[:3, :3]))).numpy(),
                position=camera.pose[:3, 3] + shift,
            )
            top = np.quantile(points, [0.5, 0.98], axis=0) if len(points) else np.zeros((2, 3))
            self._labels[name] = page.scene.add_label(
                page.path("name"), name, position=(*(top[0, :2] + shift[:2]), 1.1 * top[1, 2])
            )
            self._add_image(name)
        self._look(first, shifts, box)

    def points(self, name: str, frame: int) -> tuple[np.ndarray, np.ndarray]:
        """Points [N, 3] float32 (m, in the world) that a video sees, and their colours [N, 3]."""
        video, stride = self.videos[name], self._strides[name]
        frame = min(frame, len(video) - 1)
        world = world_points(video, frame)[::stride, ::stride].reshape(-1, 3)
        seen = np.isfinite(world).all(1)
        colors = video.rgb[frame, ::stride, ::stride].reshape(-1, 3)[seen]
        return world[seen], colors

    def replace(self, name: str, video: PointmapVideo) -> None:
        """Show another video of the same camera under a name."""
        self.videos[name] = video

    def show(self, frame: int) -> None:
        """Show one frame of every video, of those that are shorter the last."""
        with self._page.viser.atomic():
            for name, video in self.videos.items():
                points, colors = self.points(name, frame)
                shift = self._shifts[name].astype(np.float32)
                self._clouds[name].points, self._clouds[name].colors = points + shift, colors
                self._images[name].image = video.rgb[min(frame, len(video) - 1)]

    def _add_image(self, name: str) -> None:
        gui = self._page.gui
        self.shown[name] = gui.add_checkbox(name, initial_value=True)
        self._images[name] = gui.add_image(self.videos[name].rgb[0])

        def toggled() -> None:
            visible = self.shown[name].value
            for kind in (self._clouds, self._frusta, self._images, self._labels):
                kind[name].visible = visible

        self._page.on_change(self.shown[name], toggled)

    def _look(self, first: PointmapVideo, shifts: list[np.ndarray], box: np.ndarray) -> None:
        """As the first camera looked, from somewhat higher and far enough back to see the row."""
        middle, pose = box.mean(0), first.camera.pose
        near = float(np.linalg.norm(pose[:3, 3] + 0.5 * shifts[-1] - middle))
        away = np.array([0.0, 0.0, 0.25]) - pose[:3, 2]
        # The panel hides the right third of the picture.
        target = middle + 0.25 * shifts[-1]
        self._page.look(target + max(near, 0.75 * np.linalg.norm(shifts[-1])) * away, target)


def _stride(video: PointmapVideo) -> int:
    pixels = video.camera.width * video.camera.height
    return max(1, int(np.ceil(np.sqrt(pixels / _MOST_POINTS))))
