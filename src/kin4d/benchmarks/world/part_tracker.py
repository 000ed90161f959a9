"""PartTracker: finds a rigid part in an imagined image by template matching.

World models return pixels, not motions, so parts are searched for. Templates come from the truth:
the part's pixels in the first frame, in the current frame and in some between. The background is
what the truth shows where the part is not. Each template is slid over the imagined frame. A pixel
adds to the score of an offset if it is closer to the template than to the background, and, with a
smaller weight, lowers it otherwise. The part is at the offset of the highest score. Pixels that the
robot hides do not count.

The truth is found where it is (the frame's own template matches exactly) and a copied first frame
where it was (the first template does); `kin4d bench world` reports the error
between the two, on parts moved by known amounts.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit

from kin4d.benchmarks.world.regions import part_mask, part_path
from kin4d.episodes.episode import ROBOT, Episode
from kin4d.geometry.pointmap import PointmapVideo

MARGIN = 12
"""px around the true path that are searched."""

LOST = 0.02
"""Evidence below which a part counts as not found, and as left where it was."""

_TEMPLATES = 6  # between the first frame and the last
_LEAST = 8  # pixels of a look
# Differences at which two pixels are as unlike as can be: hue and light in levels, place in metres.
# Light counts less: a part that turns changes it.
_HUE, _LIGHT, _PLACE = 20.0, 90.0, 0.03
_COLOURS = 0.6  # share of colour in a difference; the rest is place
_AGAINST = 0.3  # weight of pixels against an offset


class PartTemplate(NamedTuple):
    """A part as one frame shows it.

    Attributes:
        pixels: [n, 2] int: rows and columns.
        rgb: [n, 3] float32 levels.
        depth: [n] float32 m.
        centre: [2] px (x, y) of the part.
    """

    pixels: np.ndarray
    rgb: np.ndarray
    depth: np.ndarray
    centre: np.ndarray


class TrackedPart(NamedTuple):
    """Where a part is in a frame.

    Attributes:
        centre: [2] px (x, y).
        mask: [H, W] bool: its pixels.
        evidence: Per pixel that the first frame shows of the part; it is lost below `LOST`.
    """

    centre: np.ndarray
    mask: np.ndarray
    evidence: float

    @property
    def lost(self) -> bool:
        """Whether the part was not found."""
        return self.evidence < LOST


class PartTracker:
    """Tracks one part.

    Args:
        episodes: Whose truth says what the part looks like and where it may be. All begin alike;
            where a hit and a miss part ways, neither may be favoured.
        part: Its number.
    """

    def __init__(self, episodes: Sequence[Episode], part: int) -> None:
        self.episodes, self.part = tuple(episodes), part
        self.paths = [part_path(one, part) for one in self.episodes]
        self._masks = [part_mask(one, part) for one in self.episodes]
        whole = np.concatenate(self.paths)
        self._low, self._high = whole.min(0) - MARGIN, whole.max(0) + MARGIN
        self._background = _background(self.episodes, self._masks)
        between = np.linspace(0, len(self.paths[0]) - 1, _TEMPLATES + 2).round().astype(int)
        templates = [self._template(0, 0)]
        for number in range(len(self.episodes)):
            templates += [self._template(number, int(frame)) for frame in between[1:]]
        self._templates = [template for template in templates if template is not None]

    def visible(self, frame: int) -> bool:
        """Whether the (first) truth shows enough of the part to evaluate it."""
        return int(self._masks[0][frame].sum()) >= _LEAST

    def find(self, video: PointmapVideo, frame: int) -> TrackedPart:
        """Where the part is in a frame of a video."""
        own = [self._template(number, frame) for number in range(len(self.episodes))]
        robot = video.mask[frame] == ROBOT
        rgb, depth = video.rgb[frame].astype(np.float32), video.xyz[frame, ..., 2]
        background_distance = _pixel_distance(rgb, depth, *self._background)
        whole = float(self._masks[0][0].sum())
        best: tuple[float, PartTemplate | None, int, int] = (LOST * whole, None, 0, 0)
        for template in [*own, *self._templates]:
            if template is None:
                continue
            low = np.ceil(self._low - template.centre).astype(int)
            high = np.floor(self._high - template.centre).astype(int)
            fields = (template.pixels, template.rgb, template.depth)
            evidence, right, down = _best_offset(
                (rgb, depth, robot, background_distance), fields, (low, high), best[0]
            )
            if evidence > best[0]:
                best = (evidence, template, right, down)
        evidence, template, right, down = best
        if template is None:
            return TrackedPart(self.paths[0][0], self._masks[0][0] & ~robot, 0.0)
        mask = _covered(rgb, depth, robot, background_distance, template, right, down)
        return TrackedPart(template.centre + np.array([right, down]), mask, float(evidence / whole))

    def _template(self, number: int, frame: int) -> PartTemplate | None:
        pixels = np.argwhere(self._masks[number][frame])
        if len(pixels) < _LEAST:
            return None
        video, (rows, columns) = self.episodes[number].video, pixels.T
        return PartTemplate(
            pixels,
            video.rgb[frame, rows, columns].astype(np.float32),
            video.xyz[frame, rows, columns, 2],
            self.paths[number][frame],
        )


def _background(
    episodes: Sequence[Episode], masks: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Colours [H, W, 3] and depth [H, W] seen where neither part nor robot is; NaN if never.

    The median over all frames, so that passing shadows do not count.
    """
    rgb, depth = [], []
    for episode, mask in zip(episodes, masks, strict=True):
        hidden = mask | episode.robot_mask
        rgb.append(np.where(hidden[..., None], np.nan, episode.video.rgb.astype(np.float32)))
        depth.append(np.where(hidden, np.nan, episode.video.xyz[..., 2]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of pixels that are always hidden
        return (
            np.nanmedian(np.concatenate(rgb), 0).astype(np.float32),
            np.nanmedian(np.concatenate(depth), 0).astype(np.float32),
        )


def _pixel_distance(
    rgb: np.ndarray, depth: np.ndarray, other_rgb: np.ndarray, other_depth: np.ndarray
) -> np.ndarray:
    """[...] between 0 and 1: how much pixels differ; 1 where it is not known."""
    off = rgb - other_rgb
    light = off.mean(-1)
    hue = np.abs(off - light[..., None]).mean(-1)
    colour = np.minimum(1.0, hue / _HUE + np.abs(light) / _LIGHT)
    place = np.minimum(1.0, np.abs(depth - other_depth) / _PLACE)
    return np.nan_to_num(_COLOURS * colour + (1 - _COLOURS) * place, nan=1.0).astype(np.float32)


def _covered(
    rgb: np.ndarray,
    depth: np.ndarray,
    robot: np.ndarray,
    background_distance: np.ndarray,
    template: PartTemplate,
    right: int,
    down: int,
) -> np.ndarray:
    """[H, W] bool: pixels of a look, moved by an offset, that match it."""
    rows, columns = (template.pixels + np.array([down, right])).T
    height, width = robot.shape
    inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    rows, columns = rows[inside], columns[inside]
    depth_offset = np.nanmedian(depth[rows, columns] - template.depth[inside])
    mine = _pixel_distance(
        rgb[rows, columns],
        depth[rows, columns],
        template.rgb[inside],
        template.depth[inside] + depth_offset,
    )
    mask = np.zeros(robot.shape, bool)
    mask[rows, columns] = (mine < background_distance[rows, columns]) & ~robot[rows, columns]
    return mask


@njit(cache=True)
def _best_offset(
    predicted: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    template: tuple[np.ndarray, np.ndarray, np.ndarray],
    bounds: tuple[np.ndarray, np.ndarray],
    best: float,
) -> tuple[float, int, int]:
    """The most evidence above `best` for a look, and how far it was slid right and down for it."""
    image, surface, robot, background_distance = predicted
    pixels, rgb, depth = template
    low, high = bounds
    height, width = robot.shape
    count = len(pixels)
    at_right, at_down = 0, 0
    colour = np.empty(count)
    for down in range(low[1], high[1] + 1):
        for right in range(low[0], high[0] + 1):
            # Of places that fit alike, the nearest.
            nearer = 1e-3 * (abs(right) + abs(down))
            upper_bound, alike, depth_offset = -nearer, 0, 0.0
            for i in range(count):
                y, x = pixels[i, 0] + down, pixels[i, 1] + right
                colour[i] = -1.0
                if 0 <= y < height and 0 <= x < width and not robot[y, x]:
                    red, green = image[y, x, 0] - rgb[i, 0], image[y, x, 1] - rgb[i, 1]
                    blue = image[y, x, 2] - rgb[i, 2]
                    light = (red + green + blue) / 3
                    hue = (abs(red - light) + abs(green - light) + abs(blue - light)) / 3
                    colour[i] = min(1.0, hue / _HUE + abs(light) / _LIGHT)
                    upper_bound += max(0.0, background_distance[y, x] - _COLOURS * colour[i])
                    off = surface[y, x] - depth[i]
                    if colour[i] < 0.5 and np.isfinite(off):
                        alike += 1
                        depth_offset += off
                if upper_bound + count - i - 1 <= best:
                    break
            if upper_bound <= best or alike == 0:
                continue
            depth_offset /= alike
            total = -nearer
            for i in range(count):
                if colour[i] >= 0:
                    y, x = pixels[i, 0] + down, pixels[i, 1] + right
                    off = abs(surface[y, x] - depth[i] - depth_offset)
                    place = min(1.0, off / _PLACE) if np.isfinite(off) else 1.0
                    gain = background_distance[y, x] - _COLOURS * colour[i] - (1 - _COLOURS) * place
                    total += gain if gain > 0 else _AGAINST * gain
            if total > best:
                best = total
                at_right, at_down = right, down
    return best, at_right, at_down
