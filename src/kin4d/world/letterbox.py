"""Letterbox: a picture of any size and its camera, brought to the size a model works at."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kin4d.errors import InputError
from kin4d.geometry.camera import Camera
from kin4d.geometry.pointmap import PointmapVideo


@dataclass(frozen=True, eq=False, kw_only=True)
class Letterbox:
    """Where a picture lies in the one a model works on; its surroundings repeat its edge.

    Attributes:
        camera: Of the whole, surroundings included.
        top: Rows above the picture.
        left: Columns to the left of it.
        height: Rows of the picture itself.
        width: Columns of it.
    """

    camera: Camera
    top: int
    left: int
    height: int
    width: int

    @classmethod
    def of(cls, camera: Camera, *, height: int, width: int) -> Letterbox:
        """The largest place in `height` x `width` pixels that has a camera's proportions."""
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
        """Whether the picture fills the whole."""
        return (self.height, self.width) == (self.camera.height, self.camera.width)

    def put(self, image: np.ndarray) -> np.ndarray:
        """[H, W, 3] uint8: a picture in its place."""
        from PIL import Image

        if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8:
            raise InputError(
                "a picture is [height, width, 3] uint8", value=(image.shape, str(image.dtype))
            )
        small = Image.fromarray(image).resize((self.width, self.height), Image.Resampling.BOX)
        return np.pad(np.asarray(small), (*self._margins, (0, 0)), mode="edge")

    def put_depth(self, depth: np.ndarray) -> np.ndarray:
        """[H, W, 3] float32 m: points of a depth picture (m), NaN where it knows nothing."""
        rows = ((np.arange(self.height) + 0.5) * depth.shape[0] / self.height).astype(int)
        columns = ((np.arange(self.width) + 0.5) * depth.shape[1] / self.width).astype(int)
        small = depth[rows][:, columns].astype(np.float32)
        small = np.where(np.isfinite(small) & (small > 0), small, np.nan)
        whole = np.pad(small, self._margins, mode="edge")
        return (whole[..., None] * self.camera.rays()).astype(np.float32)

    def crop(self, video: PointmapVideo) -> PointmapVideo:
        """A video of the whole without the surroundings."""
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

    @property
    def _margins(self) -> tuple[tuple[int, int], tuple[int, int]]:
        below = self.camera.height - self.height - self.top
        right = self.camera.width - self.width - self.left
        return (self.top, below), (self.left, right)
