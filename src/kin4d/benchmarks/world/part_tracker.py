"""Finder: where a rigid part is in a picture that anyone imagined.

An imaginer hands over pixels, not motions, so parts are looked for. What a part looks like is known
from the truth: its pixels in the first frame, in the frame at hand, and in some between; and so is
what is seen where the part is not, the backdrop. Each of these looks is slid over the imagined
frame. A pixel speaks for a place if it resembles the look more than the backdrop there, and, less
loudly, against it if it resembles the backdrop more. Where most is said in sum is where the part
is; its middle is as far from the look's known middle as the look was slid. Pixels that the robot
hides say nothing.

The truth is found where it is (the frame's own look fits perfectly) and a copied first frame where
it was (the first look does); what lies between is measured, and `kin4d bench world` reports how
exactly, on parts moved by known amounts.
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
"""px around the true path in which a part is looked for."""

LOST = 0.02
"""Evidence below which a part is nowhere to be found; it then counts as left where it was."""

_LOOKS = 6  # between the first frame and the last
_LEAST = 8  # pixels of a look
# Differences at which two pixels are as unlike as can be: hue and light in levels, place in metres.
# Light counts less: a part that turns changes it.
_HUE, _LIGHT, _PLACE = 20.0, 90.0, 0.03
_COLOURS = 0.6  # share of colour in a difference; the rest is place
_AGAINST = 0.3  # how loudly pixels speak against a place


class PartTemplate(NamedTuple):
    """A part as one frame shows it.

    Attributes:
        pixels: [n, 2] int: rows and columns.
        rgb: [n, 3] float32 levels.
        depth: [n] float32 m.
        middle: [2] px (x, y) of the part.
    """

    pixels: np.ndarray
    rgb: np.ndarray
    depth: np.ndarray
    middle: np.ndarray


class TrackedPart(NamedTuple):
    """Where a part is in a frame.

    Attributes:
        middle: [2] px (x, y).
        mask: [H, W] bool: its pixels.
        evidence: Per pixel that the first frame shows of the part; it is lost below `LOST`.
    """

    middle: np.ndarray
    mask: np.ndarray
    evidence: float

    @property
    def lost(self) -> bool:
        """Whether the part is nowhere to be found."""
        return self.evidence < LOST


class PartTracker:
    """Looks for one part.

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
        self._backdrop = _backdrop(self.episodes, self._masks)
        between = np.linspace(0, len(self.paths[0]) - 1, _LOOKS + 2).round().astype(int)
        looks = [self._look(0, 0)]
        for number in range(len(self.episodes)):
            looks += [self._look(number, int(frame)) for frame in between[1:]]
        self._looks = [look for look in looks if look is not None]

    def visible(self, frame: int) -> bool:
        """Whether the (first) truth shows enough of the part to be judged by."""
        return int(self._masks[0][frame].sum()) >= _LEAST

    def find(self, video: PointmapVideo, frame: int) -> TrackedPart:
        """Where the part is in a frame of a video."""
        own = [self._look(number, frame) for number in range(len(self.episodes))]
        robot = video.mask[frame] == ROBOT
        rgb, depth = video.rgb[frame].astype(np.float32), video.xyz[frame, ..., 2]
        unlike = _unlike(rgb, depth, *self._backdrop)
        whole = float(self._masks[0][0].sum())
        best: tuple[float, PartTemplate | None, int, int] = (LOST * whole, None, 0, 0)
        for look in [*own, *self._looks]:
            if look is None:
                continue
            low = np.ceil(self._low - look.middle).astype(int)
            high = np.floor(self._high - look.middle).astype(int)
            fields = (look.pixels, look.rgb, look.depth)
            evidence, right, down = _best_place(
                (rgb, depth, robot, unlike), fields, (low, high), best[0]
            )
            if evidence > best[0]:
                best = (evidence, look, right, down)
        evidence, look, right, down = best
        if look is None:
            return TrackedPart(self.paths[0][0], self._masks[0][0] & ~robot, 0.0)
        mask = _covered(rgb, depth, robot, unlike, look, right, down)
        return TrackedPart(look.middle + np.array([right, down]), mask, float(evidence / whole))

    def _look(self, number: int, frame: int) -> PartTemplate | None:
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


def _backdrop(
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


def _unlike(
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
    unlike: np.ndarray,
    look: PartTemplate,
    right: int,
    down: int,
) -> np.ndarray:
    """[H, W] bool: pixels of a look, slid so far, that speak for it."""
    rows, columns = (look.pixels + np.array([down, right])).T
    height, width = robot.shape
    inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    rows, columns = rows[inside], columns[inside]
    lift = np.nanmedian(depth[rows, columns] - look.depth[inside])
    mine = _unlike(
        rgb[rows, columns], depth[rows, columns], look.rgb[inside], look.depth[inside] + lift
    )
    mask = np.zeros(robot.shape, bool)
    mask[rows, columns] = (mine < unlike[rows, columns]) & ~robot[rows, columns]
    return mask


@njit(cache=True)
def _best_place(
    told: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    look: tuple[np.ndarray, np.ndarray, np.ndarray],
    bounds: tuple[np.ndarray, np.ndarray],
    best: float,
) -> tuple[float, int, int]:
    """The most evidence above `best` for a look, and how far it was slid right and down for it."""
    picture, surface, robot, unlike = told
    pixels, rgb, depth = look
    low, high = bounds
    height, width = robot.shape
    count = len(pixels)
    at_right, at_down = 0, 0
    colour = np.empty(count)
    for down in range(low[1], high[1] + 1):
        for right in range(low[0], high[0] + 1):
            # Of places that fit alike, the nearest.
            nearer = 1e-3 * (abs(right) + abs(down))
            hope, alike, lift = -nearer, 0, 0.0
            for i in range(count):
                y, x = pixels[i, 0] + down, pixels[i, 1] + right
                colour[i] = -1.0
                if 0 <= y < height and 0 <= x < width and not robot[y, x]:
                    red, green = picture[y, x, 0] - rgb[i, 0], picture[y, x, 1] - rgb[i, 1]
                    blue = picture[y, x, 2] - rgb[i, 2]
                    light = (red + green + blue) / 3
                    hue = (abs(red - light) + abs(green - light) + abs(blue - light)) / 3
                    colour[i] = min(1.0, hue / _HUE + abs(light) / _LIGHT)
                    hope += max(0.0, unlike[y, x] - _COLOURS * colour[i])
                    off = surface[y, x] - depth[i]
                    if colour[i] < 0.5 and np.isfinite(off):
                        alike += 1
                        lift += off
                if hope + count - i - 1 <= best:
                    break
            if hope <= best or alike == 0:
                continue
            lift /= alike
            total = -nearer
            for i in range(count):
                if colour[i] >= 0:
                    y, x = pixels[i, 0] + down, pixels[i, 1] + right
                    off = abs(surface[y, x] - depth[i] - lift)
                    place = min(1.0, off / _PLACE) if np.isfinite(off) else 1.0
                    gain = unlike[y, x] - _COLOURS * colour[i] - (1 - _COLOURS) * place
                    total += gain if gain > 0 else _AGAINST * gain
            if total > best:
                best = total
                at_right, at_down = right, down
    return best, at_right, at_down
