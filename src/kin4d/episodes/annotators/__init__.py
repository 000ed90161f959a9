"""Annotators: what a recording lacks, from the user's own networks or from what is known."""

from __future__ import annotations

from typing import Protocol

import numpy as np


class DepthAnnotator(Protocol):
    """Depth of every pixel of a video.

    Attributes:
        kind: "metric" if values grow with depth and zero is the camera, "inverse" if they grow
            towards it. Either way they are brought to metres by what is known of the robot.
    """

    kind: str

    def __call__(self, rgb: np.ndarray) -> np.ndarray:
        """[T, H, W] float32 for frames [T, H, W, 3] uint8."""
        ...


class MaskAnnotator(Protocol):
    """Where the robot is in a video."""

    def __call__(self, rgb: np.ndarray, boxes: np.ndarray) -> np.ndarray:
        """[T, H, W] bool for frames [T, H, W, 3] uint8.

        `boxes` [T, 4] (u0, v0, u1, v1) pixels say roughly where it is; NaN where that is unknown.
        """
        ...


class CaptionAnnotator(Protocol):
    """What is to be seen in a video."""

    def __call__(self, rgb: np.ndarray) -> str:
        """A sentence or more about frames [T, H, W, 3] uint8."""
        ...
