"""The plane that objects rest on: found in depth, from the robot's motion, or given."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from kin4d.errors import InputError
from kin4d.files import read_json
from kin4d.reading import reading
from kin4d.world.observation import Observation

_BIN = 0.01  # m of height
_BAND = 0.012  # m off a plane within which points are on it
_MIN_UPRIGHT = 0.85  # vertical part of the normal of a horizontal surface
_MIN_PIXELS = 40
_MIN_SHARE = 0.015  # of the image, for a plane
_MAX_TILT = 0.2  # rad of a given or found plane off the horizontal
_LEVEL = 0.02  # rad of tilt below which a found plane is taken as horizontal
_SEPARATION = 0.03  # m between two planes
_NEAR_PATH = 0.25  # m off the hand's path within which a surface counts as worked on
_BELOW_PATH = 0.02  # m that the hand may be seen to reach below its support
_MOVING = 0.02  # m that a point of the robot moves, unless it belongs to its mount
_STANDING = (-0.015, 0.08)  # m of the hand's lowest point above a support that it works on


@dataclass(frozen=True, eq=False, kw_only=True)
class SupportPlane:
    """A plane in the frame of the robot's base, whose z axis points up.

    Attributes:
        normal: [3] unit vector, upwards.
        height: m; points on the plane have ``normal @ x == height``.
        source: "given", "depth" (found in it), "robot" (guessed from its motion) or "base" (the
            base stands on it).
        share: Of the image's pixels that show it; NaN unless found in depth.
    """

    normal: np.ndarray
    height: float
    source: str = "given"
    share: float = float("nan")

    @classmethod
    def at_height(cls, height: float, *, source: str = "given") -> SupportPlane:
        """A horizontal plane `height` m above the robot's base."""
        if not np.isfinite(height) or abs(height) > 5:
            raise InputError(
                "height of the table", value=height, allowed="m above the robot's base, -5 to 5"
            )
        return cls(normal=np.array([0.0, 0.0, 1.0]), height=float(height), source=source)

    @classmethod
    def load(cls, path: str | Path) -> SupportPlane:
        """Read JSON: ``{"normal": [x, y, z], "point": [x, y, z]}``, base frame, m."""
        data = read_json(path)
        with reading(
            path, "support plane", hint='give {"normal": [0, 0, 1], "point": [0, 0, -0.1]}'
        ):
            normal, point = (np.array(data[key], np.float64) for key in ("normal", "point"))
            return cls.through(point, normal)

    @classmethod
    def through(cls, point: np.ndarray, normal: np.ndarray) -> SupportPlane:
        """The plane through a point [3] (m) with a normal [3], which need not be of unit length."""
        size = float(np.linalg.norm(normal)) if np.shape(normal) == (3,) else 0.0
        if (
            np.shape(point) != (3,)
            or not np.isfinite([*point, *np.ravel(normal)]).all()
            or not size
        ):
            raise InputError(
                "a support plane needs a point and a normal",
                value=(np.asarray(point).tolist(), np.asarray(normal).tolist()),
                allowed="three finite numbers each, the normal not zero",
            )
        unit = np.asarray(normal, np.float64) / size
        if unit[2] < np.cos(_MAX_TILT):
            raise InputError(
                "a support plane is about horizontal, its normal up",
                value=unit.round(3).tolist(),
                allowed=f"at most {np.degrees(_MAX_TILT):.0f} degrees off the base's z axis",
                hint="if the base itself is tilted, give its pose (--base-pose)",
            )
        return cls(normal=unit, height=float(unit @ np.asarray(point)))

    @property
    def frame(self) -> np.ndarray:
        """[4, 4] pose in the base frame: origin nearest to the base, z along the normal."""
        frame = np.eye(4)
        x = np.array([1.0, 0.0, 0.0]) - self.normal[0] * self.normal
        x /= np.linalg.norm(x)
        frame[:3, :3] = np.stack([x, np.cross(self.normal, x), self.normal], axis=1)
        frame[:3, 3] = self.height * self.normal
        return frame

    def __str__(self) -> str:
        where = f"{1e3 * abs(self.height):.0f} mm {'below' if self.height < 0 else 'above'}"
        how = {"depth": "found in the depth", "robot": "guessed from the robot's motion"}
        if self.source == "base":
            return "at the height of the robot's base (guessed from its motion)"
        return f"{where} the robot's base ({how.get(self.source, self.source)})"


def find_support(observation: Observation) -> SupportPlane | None:
    """The plane that an observation's robot works on.

    With depth it is found there; None if no horizontal surface is seen below the robot's hand.
    Without depth it is guessed from the robot's motion.
    """
    observation = replace(observation, support=np.eye(4))
    path = lowest_points(observation.to_support(observation.robot_points))
    if not np.isfinite(observation.xyz).any():
        return guess_support(path)
    xyz = observation.to_support(observation.xyz.astype(np.float64))
    visible = observation.robot.mask[0] == 0
    return choose_support(find_support_planes(xyz, visible), xyz, path)


def with_support(observation: Observation, plane: SupportPlane) -> Observation:
    """The observation whose objects rest on a plane."""
    return replace(observation, support=plane.frame)


def find_support_planes(xyz: np.ndarray, visible: np.ndarray) -> list[SupportPlane]:
    """Horizontal surfaces in a depth image, the largest in the image first: table, shelf, floor.

    Args:
        xyz: [H, W, 3] m in the base frame; NaN where unknown.
        visible: [H, W] bool: pixels that do not show the robot.
    """
    level = (
        visible & np.isfinite(xyz).all(-1) & (np.abs(_pixel_normals(xyz)[..., 2]) > _MIN_UPRIGHT)
    )
    points = xyz[level].astype(np.float64)
    least = max(_MIN_PIXELS, _MIN_SHARE * visible.size)
    planes: list[SupportPlane] = []
    while len(points) >= least:
        heights = points[:, 2]
        bins = np.floor(heights / _BIN).astype(int)
        first = bins.min()
        counts = np.bincount(bins - first)
        smooth = np.convolve(counts, [1, 1, 1], mode="same")
        centre = (int(smooth.argmax()) + first + 0.5) * _BIN
        near = np.abs(heights - centre) < 2 * _BAND
        if near.sum() < least:
            break
        plane = _fit_plane(points[near])
        if plane is not None and all(abs(plane.height - p.height) > _SEPARATION for p in planes):
            on_it = np.abs(points @ plane.normal - plane.height) < _BAND
            if on_it.sum() >= least:
                planes.append(
                    SupportPlane(
                        normal=plane.normal,
                        height=plane.height,
                        source="depth",
                        share=float(on_it.sum() / visible.size),
                    )
                )
            near |= np.abs(points @ plane.normal - plane.height) < _SEPARATION
        points = points[~near]
    return sorted(planes, key=lambda plane: -plane.share)


def choose_support(
    planes: list[SupportPlane], xyz: np.ndarray, path: np.ndarray
) -> SupportPlane | None:
    """The plane that the robot works on: the one most seen near and below its hand's path.

    Args:
        planes: See `find_support_planes`.
        xyz: [H, W, 3] m in the base frame; NaN where unknown.
        path: [T, 3] m: the lowest moving point of the robot in each frame; see `lowest_points`.
    """
    from scipy.spatial import KDTree

    points = xyz[np.isfinite(xyz).all(-1)].astype(np.float64)
    if not len(points):
        return None
    distance = KDTree(path[:, :2]).query(points[:, :2])[0]
    weight = np.exp(-((distance / _NEAR_PATH) ** 2))
    best, chosen = 0.0, None
    for plane in planes:
        if (path @ plane.normal).min() < plane.height - _BELOW_PATH:
            continue
        on_it = np.abs(points @ plane.normal - plane.height) < _BAND
        if weight[on_it].sum() > best:
            best, chosen = float(weight[on_it].sum()), plane
    return chosen


def guess_support(path: np.ndarray) -> SupportPlane:
    """The plane without depth: that of the base if the hand comes down to it, else below the hand.

    Args:
        path: As of `choose_support`.
    """
    lowest = float(path[:, 2].min())
    if _STANDING[0] <= lowest <= _STANDING[1]:
        return SupportPlane.at_height(0.0, source="base")
    return SupportPlane.at_height(lowest - 0.01, source="robot")


def lowest_points(robot_points: np.ndarray) -> np.ndarray:
    """[T, 3] m: the lowest point of the robot that moves, in each frame.

    Args:
        robot_points: [T, N, 3] m in the base frame: points on its surface.
    """
    moving = np.linalg.norm(np.ptp(robot_points, axis=0), axis=-1) > _MOVING
    points = robot_points[:, moving] if moving.any() else robot_points
    return points[np.arange(len(points)), points[..., 2].argmin(1)].astype(np.float64)


def _fit_plane(points: np.ndarray) -> SupportPlane | None:
    """The plane of points [N, 3], outliers weighted down; None if it is steep."""
    weight = np.ones(len(points))
    design = np.column_stack([points[:, :2], np.ones(len(points))])
    solution = np.zeros(3)
    for _ in range(8):
        root = np.sqrt(weight)
        solution = np.linalg.lstsq(design * root[:, None], points[:, 2] * root, rcond=None)[0]
        residual = design @ solution - points[:, 2]
        weight = 1 / (1 + (residual / 0.004) ** 2)
    normal = np.array([-solution[0], -solution[1], 1.0])
    normal /= np.linalg.norm(normal)
    tilt = float(np.arccos(np.clip(normal[2], -1, 1)))
    if tilt > _MAX_TILT:
        return None
    if tilt < _LEVEL:
        return SupportPlane.at_height(
            float(np.average(points[:, 2], weights=weight)), source="depth"
        )
    return SupportPlane(normal=normal, height=float(solution[2] * normal[2]), source="depth")


def _pixel_normals(xyz: np.ndarray) -> np.ndarray:
    """[H, W, 3] unit normals across neighbouring pixels; zero where unknown."""
    right, down = np.zeros_like(xyz), np.zeros_like(xyz)
    right[:, 1:-1] = xyz[:, 2:] - xyz[:, :-2]
    down[1:-1] = xyz[2:] - xyz[:-2]
    normal = np.nan_to_num(np.cross(right, down))
    return normal / np.maximum(np.linalg.norm(normal, axis=-1, keepdims=True), 1e-12)
