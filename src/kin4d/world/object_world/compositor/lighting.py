"""Light: where it comes from, found in the first frame by the shadow of a robot that is known.

The robot's shape and place are exact, so its shadow on the table is known for any direction of
light. The direction whose shadow explains best where the table is dark is taken.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kin4d.render.pointmaps import render_instances
from kin4d.render.render_scene import to_linear
from kin4d.render.shading import Lights, to_srgb
from kin4d.world.observation import Observation

FLAT = 0.008
"""Metres off the plane of the robot's base that still are table."""
_LEAST = 0.12  # correlation below which no shadow is believed
_AZIMUTHS, _TILTS = 16, (15.0, 27.0, 39.0, 51.0, 63.0)
_CLOSER = (6.0, 3.0, 1.5)  # degrees around the best direction, ever closer
_SEEN = 20  # pixels of the robot that tell how bright it is
_SOFT = 90  # shadows are soft over the picture's height divided by this


@dataclass(frozen=True, eq=False)
class Light:
    """A distant light over a table.

    Attributes:
        key: [3] unit vector towards it, in the frame of the robot's base.
        power: Share of the table's brightness that a shadow takes away; 0 if none was found.
    """

    key: np.ndarray
    power: float


class Shadows:
    """Shadows on the table of one situation, for any light.

    Args:
        situation: Its robot's base stands on the table.
        still: [H, W] bool: pixels of the first frame that do not show table, robot aside.
    """

    def __init__(self, situation: Observation, still: np.ndarray) -> None:
        self._situation = situation
        place = situation.to_base(situation.xyz.astype(np.float64))
        robot = situation.robot.mask[0] > 0
        self.table = (np.abs(place[..., 2]) < FLAT) & ~robot & ~still

    def cast(self, points: np.ndarray, keys: np.ndarray) -> np.ndarray:
        """[C, H, W] float32 from 0 to 1: shadows of points [N, 3] m (base) for lights [C, 3]."""
        from scipy.ndimage import gaussian_filter, uniform_filter

        situation, camera = self._situation, self._situation.camera
        above = points[points[:, 2] > 0]
        slant = keys / keys[:, 2:]
        flat = above[None] - slant[:, None] * above[None, :, 2:]
        seen = flat @ situation.base[:3, :3].T + situation.base[:3, 3]
        image = seen @ camera.K.T
        front = image[..., 2] > 1e-3
        u, v = (np.rint(image[..., k] / np.where(front, image[..., 2], 1)) for k in (0, 1))
        inside = front & (u >= 0) & (v >= 0) & (u < camera.width) & (v < camera.height)
        shape = (len(keys), camera.height, camera.width)
        hit = np.zeros(shape, np.float32)
        which = np.broadcast_to(np.arange(len(keys))[:, None], u.shape)[inside]
        hit[which, v[inside].astype(int), u[inside].astype(int)] = 1.0
        hard = uniform_filter(hit, (1, 3, 3)) > 0.12  # pyright: ignore[reportArgumentType]
        return gaussian_filter(hard.astype(np.float32), (0, *[camera.height / _SOFT] * 2))

    def find(self, points: np.ndarray) -> Light:
        """The light of the first frame, in which what casts shadows is at `points` [N, 3] m."""
        keys, best = _directions(), 0
        none = Light(keys[0], 0.0)
        if self.table.sum() < 200:
            return none
        bright = np.log(to_linear(self._situation.image)[self.table].mean(-1) + 0.02)
        v, u = np.nonzero(self.table)
        basis, _ = np.linalg.qr(np.stack([np.ones(len(u)), u, v], -1))
        dark = -(bright - basis @ (basis.T @ bright))
        for degrees in (0.0, *_CLOSER):
            keys = _around(keys[best], degrees) if degrees else keys
            shadows = self.cast(points, keys)[:, self.table].astype(np.float64)
            shadows -= (shadows @ basis) @ basis.T
            size = np.linalg.norm(shadows, axis=1)
            match = np.where(size > 1.0, shadows @ dark / np.maximum(size, 1e-9), 0.0)
            best = int(match.argmax())
        if match[best] < _LEAST * np.linalg.norm(dark):
            return none
        slope = match[best] / size[best]
        return Light(keys[best], float(np.clip(1 - np.exp(-slope), 0.0, 0.8)))


def brightness(normals: np.ndarray, situation: Observation, light: Light) -> np.ndarray:
    """[N] how bright a white surface is, facing along unit vectors [N, 3] of the camera frame."""
    turn, lights = situation.base[:3, :3], Lights(key=light.key, up=np.array([0.0, 0.0, 1.0]))
    height = 0.5 + 0.5 * normals @ (turn @ lights.up)
    sky = lights.floor_power + (lights.sky_power - lights.floor_power) * height
    return sky + lights.key_power * np.maximum(normals @ (turn @ light.key), 0.0)


def relight(situation: Observation, light: Light, *, threads: int | None = 1) -> np.ndarray:
    """[T, H, W, 3] uint8: the robot in the light of the first frame, as bright as it is there."""
    drawn, actor, camera = situation.robot, situation.actor, situation.camera
    if light.power > 0 and actor is not None:
        to_world = camera.pose @ situation.base
        key = to_world[:3, :3] @ light.key
        lights = Lights(key=key, up=to_world[:3, 2])
        drawn = render_instances([actor], camera, fps=drawn.fps, lights=lights, threads=threads)
    there = drawn.mask[0] > 0
    if there.sum() < _SEEN:
        return drawn.rgb
    true, ours = to_linear(situation.image)[there], to_linear(drawn.rgb[0])[there]
    gain = np.clip((true * ours).sum(0) / np.maximum((ours**2).sum(0), 1e-6), 0.4, 2.5)
    rgb = drawn.rgb.copy()
    mine = drawn.mask > 0
    rgb[mine] = to_srgb(to_linear(drawn.rgb[mine]) * gain)
    return rgb


def _around(key: np.ndarray, degrees: float) -> np.ndarray:
    """[9, 3] a direction, and eight that are so many degrees away from it."""
    side = np.cross(key, [1.0, 0.0, 0.0])
    side /= np.linalg.norm(side)
    other = np.cross(key, side)
    angle = np.arange(8) * np.pi / 4
    ring = key + np.tan(np.radians(degrees)) * (
        np.cos(angle)[:, None] * side + np.sin(angle)[:, None] * other
    )
    ring[:, 2] = np.maximum(ring[:, 2], 0.2)
    return np.concatenate([key[None], ring / np.linalg.norm(ring, axis=1, keepdims=True)])


def _directions() -> np.ndarray:
    """[C, 3] unit vectors upwards."""
    azimuth, tilt = np.meshgrid(
        np.arange(_AZIMUTHS) * 2 * np.pi / _AZIMUTHS, np.radians(_TILTS), indexing="ij"
    )
    sine = np.sin(tilt)
    return np.stack([sine * np.cos(azimuth), sine * np.sin(azimuth), np.cos(tilt)], -1).reshape(
        -1, 3
    )
