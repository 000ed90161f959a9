"""Camera: a pinhole in OpenCV's convention, saved with every result.

Camera frame: x right, y down, z forward. Pixel coordinates: u right, v down, and the *centre* of
the top-left pixel is (0, 0), so an image of width W spans u from -0.5 to W - 0.5.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from kin4d.errors import InputError
from kin4d.files import read_json, write_json
from kin4d.geometry.camera_conventions import to_opencv
from kin4d.reading import reading

_CONVENTION = "opencv: x right, y down, z forward; pixel centres at integers"


@dataclass(frozen=True, eq=False)
class Camera:
    """A fixed pinhole camera.

    Attributes:
        K: [3, 3] float64 intrinsics in pixels.
        pose: [4, 4] float64 camera-to-world rigid transform, metres.
        width: Image width in pixels.
        height: Image height in pixels.
    """

    K: np.ndarray
    pose: np.ndarray
    width: int
    height: int

    def __post_init__(self) -> None:
        K = np.array(self.K, np.float64)
        pose = np.array(self.pose, np.float64)
        if K.shape != (3, 3) or not np.isfinite(K).all():
            raise InputError("camera K must be a finite 3x3 matrix", value=K.tolist())
        if K[0, 0] <= 0 or K[1, 1] <= 0:
            raise InputError(
                "camera focal length must be positive",
                value=(float(K[0, 0]), float(K[1, 1])),
                allowed="fx > 0 and fy > 0, in pixels",
            )
        if abs(K[2] - [0, 0, 1]).max() > 1e-9 or abs(K[1, 0]) > 1e-9:
            raise InputError(
                "camera K is not an intrinsic matrix",
                value=K.tolist(),
                allowed="[[fx, s, cx], [0, fy, cy], [0, 0, 1]]",
            )
        if pose.shape != (4, 4) or not np.isfinite(pose).all():
            raise InputError("camera pose must be a finite 4x4 matrix", value=pose.tolist())
        rotation = pose[:3, :3]
        if abs(rotation @ rotation.T - np.eye(3)).max() > 1e-5 or np.linalg.det(rotation) < 0:
            raise InputError(
                "camera pose is not a rigid transform",
                value=pose.tolist(),
                allowed="a rotation (det = +1) and a translation, camera to world",
            )
        if not all(size >= 1 and size % 1 == 0 for size in (self.width, self.height)):
            raise InputError(
                "camera image size must be positive whole numbers",
                value=(self.width, self.height),
                allowed="width >= 1 and height >= 1, in pixels",
            )
        K.flags.writeable = pose.flags.writeable = False
        for name, value in (
            ("K", K),
            ("pose", pose),
            ("width", int(self.width)),
            ("height", int(self.height)),
        ):
            object.__setattr__(self, name, value)

    @classmethod
    def look_at(
        cls,
        eye: np.ndarray | tuple[float, float, float],
        target: np.ndarray | tuple[float, float, float],
        *,
        up: np.ndarray | tuple[float, float, float] = (0.0, 0.0, 1.0),
        fov: float = 45.0,
        width: int = 720,
        height: int = 480,
    ) -> Camera:
        """A camera at `eye` (m) looking at `target` (m); `fov` is vertical, in degrees."""
        if not 0 < fov < 180:
            raise InputError("field of view out of range", value=fov, allowed="0 < fov < 180 deg")
        eye, target, up = (np.asarray(v, np.float64) for v in (eye, target, up))
        forward = target - eye
        if not np.linalg.norm(forward) > 0:
            raise InputError("camera eye and target coincide", value=eye.tolist())
        forward = forward / np.linalg.norm(forward)
        right = np.cross(forward, up)
        if np.linalg.norm(right) < 1e-9 * np.linalg.norm(up):
            # Looking along `up`: any horizontal direction serves, so take the least aligned axis.
            right = np.cross(forward, np.eye(3)[np.abs(forward).argmin()])
        right = right / np.linalg.norm(right)
        pose = np.eye(4)
        pose[:3, :3] = np.stack([right, np.cross(forward, right), forward], axis=1)
        pose[:3, 3] = eye
        focal = 0.5 * height / np.tan(np.radians(fov) / 2)
        K = np.array([[focal, 0, (width - 1) / 2], [0, focal, (height - 1) / 2], [0, 0, 1.0]])
        return cls(K, pose, width, height)

    @classmethod
    def framing(
        cls,
        bounds: np.ndarray,
        *,
        direction: tuple[float, float, float] = (1.0, -1.4, 0.7),
        up: tuple[float, float, float] = (0.0, 0.0, 1.0),
        fov: float = 35.0,
        width: int = 720,
        height: int = 480,
    ) -> Camera:
        """The nearest camera in `direction` that sees the whole box `bounds` [2, 3] (m)."""
        bounds = np.asarray(bounds, np.float64)
        centre = bounds.mean(0)
        ray = np.asarray(direction, np.float64) / np.linalg.norm(direction)
        unit = cls.look_at(centre + ray, centre, up=up, fov=fov, width=width, height=height)
        corners = np.stack(np.meshgrid(*bounds.T), -1).reshape(-1, 3)
        tangent = np.tan(np.radians(fov) / 2) / 1.05  # a margin of one part in twenty
        local = (corners - centre) @ unit.pose[:3, :3]
        reach = np.abs(local[:, :2]) / (tangent * np.array([width / height, 1.0]))
        distance = float((reach - local[:, 2:]).max())
        eye = centre + ray * max(distance, 1e-12)
        return cls.look_at(eye, centre, up=up, fov=fov, width=width, height=height)

    @property
    def world_to_camera(self) -> np.ndarray:
        """[4, 4] inverse of `pose`."""
        inverse = np.eye(4)
        inverse[:3, :3] = self.pose[:3, :3].T
        inverse[:3, 3] = -self.pose[:3, :3].T @ self.pose[:3, 3]
        return inverse

    def project(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """World points [..., 3] (m) to pixels [..., 2] and depth z [...] (m).

        Points at z <= 0 are behind the camera; their pixels are NaN.
        """
        matrix = self.world_to_camera
        local = np.asarray(points, np.float64) @ matrix[:3, :3].T + matrix[:3, 3]
        depth = local[..., 2]
        safe = np.where(depth > 0, depth, np.nan)
        return (local @ self.K.T)[..., :2] / safe[..., None], depth

    def rays(self) -> np.ndarray:
        """[H, W, 3] camera-frame directions through pixel centres, with z = 1."""
        u, v = np.meshgrid(np.arange(self.width), np.arange(self.height))
        return np.stack([u, v, np.ones_like(u)], axis=-1) @ np.linalg.inv(self.K).T

    def to_world(self, xyz: np.ndarray) -> np.ndarray:
        """Camera-frame points [..., 3] (m) to the world frame."""
        return xyz @ self.pose[:3, :3].T.astype(xyz.dtype) + self.pose[:3, 3].astype(xyz.dtype)

    def resized(self, width: int, height: int) -> Camera:
        """The same view at another resolution."""
        scale = np.array([width / self.width, height / self.height])
        K = self.K.copy()
        K[:2] *= scale[:, None]
        K[:2, 2] = (self.K[:2, 2] + 0.5) * scale - 0.5
        return replace(self, K=K, width=width, height=height)

    def to_dict(self) -> dict:
        """JSON-ready form, with the convention spelled out."""
        return {
            "convention": _CONVENTION,
            "width": self.width,
            "height": self.height,
            "K": self.K.tolist(),
            "pose_camera_to_world": self.pose.tolist(),
        }

    @classmethod
    def from_dict(cls, data: dict, *, convention: str | None = None) -> Camera:
        """Inverse of `to_dict`.

        Args:
            data: With ``"convention": "opengl"`` or another name, the pose is converted.
            convention: Name of the pose's convention, whatever the data say; see `CAMERA_AXES`.
        """
        needed = ("K", "pose_camera_to_world", "width", "height")
        missing = [key for key in needed if not isinstance(data, dict) or key not in data]
        if missing:
            raise InputError(
                f"camera description lacks {', '.join(missing)}", allowed=", ".join(needed)
            )
        with reading("its description", "camera"):
            K, pose = (np.array(data[key], np.float64) for key in needed[:2])
            width, height = float(data["width"]), float(data["height"])
            stated = str(data.get("convention", "opencv")).partition(":")[0].strip()
        camera = cls(K, pose, width, height)  # pyright: ignore[reportArgumentType]
        return replace(camera, pose=to_opencv(camera.pose, convention or stated))

    def save(self, path: str | Path) -> Path:
        """Write as JSON."""
        return write_json(path, self.to_dict())

    @classmethod
    def load(cls, path: str | Path, *, convention: str | None = None) -> Camera:
        """Read from JSON written by `save`; `convention` as of `from_dict`."""
        data = read_json(path)
        with reading(path, "camera"):
            return cls.from_dict(data, convention=convention)
