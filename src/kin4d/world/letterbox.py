"""Letterbox: resize an image and its camera to a model's size, keeping proportions."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kin4d.errors import InputError
from kin4d.geometry.camera import Camera
from kin4d.geometry.pointmap import PointmapVideo


@dataclass(frozen=True, eq=False, kw_only=True)
class Letterbox:
    """Where the resized image lies within the model's image; margins repeat its edge.

    Attributes:
        camera: Camera of the model's image, margins included.
        top: Rows above the image.
        left: Columns to the left of it.
        height: Rows of the resized image itself.
        width: Columns of it.
    """

    camera: Camera
    top: int
    left: int
    height: int
    width: int

    @classmethod
    def of(cls, camera: Camera, *, height: int, width: int) -> Letterbox:
        """The largest image of a camera's proportions in `height` x `width` pixels."""
        scale = min(width / camera.width, height / camera.height)
        inner = camera.resized(
            max(1, round(camera.width * scale)), max(1, round(camera.height * scale))
        )
        top, left = (height - inner.height) // 2, (width - inner.width) // 2
        K = inner.K.copy()
        K[:2, 2] += (left, top)
        whole = replace(inner, K=K, width=width, height=height)
        return cls(camera=whole, top=top, left=left, height=inner.height, width=inner.width)

    @property
    def fills(self) -> bool:
        """Whether there are no margins."""
        return (self.height, self.width) == (self.camera.height, self.camera.width)

    def put(self, image: np.ndarray) -> np.ndarray:
        """[H, W, 3] uint8: an image, resized and padded."""
        from PIL import Image

        if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8:
            raise InputError(
                "an image is [height, width, 3] uint8", value=(image.shape, str(image.dtype))
            )
        small = Image.fromarray(image).resize((self.width, self.height), Image.Resampling.BOX)
        return np.pad(np.asarray(small), (*self._margins, (0, 0)), mode="edge")

    def put_depth(self, depth: np.ndarray) -> np.ndarray:
        """[H, W, 3] float32 m: points of a depth image (m), NaN where it has none."""
        small = self._nearest(depth).astype(np.float32)
        small = np.where(np.isfinite(small) & (small > 0), small, np.nan)
        whole = np.pad(small, self._margins, mode="edge")
        return (whole[..., None] * self.camera.rays()).astype(np.float32)

    def put_labels(self, labels: np.ndarray) -> np.ndarray:
        """[H, W]: an image of labels [h, w], each from its nearest pixel; zero in the margins."""
        return np.pad(self._nearest(labels), self._margins)

    def crop(self, video: PointmapVideo) -> PointmapVideo:
        """A video without the margins."""
        rows = slice(self.top, self.top + self.height)
        columns = slice(self.left, self.left + self.width)
        K = self.camera.K.copy()
        K[:2, 2] -= (self.left, self.top)
        camera = replace(self.camera, K=K, width=self.width, height=self.height)
        return replace(
            video,
            rgb=np.ascontiguousarray(video.rgb[:, rows, columns]),
            xyz=np.ascontiguousarray(video.xyz[:, rows, columns]),
            mask=np.ascontiguousarray(video.mask[:, rows, columns]),
            camera=camera,
        )

    def _nearest(self, image: np.ndarray) -> np.ndarray:
        rows = ((np.arange(self.height) + 0.5) * image.shape[0] / self.height).astype(int)
        columns = ((np.arange(self.width) + 0.5) * image.shape[1] / self.width).astype(int)
        return image[rows][:, columns]

    @property
    def _margins(self) -> tuple[tuple[int, int], tuple[int, int]]:
        below = self.camera.height - self.height - self.top
        right = self.camera.width - self.width - self.left
        return (self.top, below), (self.left, right)
