"""The robot drawn over the image it should cover: the check that a camera is right."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kin4d.calibration.silhouette import SilhouetteVideo
from kin4d.errors import InputError
from kin4d.geometry.camera import Camera


def overlay(
    image: np.ndarray,
    mask: np.ndarray,
    *,
    tint: tuple[int, int, int] = (0, 200, 120),
    line: tuple[int, int, int] = (255, 0, 200),
    opacity: float = 0.25,
) -> np.ndarray:
    """`image` with what `mask` covers tinted and outlined, [H, W, 3] uint8.

    Args:
        image: [H, W, 3] uint8.
        mask: [H, W] ids: 0 for background, then one per object; borders between any two are drawn.
            A frame of `PointmapVideo.mask` serves.
        tint: sRGB of the covered part.
        line: sRGB of the borders.
        opacity: Of the tint, 0 to 1.
    """
    if image.shape != (*mask.shape, 3) or image.dtype != np.uint8:
        raise InputError(
            "image and mask differ in size",
            value=(image.shape, mask.shape),
            allowed="[H, W, 3] uint8 and [H, W]",
        )
    out = image.copy()
    covered = mask != 0
    out[covered] = (image[covered] * (1 - opacity) + np.array(tint) * opacity).astype(np.uint8)
    border = np.zeros(mask.shape, bool)
    border[:, 1:] |= mask[:, 1:] != mask[:, :-1]
    border[1:] |= mask[1:] != mask[:-1]
    out[border] = line
    return out


def overlay_sheet(
    video: SilhouetteVideo,
    camera: Camera,
    *,
    frames: Sequence[int] | None = None,
    columns: int = 2,
    scale: int = 2,
) -> np.ndarray:
    """Several frames with the robot's links drawn over them, side by side, [H, W, 3] uint8.

    Args:
        video: The robot and the video.
        camera: The view.
        frames: Which frames; six spread over the clip if None.
        columns: Frames in a row.
        scale: How many times larger than the video each is drawn.
    """
    from PIL import Image

    spread = np.linspace(0, len(video) - 1, 6).astype(int)
    shown = np.unique(spread) if frames is None else np.array(frames)
    large = camera.resized(camera.width * scale, camera.height * scale)
    height, width = large.height, large.width
    sheet = np.zeros((-(-len(shown) // columns) * height, columns * width, 3), np.uint8)
    for i, frame in enumerate(shown.tolist()):
        image = Image.fromarray(video.frames[frame])
        image = np.asarray(image.resize((width, height), Image.Resampling.LANCZOS))
        top, left = i // columns * height, i % columns * width
        tile = overlay(image, video.links(frame, large) + 1)
        sheet[top : top + height, left : left + width] = tile
    return sheet
