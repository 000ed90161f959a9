"""Background: what is visible behind the bodies. It has a colour, but no depth and no mask id."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kin4d.errors import InputError
from kin4d.geometry.camera import Camera
from kin4d.render.render_scene import to_linear
from kin4d.render.shading import Lights

_SKY_TONE, _GRADIENT, _FLOOR_TONE, _CHECKER_CONTRAST = 0.80, 0.22, 0.76, 0.10

BackgroundLike = str | tuple[float, float, float] | np.ndarray


@dataclass(frozen=True, eq=False, kw_only=True)
class FloorPlane:
    """A horizontal plane that fades out into the background and catches shadows.

    Attributes:
        height: Metres along `up`.
        centre: [3] metres: the fade starts around it.
        radius: Metres over which it fades.
        up: [3] unit vector.
        cell: Side of the checker's squares in metres; 0 for a plain floor.
    """

    height: float
    centre: np.ndarray
    radius: float
    up: np.ndarray
    cell: float = 0.0

    @classmethod
    def under(cls, bounds: np.ndarray, *, up: np.ndarray, checker: bool = False) -> FloorPlane:
        """The floor that objects in the box `bounds` [2, 3] (m) stand on."""
        corners = np.array(np.meshgrid(*np.transpose(bounds))).reshape(3, -1).T
        size = float(np.linalg.norm(bounds[1] - bounds[0]))
        # A round number of metres (1, 2 or 5 times a power of ten) gives a sense of scale.
        target = max(size / 8, 1e-12)
        decade = 10.0 ** np.floor(np.log10(target))
        cell = decade * max(step for step in (1, 2, 5) if step * decade <= target * 1.0001)
        return cls(
            height=float((corners @ up).min()),
            centre=bounds.mean(0),
            radius=2.2 * size,
            up=up,
            cell=cell if checker else 0.0,
        )

    def seen_by(self, camera: Camera) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What each pixel shows of the floor, all [H, W] float32.

        Returns:
            How much of it, from 0 to 1, and two horizontal coordinates in metres from the centre.
        """
        east = np.cross(self.up, np.eye(3)[np.abs(self.up).argmin()])
        east /= np.linalg.norm(east)
        axes = np.stack([east, np.cross(self.up, east), self.up])
        eye = axes @ (camera.pose[:3, 3] - self.centre)
        above = eye[2] + axes[2] @ self.centre - self.height
        # A ray's slope along each axis is linear in the pixel.
        slopes = (axes @ camera.pose[:3, :3] @ np.linalg.inv(camera.K)).astype(np.float32)
        u, v = np.arange(camera.width, dtype=np.float32), np.arange(camera.height, dtype=np.float32)
        x, y, z = (a * u + (b * v + c)[:, None] for a, b, c in slopes)
        visible = (z < 0) & (above > 0)
        distance = np.divide(-np.float32(above), z, out=np.zeros_like(z), where=visible)
        x, y = np.float32(eye[0]) + distance * x, np.float32(eye[1]) + distance * y
        return np.where(visible, np.exp(-(x * x + y * y) / self.radius**2), 0), x, y

    def shadow_matrix(self, lights: Lights) -> np.ndarray:
        """[4, 4]: flattens the world onto the floor, along the key light."""
        slant = lights.key / (lights.key @ self.up)
        matrix = np.eye(4)
        matrix[:3, :3] -= np.outer(slant, self.up)
        matrix[:3, 3] = self.height * slant
        return matrix


@dataclass(frozen=True, eq=False)
class Background:
    """A painted backdrop: `image` [H, W, 3] float32 linear, `floor` [H, W] from 0 to 1."""

    image: np.ndarray
    floor: np.ndarray | None

    @classmethod
    def paint(
        cls, camera: Camera, background: BackgroundLike, floor: FloorPlane | None
    ) -> Background:
        """Paint what the camera sees behind the bodies.

        Args:
            camera: The view.
            background: ``"studio"`` (a light grey gradient), linear RGB in [0, 1], or an sRGB
                image [H, W, 3] uint8 of the camera's size.
            floor: Drawn over it, if given.
        """
        image = np.ascontiguousarray(_image(camera, background), np.float32)
        if floor is None:
            return cls(image, None)
        amount, x, y = floor.seen_by(camera)
        tone = np.full(amount.shape, _FLOOR_TONE, np.float32)
        if floor.cell > 0:
            squares = np.floor(x / floor.cell) + np.floor(y / floor.cell)
            tone -= np.float32(_CHECKER_CONTRAST) * (squares % 2)
        return cls(image + amount[..., None] * (tone[..., None] - image), amount)


def _image(camera: Camera, background: BackgroundLike) -> np.ndarray:
    shape = (camera.height, camera.width, 3)
    if isinstance(background, str):
        if background != "studio":
            raise InputError(
                "unknown background",
                value=background,
                allowed="'studio', linear RGB values, or an image [H, W, 3] uint8",
            )
        row = np.linspace(0, 1, camera.height)[:, None, None]
        return np.broadcast_to(_SKY_TONE - _GRADIENT * row**1.5, shape)
    if np.shape(background) == (3,):
        return np.broadcast_to(np.asarray(background, np.float32), shape)
    image = np.asarray(background)
    if image.shape != shape or image.dtype != np.uint8:
        raise InputError(
            "background image has the wrong shape or type",
            value=(image.shape, str(image.dtype)),
            allowed=f"{shape} uint8",
        )
    return to_linear(image)
