"""Does the robot, drawn by its model, cover the robot that the first image shows?

With depth the evidence is the robot's own depth: at every pixel it is known exactly. Without depth
it is the image's edges along the robot's outline. The robot is slid and rolled in the image to
where the evidence is best, and the fit is the IoU of the robot there and the robot as it is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kin4d.calibration.overlay import overlay
from kin4d.world.image_shifts import grid_search, linear_map, robot_centre, warp_matrices
from kin4d.world.observation import Observation, with_robot_offset

MIN_PIXELS = 30
"""Visible pixels of the robot below which nothing can be said about its fit."""
_SHIFT = 1 / 8  # of the image width: how far the robot is slid
_ROLL = np.radians(8.0)
_TOLERANCE = (0.012, 0.012)  # m, and of the depth: errors of a depth that fits
_MAX_ERROR = 3.0  # tolerances at which a depth error is clipped
_WORTH = 0.04  # a better place must be better by so much, or the robot stays where it is
_FITS = {"depth": 0.5, "edges": 0.66}
"""Least support of a robot that fits: share of depths that agree, mean rank of edges."""
_LINK_FITS = 0.25  # least share of a link
_LINK_PIXELS = 12  # visible, for a link to be asked


@dataclass(frozen=True, eq=False, kw_only=True)
class RobotFit:
    """How the drawn robot fits the first image.

    Attributes:
        iou: Of the robot as it is drawn and where the image shows it, 0 to 1; NaN if too little
            of it is visible.
        evidence: "depth", "edges", or "none".
        support: 0 to 1. With depth, the share of a link's visible pixels whose depth agrees at
            the best place, mean over links; with edges, their mean rank along the outline there
            (chance is .5).
        shift: [3] px right, px down, rad of roll to the best place; zero if it fits as it is.
        correction: [3, 3] linear map of the camera frame that moves the robot there.
        picture: [H, W, 3] uint8: the robot over the image.
        worst_link: With depth, the least share of a link: another robot, or other joints, may
            agree in most links.
    """

    iou: float
    evidence: str
    support: float
    shift: np.ndarray
    picture: np.ndarray
    correction: np.ndarray = field(default_factory=lambda: np.eye(3))
    worst_link: float = 1.0

    @property
    def hopeless(self) -> bool:
        """Whether no place in reach fits the evidence."""
        if self.evidence == "none":
            return False
        return self.support < _FITS[self.evidence] or self.worst_link < _LINK_FITS

    def __str__(self) -> str:
        if self.evidence == "none":
            return "too little of the robot is visible to check its fit"
        text = f"robot over the first image: IoU {self.iou:.2f} by {self.evidence}"
        if self.shift.any():
            right, down, roll = self.shift
            text += f"; it fits {right:+.1f} px right, {down:+.1f} px down, "
            text += f"{np.degrees(roll):+.1f} degrees rolled"
        return text


def fit_robot(observation: Observation) -> RobotFit:
    """Compare the robot of an observation's first frame with its image and its depth, if any."""
    mask = robot_mask(observation)
    picture = overlay(observation.image, mask.astype(np.uint8))
    measured = bool(np.isfinite(observation.xyz[mask]).any()) if mask.any() else False
    if mask.sum() < MIN_PIXELS:
        return RobotFit(
            iou=float("nan"), evidence="none", support=float("nan"), shift=np.zeros(3),
            picture=picture,
        )  # fmt: skip
    evidence = "depth" if measured else "edges"
    error = depth_error(observation) if measured else edge_error(observation)
    width = observation.camera.width
    ranges = np.array([_SHIFT * width, _SHIFT * width, _ROLL])
    start = float(error(np.zeros((1, 3)))[0])
    best = grid_search(error, ranges)
    gain = start - float(error(best[None])[0])
    if gain < _WORTH:
        best = np.zeros(3)
    centre = robot_centre(mask)
    moved = _warped(mask, warp_matrices(best[None], centre)[0])
    if measured:
        shares = _link_agreement(observation, best)
        support, worst = float(shares.mean()), float(shares.min())
        hidden = _hidden(observation, mask)
        seen, there = mask & ~hidden, moved & ~hidden
    else:
        support, worst = 1 - float(error(best[None])[0]), 1.0
        seen, there = mask, moved
    iou = float((seen & there).sum() / max((seen | there).sum(), 1))
    if measured and not best.any():
        iou *= support
    return RobotFit(
        iou=iou,
        evidence=evidence,
        support=support,
        shift=best,
        picture=picture,
        correction=linear_map(best, observation.camera.K, centre),
        worst_link=worst,
    )


def align_to_fit(observation: Observation, fit: RobotFit) -> Observation:
    """The observation with its robot where `fit` found it."""
    return with_robot_offset(observation, fit.correction) if fit.shift.any() else observation


def robot_mask(observation: Observation) -> np.ndarray:
    """[H, W] bool: the robot as it is drawn in the first frame."""
    return (observation.robot.mask[0] > 0) & np.isfinite(observation.robot.xyz[0]).all(-1)


def depth_error(observation: Observation):
    """[C] of shifts [C, 3]: mean error of the robot's depth, 0 to 1; nearer surfaces hide it."""
    mask = robot_mask(observation)
    rows, columns = _at_most(mask, 1500)
    depth = observation.robot.xyz[0][rows, columns, 2]
    tolerance = _TOLERANCE[0] + _TOLERANCE[1] * depth
    pixels, centre = np.stack([columns, rows, np.ones(len(rows))], -1), robot_centre(mask)
    measured = observation.xyz[..., 2]

    def error(shifts: np.ndarray) -> np.ndarray:
        u, v, inside = _moved(pixels, shifts, centre, mask.shape)
        seen = measured[v, u]
        off = np.abs(seen - depth) / tolerance
        off = np.where(np.isfinite(seen) & inside, np.minimum(off, _MAX_ERROR), _MAX_ERROR)
        return off.mean(1) / _MAX_ERROR

    return error


def edge_error(observation: Observation):
    """[C] of shifts [C, 3]: one minus the mean rank of edges along the robot's outline."""
    from scipy.ndimage import gaussian_filter, maximum_filter
    from scipy.stats import rankdata

    mask = robot_mask(observation)
    grey = gaussian_filter(observation.image.astype(np.float64).mean(-1), 0.7)
    down, right = np.gradient(grey)
    size = np.hypot(right, down)
    rank = (rankdata(maximum_filter(size, 3)) / size.size).reshape(size.shape)
    wide = np.pad(mask, 1, mode="edge")
    inner = wide[:-2, 1:-1] & wide[2:, 1:-1] & wide[1:-1, :-2] & wide[1:-1, 2:]
    rows, columns = _at_most(mask & ~inner, 600)
    pixels, centre = np.stack([columns, rows, np.ones(len(rows))], -1), robot_centre(mask)

    def error(shifts: np.ndarray) -> np.ndarray:
        u, v, inside = _moved(pixels, shifts, centre, mask.shape)
        return 1 - np.where(inside, rank[v, u], 0.4).mean(1)

    return error


def _link_agreement(observation: Observation, shift: np.ndarray) -> np.ndarray:
    """[L] share of the visible pixels of each link whose depth agrees after a shift."""
    from scipy.spatial import KDTree

    if shift.any():
        centre = robot_centre(robot_mask(observation))
        observation = with_robot_offset(
            observation, linear_map(shift, observation.camera.K, centre)
        )
    mask = robot_mask(observation)
    visible = mask & ~_hidden(observation, mask)
    points = observation.robot.xyz[0][visible]
    if len(points) < _LINK_PIXELS:
        return np.zeros(1)
    fits = _near_depth(observation)[visible] <= _TOLERANCE[0] + _TOLERANCE[1] * points[:, 2]
    link = np.zeros(len(points), int)
    if observation.link is not None:
        link = observation.link[KDTree(observation.robot_points[0]).query(points)[1]]
    count = np.bincount(link)
    shares = np.bincount(link, fits)[count >= _LINK_PIXELS] / count[count >= _LINK_PIXELS]
    return shares if len(shares) else np.array([fits.mean()])


def _near_depth(observation: Observation) -> np.ndarray:
    """[H, W] m: off the robot's depth, the best of a pixel and its neighbours: edges are mixed."""
    from scipy.ndimage import minimum_filter

    off = np.abs(observation.xyz[..., 2] - observation.robot.xyz[0, ..., 2])
    return minimum_filter(np.nan_to_num(off, nan=np.inf), 3)


def _hidden(observation: Observation, mask: np.ndarray) -> np.ndarray:
    """[H, W] bool: pixels of the robot that something nearer hides, or without depth."""
    depth = observation.robot.xyz[0, ..., 2]
    measured = observation.xyz[..., 2]
    tolerance = _TOLERANCE[0] + _TOLERANCE[1] * depth
    return mask & (~np.isfinite(measured) | (measured < depth - 4 * tolerance))


def _moved(
    pixels: np.ndarray, shifts: np.ndarray, centre: np.ndarray, shape: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns and rows [C, N] of pixels [N, 3] after shifts [C, 3], and which are in the image."""
    moved = np.einsum("cij,nj->cni", warp_matrices(shifts, centre), pixels)[..., :2]
    u, v = np.rint(moved).astype(int).transpose(2, 0, 1)
    inside = (u >= 0) & (v >= 0) & (u < shape[1]) & (v < shape[0])
    return np.where(inside, u, 0), np.where(inside, v, 0), inside


def _warped(mask: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """[H, W] bool: a mask whose pixels are moved by a [3, 3] map."""
    inverse = np.linalg.inv(matrix)
    v, u = np.indices(mask.shape)
    source = np.stack([u, v, np.ones_like(u)], -1) @ inverse.T
    x, y = np.rint(source[..., 0]).astype(int), np.rint(source[..., 1]).astype(int)
    inside = (x >= 0) & (y >= 0) & (x < mask.shape[1]) & (y < mask.shape[0])
    return inside & mask[np.where(inside, y, 0), np.where(inside, x, 0)]


def _at_most(mask: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of a mask's pixels, evenly thinned."""
    rows, columns = np.nonzero(mask)
    step = max(1, len(rows) // count)
    return rows[::step], columns[::step]
