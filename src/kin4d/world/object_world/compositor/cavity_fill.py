"""Hollows: what comes into sight where a part leaves another one that it belongs to.

Behind a door or a lid is the inside of what it closes, and not the table. Nobody saw it; it is
taken to be an upright box with walls of the colour that the outside has.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kin4d.world.object_world.compositor.lighting import Light, brightness
from kin4d.world.object_world.compositor.pixel_quads import dilate, surface_normals
from kin4d.world.object_world.upright_box import UprightBox
from kin4d.world.observation import Observation

_TOUCH = 0.03  # m between neighbours in the picture that belong together
_BESIDE = 3  # pixels that must
_LEAST = 12  # pixels of something that tell its shape
_SLIM = 0.25  # of its sides: less than that is one wall, seen from the front
_LID = 0.08  # m of the way to a hollow that what closes it may take
_SHUT = 0.5  # share of a side that a door or a lid covers at least
_DEEP = 0.01  # m of it that must be behind


@dataclass(frozen=True, eq=False)
class CavityFill:
    """What is seen through N pixels.

    Attributes:
        where: [H, W] bool: those pixels.
        depth: [N] m.
        colour: [N, 3] linear, in no shadow.
    """

    where: np.ndarray
    depth: np.ndarray
    colour: np.ndarray


def cavity_behind(
    cut: np.ndarray,
    host: np.ndarray,
    linear: np.ndarray,
    situation: Observation,
    light: Light,
) -> CavityFill | None:
    """What a part hides of the thing it closes; None if it closes nothing.

    Args:
        cut: [H, W] bool: where the first frame shows the part.
        host: The same of the thing; see `parent_part`.
        linear: [H, W, 3] colours of the first frame, without shadows.
        situation: The first frame.
        light: Its light.
    """
    where = dilate(cut) & ~host & np.isfinite(situation.xyz).all(-1)
    points = situation.to_base(situation.xyz[where].astype(np.float64))
    outside = situation.to_base(situation.xyz[host].astype(np.float64))
    own = situation.to_base(situation.xyz[cut].astype(np.float64))
    box = UprightBox.of(outside)
    if box.slimness < _SLIM:
        box = UprightBox.of(np.concatenate([outside, own]))
    eye = situation.to_base(np.zeros(3))
    way = points - eye
    enter, leave, front, side = box.pierced(eye, way)
    far = np.linalg.norm(way, axis=1)
    shut = _closed(box, own)[front]
    behind = shut & ((leave - 1) * far > _DEEP) & ((enter - 1) * far < _LID)
    if not behind.any():
        return None
    normal = box.axes[side]
    normal *= np.where((normal * way).sum(1) > 0, -1.0, 1.0)[:, None]
    normal = normal @ situation.base[:3, :3].T
    lit = brightness(surface_normals(situation.xyz, host)[host], situation, light)
    paint = (linear[host] / lit[:, None]).mean(0)
    inside = where.copy()
    inside[where] = behind
    return CavityFill(
        where=inside,
        depth=situation.xyz[inside][:, 2] * leave[behind],
        colour=paint * brightness(normal[behind], situation, light)[:, None],
    )


def parent_part(cut: np.ndarray, others: list[np.ndarray], xyz: np.ndarray) -> np.ndarray | None:
    """The thing that a part belongs to: of those it is beside, the most; None if it stands alone.

    Args:
        cut: [H, W] bool: where the first frame shows the part.
        others: The same of parts that stay.
        xyz: [H, W, 3] m: the first frame.
    """
    height, width = cut.shape
    best, found = _BESIDE, None
    for other in others:
        if other.sum() < _LEAST:
            continue
        beside = 0
        for y, x in ((0, 1), (1, 0)):
            a, b = np.s_[: height - y, : width - x], np.s_[y:, x:]
            near = np.linalg.norm(xyz[a] - xyz[b], axis=-1) < _TOUCH
            beside += (near & ((cut[a] & other[b]) | (cut[b] & other[a]))).sum()
        if beside >= best:
            best, found = beside, other
    return found


def _closed(box: UprightBox, points: np.ndarray) -> np.ndarray:
    """[3] bool: whether points [N, 3] spread over most of the sides across each axis of a box."""
    along = points @ box.axes.T
    size = np.maximum(box.high - box.low, 1e-9)
    overlap = np.minimum(along.max(0), box.high) - np.maximum(along.min(0), box.low)
    share = np.clip(overlap / size, 0.0, 1.0)
    return np.array([share[1] * share[2], share[0] * share[2], share[0] * share[1]]) > _SHUT
