"""Match: a point of a robot clicked in a frame of a video. Camera calibration starts from these.

The file is JSON; anything else in it is ignored, so it may carry comments::

    {"size": [320, 192], "aspect": 1.0,
     "matches": [{"frame": 0, "pixel": [u, v], "link": "panda_link0", "point": [x, y, z]}, ...]}

`size` is the image's width and height in pixels, `aspect` (1 if left out) its vertical over its
horizontal focal length, `pixel` counts from (0, 0) at the centre of the top-left pixel, and `point`
is in the link's frame in metres (its origin if left out).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kin4d.bodies.articulated_base import ArticulatedBodyBase
from kin4d.errors import InputError
from kin4d.files import read_json


@dataclass(frozen=True)
class Correspondence:
    """A point that is known both on the robot and in the image.

    Attributes:
        frame: Index in the video.
        pixel: (u, v).
        link: Name of a link.
        point: Metres, in the link's frame.
    """

    frame: int
    pixel: tuple[float, float]
    link: str
    point: tuple[float, float, float] = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class CorrespondenceSet:
    """All clicks in one video.

    Attributes:
        matches: The clicks.
        width: Of the image, in pixels.
        height: Of the image, in pixels.
        aspect: Vertical over horizontal focal length.
    """

    matches: tuple[Correspondence, ...]
    width: int
    height: int
    aspect: float = 1.0

    @property
    def pixels(self) -> np.ndarray:
        """[N, 2] clicked pixels."""
        return np.array([match.pixel for match in self.matches], np.float64).reshape(-1, 2)

    def points(self, body: ArticulatedBodyBase, q: np.ndarray) -> np.ndarray:
        """[N, 3] world points (m) when frame t shows `body` at q[t], of [T, k]."""
        import torch

        from kin4d.bodies.body import check_coordinates

        late = [match.frame for match in self.matches if match.frame >= len(q)]
        if late:
            raise InputError(
                "a match is in a frame that the motion does not have",
                value=late[0],
                allowed=f"frames 0 to {len(q) - 1}",
            )
        links = [body.link_index(match.link) for match in self.matches]
        frames = [match.frame for match in self.matches]
        with torch.no_grad():
            poses = body.link_poses(check_coordinates(body, q)[frames]).numpy()
        poses = poses[np.arange(len(links)), links]
        local = np.array([match.point for match in self.matches]).reshape(-1, 3)
        return np.einsum("nij,nj->ni", poses[:, :3, :3], local) + poses[:, :3, 3]


def read_correspondences(path: str | Path) -> CorrespondenceSet:
    """Read a file of matches; see the module for its form."""
    data = read_json(path)
    if not isinstance(data, dict) or not isinstance(data.get("matches"), list):
        raise InputError(
            f"{path} is not a file of matches",
            allowed='{"size": [w, h], "matches": [{"frame": 0, "pixel": [u, v], "link": "..."}]}',
        )
    width, height = _numbers(data.get("size"), 2, f"{path}: 'size'")
    if width < 1 or height < 1 or width % 1 or height % 1:
        raise InputError(f"{path}: 'size' must be whole pixels", value=(width, height))
    (aspect,) = _numbers([data.get("aspect", 1.0)], 1, f"{path}: 'aspect'")
    matches = []
    for i, entry in enumerate(data["matches"]):
        where = f"{path}: match {i} (from 0)"
        if not isinstance(entry, dict) or not isinstance(entry.get("link"), str):
            raise InputError(f"{where} names no link", value=entry)
        frame = entry.get("frame")
        if not isinstance(frame, int) or isinstance(frame, bool) or frame < 0:
            raise InputError(f"{where}: 'frame' must be a whole number from 0", value=frame)
        u, v = _numbers(entry.get("pixel"), 2, f"{where}: 'pixel'")
        if not (-0.5 <= u <= width - 0.5 and -0.5 <= v <= height - 0.5):
            raise InputError(
                f"{where} is outside the image",
                value=(u, v),
                allowed=f"u from 0 to {width - 1:g}, v from 0 to {height - 1:g}",
            )
        x, y, z = _numbers(entry.get("point", (0, 0, 0)), 3, f"{where}: 'point'")
        matches.append(Correspondence(frame, (u, v), entry["link"], (x, y, z)))
    return CorrespondenceSet(tuple(matches), int(width), int(height), aspect)


def _numbers(value: Any, count: int, what: str) -> Sequence[float]:
    try:
        numbers = [float(number) for number in value]
    except (TypeError, ValueError):
        numbers = []
    if len(numbers) != count or not np.isfinite(numbers).all():
        raise InputError(f"{what} must be {count} finite number(s)", value=value)
    return numbers
