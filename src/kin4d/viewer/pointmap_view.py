"""PointmapView: what cameras saw or imagined: images beside coloured points, over time."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch

from kin4d.geometry.pointmap import PointmapVideo
from kin4d.geometry.transforms import matrix_to_quaternion
from kin4d.viewer.page import Page
from kin4d.viewer.timeline import Timeline

_MOST_POINTS = 60_000


class PointmapView:
    """A page that plays pointmap videos, several side by side.

    Args:
        page: Where; whatever it showed before is closed.
        videos: By name, in one world; they are moved apart along x to be seen beside each other.
    """

    def __init__(self, page: Page, videos: Mapping[str, PointmapVideo]) -> None:
        page.clear()
        self.videos, self._page = dict(videos), page
        first = next(iter(self.videos.values()))
        self._strides = {name: _stride(video) for name, video in self.videos.items()}
        boxes = [_bounds(self.points(name, 0)[0]) for name in self.videos]
        low = np.min([box[0] for box in boxes], axis=0)
        high = np.max([box[1] for box in boxes], axis=0)
        self._apart = 1.1 * float(high[0] - low[0])
        high[0] += self._apart * (len(self.videos) - 1)
        page.floor(np.stack([low, high]))
        size = float(np.linalg.norm(high - low))
        self._clouds, self._frusta, self._images = {}, {}, {}
        for number, (name, video) in enumerate(self.videos.items()):
            shift = np.array([number * self._apart, 0.0, 0.0])
            points, colors = self.points(name, 0)
            path = page.path("pointmap")
            self._clouds[name] = page.scene.add_point_cloud(
                path, points + shift, colors, point_size=0.0015 * size, point_shape="rounded"
            )
            camera = video.camera
            self._frusta[name] = page.scene.add_camera_frustum(
                page.path("camera"),
                fov=float(2 * np.arctan(0.5 * camera.height / camera.K[1, 1])),
                aspect=camera.width / camera.height,
                scale=0.06 * size,
                wxyz=matrix_to_quaternion(torch.from_numpy(np.array(camera.pose[:3, :3]))).numpy(),
                position=camera.pose[:3, 3] + shift,
            )
            self._images[name] = page.gui.add_image(video.rgb[0], label=name)
        page.gui.add_markdown(
            f"{len(first)} frames, {first.camera.width} x {first.camera.height}; "
            f"every {next(iter(self._strides.values()))}. pixel is shown as a point"
        )
        self.timeline = Timeline(
            page,
            count=max(len(video) for video in self.videos.values()),
            fps=first.fps,
            show=self.show,
            playing=True,
        )
        self.show(0)
        page.show(self)

    def points(self, name: str, frame: int) -> tuple[np.ndarray, np.ndarray]:
        """Points [N, 3] float32 (m, in the world) that a video sees, and their colours [N, 3]."""
        video, stride = self.videos[name], self._strides[name]
        frame = min(frame, len(video) - 1)
        xyz = video.xyz[frame, ::stride, ::stride].reshape(-1, 3)
        seen = np.isfinite(xyz).all(1)
        world = xyz[seen] @ video.camera.pose[:3, :3].T + video.camera.pose[:3, 3]
        colors = video.rgb[frame, ::stride, ::stride].reshape(-1, 3)[seen]
        return world.astype(np.float32), colors

    def show(self, frame: int) -> None:
        """Show one frame of every video, of those that are shorter the last."""
        with self._page.viser.atomic():
            for number, (name, video) in enumerate(self.videos.items()):
                points, colors = self.points(name, frame)
                points[:, 0] += number * self._apart
                self._clouds[name].points, self._clouds[name].colors = points, colors
                self._images[name].image = video.rgb[min(frame, len(video) - 1)]

    def tick(self) -> float | None:
        """See `View`."""
        return self.timeline.tick()


def _stride(video: PointmapVideo) -> int:
    pixels = video.camera.width * video.camera.height
    return max(1, int(np.ceil(np.sqrt(pixels / _MOST_POINTS))))


def _bounds(points: np.ndarray) -> np.ndarray:
    """[2, 3] box of most of the points: a few that are far away do not count."""
    if not len(points):
        return np.array([[-0.5, -0.5, 0.0], [0.5, 0.5, 1.0]])
    return np.quantile(points.astype(np.float64), [0.02, 0.98], axis=0)
