"""Estimate the light of the first frame from the robot's shadow; cast shadows, relight the robot.

The robot's geometry is exact, so its shadow on the table is known for any light direction. The
direction whose shadow correlates best with dark table pixels is chosen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kin4d.render.pointmaps import render_instances
from kin4d.render.render_scene import to_linear
from kin4d.render.shading import Lights, to_srgb
from kin4d.world.observation import Observation

TABLE_TOLERANCE = 0.008
"""Metres from the support plane within which points are on the table."""
_MIN_CORRELATION = 0.12  # below it no light is assumed
_AZIMUTHS, _TILTS = 16, (15.0, 27.0, 39.0, 51.0, 63.0)
_REFINE_DEGREES = (6.0, 3.0, 1.5)  # around the best direction, coarse to fine
_MIN_PIXELS = 20  # of the robot, to estimate its brightness
_SHADOW_ROWS = 64  # of the image in which shadows are cast
_BLUR_FRACTION = 90  # shadow blur is the image height divided by this


@dataclass(frozen=True, eq=False)
class Light:
    """A directional light over the table.

    Attributes:
        direction: [3] unit vector towards it, in the support frame.
        shadow_strength: Share of the table's brightness that a shadow removes; 0 if there is no
            light.
    """

    direction: np.ndarray
    shadow_strength: float


class Shadows:
    """Casts shadows on the table of an observation.

    Args:
        observation: The first frame.
        occupied: [H, W] bool: pixels of the first frame that show an object.
    """

    def __init__(self, observation: Observation, occupied: np.ndarray) -> None:
        self._observation = observation
        position = observation.to_support(observation.xyz.astype(np.float64))
        robot = observation.robot.mask[0] > 0
        self.table = (np.abs(position[..., 2]) < TABLE_TOLERANCE) & ~robot & ~occupied
        # Shadows are soft, and their points few: they are cast in a small image.
        camera = observation.camera
        factor = max(1, camera.height // _SHADOW_ROWS)
        self._camera = camera.resized(-(-camera.width // factor), -(-camera.height // factor))

    def cast(self, points: np.ndarray, keys: np.ndarray) -> np.ndarray:
        """[C, H, W] float32 from 0 to 1: shadows of points [N, 3] (m) for lights [C, 3]."""
        small, camera = self._cast_small(points, keys), self._observation.camera
        if small.shape[1:] == (camera.height, camera.width):
            return small
        from scipy.ndimage import zoom

        scale = camera.height / small.shape[1], camera.width / small.shape[2]
        return np.asarray(zoom(small, (1, *scale), order=1, mode="nearest", grid_mode=True))

    def _cast_small(self, points: np.ndarray, keys: np.ndarray) -> np.ndarray:
        """`cast`, in the small image."""
        from scipy.ndimage import gaussian_filter, uniform_filter

        observation, camera = self._observation, self._camera
        above = points[points[:, 2] > 0]
        slant = keys / keys[:, 2:]
        flat = above[None] - slant[:, None] * above[None, :, 2:]
        camera_points = (
            flat @ observation.support_in_camera[:3, :3].T + observation.support_in_camera[:3, 3]
        )
        pixels = camera_points @ camera.K.T
        in_front = pixels[..., 2] > 1e-3
        u, v = (np.rint(pixels[..., k] / np.where(in_front, pixels[..., 2], 1)) for k in (0, 1))
        inside = in_front & (u >= 0) & (v >= 0) & (u < camera.width) & (v < camera.height)
        shape = (len(keys), camera.height, camera.width)
        hits = np.zeros(shape, np.float32)
        index = np.broadcast_to(np.arange(len(keys))[:, None], u.shape)[inside]
        hits[index, v[inside].astype(int), u[inside].astype(int)] = 1.0
        hard = uniform_filter(hits, (1, 3, 3)) > 0.12  # pyright: ignore[reportArgumentType]
        return gaussian_filter(hard.astype(np.float32), (0, *[camera.height / _BLUR_FRACTION] * 2))

    def estimate_light(self, points: np.ndarray) -> Light:
        """Estimate the light of the first frame from shadow-casting `points` [N, 3] m."""
        keys, best = _directions(), 0
        no_light = Light(keys[0], 0.0)
        table, image = self._small_table(), self._small_image()
        if table.sum() < 200:
            return no_light
        bright = np.log(to_linear(image)[table].mean(-1) + 0.02)
        v, u = np.nonzero(table)
        basis, _ = np.linalg.qr(np.stack([np.ones(len(u)), u, v], -1))
        dark = -(bright - basis @ (basis.T @ bright))
        for degrees in (0.0, *_REFINE_DEGREES):
            keys = _directions_around(keys[best], degrees) if degrees else keys
            shadows = self._cast_small(points, keys)[:, table].astype(np.float64)
            shadows -= (shadows @ basis) @ basis.T
            norm = np.linalg.norm(shadows, axis=1)
            correlation = np.where(norm > 1.0, shadows @ dark / np.maximum(norm, 1e-9), 0.0)
            best = int(correlation.argmax())
        if correlation[best] < _MIN_CORRELATION * np.linalg.norm(dark):
            return no_light
        slope = correlation[best] / norm[best]
        return Light(keys[best], float(np.clip(1 - np.exp(-slope), 0.0, 0.8)))

    def _small_table(self) -> np.ndarray:
        """[h, w] bool: the table in the small image."""
        height, width = self.table.shape
        rows = (np.arange(self._camera.height) + 0.5) * height / self._camera.height
        columns = (np.arange(self._camera.width) + 0.5) * width / self._camera.width
        return self.table[rows.astype(int)][:, columns.astype(int)]

    def _small_image(self) -> np.ndarray:
        """[h, w, 3] uint8: the first frame in small."""
        from PIL import Image

        image, size = self._observation.image, (self._camera.width, self._camera.height)
        if image.shape[:2] == size[::-1]:
            return image
        return np.asarray(Image.fromarray(image).resize(size, Image.Resampling.BOX))


def brightness(normals: np.ndarray, observation: Observation, light: Light) -> np.ndarray:
    """[N] brightness of a white surface with unit normals [N, 3] in the camera frame."""
    rotation = observation.support_in_camera[:3, :3]
    lights = Lights(key=light.direction, up=np.array([0.0, 0.0, 1.0]))
    height = 0.5 + 0.5 * normals @ (rotation @ lights.up)
    sky = lights.floor_power + (lights.sky_power - lights.floor_power) * height
    return sky + lights.key_power * np.maximum(normals @ (rotation @ light.direction), 0.0)


def relight(observation: Observation, light: Light, *, threads: int | None = 1) -> np.ndarray:
    """[T, H, W, 3] uint8: the robot in the light and brightness of the first frame."""
    rendered, actor, camera = observation.robot, observation.actor, observation.camera
    if light.shadow_strength > 0 and actor is not None:
        to_world = camera.pose @ observation.support_in_camera
        key = to_world[:3, :3] @ light.direction
        lights = Lights(key=key, up=to_world[:3, 2])
        rendered = render_instances(
            [actor], camera, fps=rendered.fps, lights=lights, threads=threads
        )
    on_robot = rendered.mask[0] > 0
    if on_robot.sum() < _MIN_PIXELS:
        return rendered.rgb
    observed_rgb, rendered_rgb = (
        to_linear(observation.image)[on_robot],
        to_linear(rendered.rgb[0])[on_robot],
    )
    gain = np.clip(
        (observed_rgb * rendered_rgb).sum(0) / np.maximum((rendered_rgb**2).sum(0), 1e-6), 0.4, 2.5
    )
    rgb = rendered.rgb.copy()
    robot_pixels = rendered.mask > 0
    rgb[robot_pixels] = to_srgb(to_linear(rendered.rgb[robot_pixels]) * gain)
    return rgb


def _directions_around(key: np.ndarray, degrees: float) -> np.ndarray:
    """[9, 3] a direction, and eight that differ from it by `degrees`."""
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
