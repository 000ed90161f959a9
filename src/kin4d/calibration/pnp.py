"""A fixed camera from points whose position is known both in the world and in the image.

The unknowns are the camera's pose and, unless given, one focal length. A bank of rotations and
focal lengths gives starts (for these the translation is linear), the best are polished by robust
least squares, and the normal matrix at the best says how firmly each unknown is held. An answer
that the matches do not hold is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from kin4d.calibration.pnp_solver import (
    Evaluate,
    huber_weight,
    initial_poses,
    project_with_jacobian,
    robust_fit,
)
from kin4d.errors import InputError
from kin4d.geometry.camera import Camera

# Residuals (px) beyond this count linearly: about the error of a careful click.
HUBER = 2.0
# What "determined" means; see `solve_camera`.
_MAX_RMS, _MAX_POSITION, _MAX_FOCAL = 0.015, 0.1, 0.1
_THIN = 0.02
# Starts: focal lengths in image widths, and how many of the best are polished.
_FOCALS, _POLISHED = (0.4, 0.6, 0.9, 1.4, 2.2, 4.0), 12


@dataclass(frozen=True, eq=False, kw_only=True)
class CameraFit:
    """A camera and how far it is to be trusted.

    The standard deviations assume errors in the matches of the size of the residuals, and of at
    least one pixel: with few matches, small residuals prove little.

    Attributes:
        camera: The fitted camera.
        residuals: [N, 2] projected minus given pixels.
        position_std: [3] metres, of the camera's centre along the world's axes.
        rotation_std: [3] radians, about the camera's x, y and z axes.
        focal_std: Pixels; 0 where the focal length was given.
        doubts: Why the camera is not determined by the matches; empty if it is.
    """

    camera: Camera
    residuals: np.ndarray
    position_std: np.ndarray
    rotation_std: np.ndarray
    focal_std: float
    doubts: tuple[str, ...] = ()

    @property
    def distances(self) -> np.ndarray:
        """[N] reprojection error of each match (px)."""
        return np.linalg.norm(self.residuals, axis=1)

    @property
    def rms(self) -> float:
        """Root mean square of the reprojection errors (px)."""
        return float(np.sqrt((self.distances**2).mean()))

    @property
    def determined(self) -> bool:
        """Whether the matches hold the camera: no doubts."""
        return not self.doubts

    def to_dict(self) -> dict:
        """JSON-ready figures, without the camera."""
        return {
            "rms_px": self.rms,
            "max_px": float(self.distances.max()),
            "distances_px": self.distances.tolist(),
            "focal_px": float(self.camera.K[0, 0]),
            "focal_std_px": self.focal_std,
            "position_m": self.camera.pose[:3, 3].tolist(),
            "position_std_m": self.position_std.tolist(),
            "rotation_std_rad": self.rotation_std.tolist(),
            "doubts": list(self.doubts),
        }


def solve_camera(
    points: np.ndarray,
    pixels: np.ndarray,
    width: int,
    height: int,
    *,
    focal: float | None = None,
    aspect: float = 1.0,
    centre: tuple[float, float] | None = None,
    strict: bool = True,
) -> CameraFit:
    """Find the camera that sees `points` at `pixels`, or say why they do not determine one.

    Determined means: the points are not on one line, and not on one plane if the focal length is
    unknown; no clearly different camera explains the matches as well; the root mean square
    residual is at most 1.5 % of the image's diagonal; one standard deviation of the camera's
    position is at most 10 % of its distance from the points, and of the focal length 10 % of it.

    Args:
        points: [N, 3] metres, world frame; at least 6, or 5 if `focal` is given.
        pixels: [N, 2] (u, v); the centre of the top-left pixel is (0, 0).
        width: Image width in pixels.
        height: Image height in pixels.
        focal: Horizontal focal length in pixels, if it is known.
        aspect: Vertical over horizontal focal length: 1 for square pixels.
        centre: Principal point (u, v); the middle of the image if None.
        strict: Raise `InputError` if the camera is not determined; else say so in `doubts`.
    """
    points, pixels = _checked(points, pixels, focal, aspect)
    if _thinness(points, 1) < _THIN:
        raise _undetermined("the points lie on one line", "add matches away from that line")
    centre = ((width - 1) / 2, (height - 1) / 2) if centre is None else centre
    first = width if focal is None else focal
    K = np.array([[first, 0, centre[0]], [0, first * aspect, centre[1]], [0, 0, 1.0]])
    found = _local_minima(Camera(K, np.eye(4), width, height), points, pixels, focal is None)
    if not found:
        raise _undetermined(
            "no camera has all points in front of it and near their pixels",
            "check the links, frames and pixels of the matches",
        )
    fit = _describe(found[0][0], points, pixels, focal is None)
    doubts = [*_doubts(fit, points, found, focal is None)]
    if doubts and strict:
        raise _undetermined(*doubts[0])
    return replace(fit, doubts=tuple(doubt for doubt, _ in doubts))


def _undetermined(doubt: str, hint: str) -> InputError:
    return InputError(f"the camera is not determined: {doubt}", hint=hint)


def _checked(
    points: np.ndarray, pixels: np.ndarray, focal: float | None, aspect: float
) -> tuple[np.ndarray, np.ndarray]:
    points, pixels = np.asarray(points, np.float64), np.asarray(pixels, np.float64)
    if points.ndim != 2 or points.shape[1:] != (3,) or pixels.shape != (len(points), 2):
        raise InputError(
            "matches must be as many points as pixels",
            value=(points.shape, pixels.shape),
            allowed="points [N, 3] and pixels [N, 2]",
        )
    if not (np.isfinite(points).all() and np.isfinite(pixels).all()):
        raise InputError("matches hold NaN or infinite values")
    for name, value in (("focal length", 1.0 if focal is None else focal), ("aspect", aspect)):
        if not (np.isfinite(value) and value > 0):
            raise InputError(f"{name} must be positive", value=value)
    needed = 6 if focal is None else 5
    if len(points) < needed:
        raise InputError(
            "the camera is not determined: too few matches",
            value=len(points),
            allowed=f"at least {needed}, so that a wrong one shows",
            hint="click more matches" + (", or give the focal length" if focal is None else ""),
        )
    return points, pixels


def _thinness(points: np.ndarray, axis: int) -> float:
    """Extent of a cloud along its principal `axis` over its largest: 0 for a line or a plane."""
    extent = np.linalg.svd(points - points.mean(0), compute_uv=False)
    return float(extent[axis] / max(extent[0], 1e-300))


def _doubts(
    fit: CameraFit, points: np.ndarray, found: list[tuple[Camera, float]], free_focal: bool
) -> Iterator[tuple[str, str]]:
    """Reasons not to trust a fit, each with what to do about it."""
    camera, size = fit.camera, np.hypot(fit.camera.width, fit.camera.height)
    if free_focal and _thinness(points, 2) < _THIN:
        yield (
            "the points lie on one plane, which does not hold an unknown focal length",
            "add matches out of the plane (other links or frames), or give the focal length",
        )
    if fit.rms > _MAX_RMS * size:
        worst = int(fit.distances.argmax())
        yield (
            f"the matches disagree by {fit.rms:.1f} px (root mean square; {_MAX_RMS * size:.1f} px "
            f"is allowed), worst of all number {worst} from 0, by {fit.distances[worst]:.1f} px",
            "check that match, and that frames and joint states belong together",
        )
    # As well: within three standard deviations, if clicks err like the residuals and by >= 1 px.
    best, spare = found[0][1], 2 * len(points) - (7 if free_focal else 6)
    enough = best + 4.5 * max(1.0, 2 * best / spare)
    if any(loss < enough and _differ(camera, rival, points) for rival, loss in found[1:]):
        yield "clearly different cameras explain the matches as well", "add matches"
    distance = np.linalg.norm(points - camera.pose[:3, 3], axis=1).mean()
    for what, unit, std, allowed in (
        ("camera's position", "m", np.linalg.norm(fit.position_std), _MAX_POSITION * distance),
        ("focal length", "px", fit.focal_std, _MAX_FOCAL * camera.K[0, 0]),
    ):
        if not std <= allowed:
            yield (
                f"the matches leave the {what} open by {std:.2g} {unit} (one standard deviation; "
                f"{allowed:.2g} {unit} is allowed)",
                "add matches spread over the image and in depth, or give the focal length",
            )


def _differ(a: Camera, b: Camera, points: np.ndarray) -> bool:
    """Whether two cameras are clearly different views of the points."""
    distance = np.linalg.norm(points - a.pose[:3, 3], axis=1).mean()
    apart = np.linalg.norm(a.pose[:3, 3] - b.pose[:3, 3]) / distance
    cosine = (np.trace(a.pose[:3, :3].T @ b.pose[:3, :3]) - 1) / 2
    return bool(apart > 0.2 or cosine < np.cos(0.2))


def _evaluator(points: np.ndarray, pixels: np.ndarray) -> Evaluate:
    def evaluate(camera: Camera) -> tuple[np.ndarray, np.ndarray]:
        seen, jacobian = project_with_jacobian(camera, points)
        return (seen - pixels).ravel(), jacobian.reshape(-1, 7)

    return evaluate


def _local_minima(
    camera: Camera, points: np.ndarray, pixels: np.ndarray, free_focal: bool
) -> list[tuple[Camera, float]]:
    """Cameras no small change improves, with their losses, best first; lens from `camera`."""
    evaluate = _evaluator(points, pixels)
    starts: list[tuple[float, Camera]] = []
    for factor in _FOCALS if free_focal else (1.0,):
        K = camera.K.copy()
        K[[0, 1], [0, 1]] *= factor
        lens = replace(camera, K=K)
        poses, losses = initial_poses(lens, points, pixels, huber=HUBER)
        best = np.argsort(losses)[:_POLISHED]
        starts += [(float(losses[i]), replace(lens, pose=poses[i])) for i in best]
    starts.sort(key=lambda start: start[0])
    polished = [
        robust_fit(start, evaluate, huber=HUBER, free_focal=free_focal)
        for _, start in starts[:_POLISHED]
    ]
    return sorted(polished, key=lambda found: found[1])


def _describe(
    camera: Camera, points: np.ndarray, pixels: np.ndarray, free_focal: bool
) -> CameraFit:
    """Residuals and standard deviations at a fitted camera."""
    residuals, jacobian = _evaluator(points, pixels)(camera)
    free = 7 if free_focal else 6
    weight = huber_weight(residuals, HUBER)
    normal = jacobian[:, :free].T @ (weight[:, None] * jacobian[:, :free])
    scale = np.sqrt(np.diag(normal)) + 1e-300
    normal /= np.outer(scale, scale)
    variance = max(1.0, float((weight * residuals**2).sum()) / (len(residuals) - free))
    covariance = np.full((free, free), np.inf)
    if np.linalg.cond(normal) < 1e12:
        covariance = variance * np.linalg.inv(normal) / np.outer(scale, scale)
    rotation = camera.pose[:3, :3]
    with np.errstate(invalid="ignore"):
        std = np.sqrt(np.diag(covariance))
        position = np.sqrt(np.einsum("ij,jk,ik->i", rotation, covariance[:3, :3], rotation))
    return CameraFit(
        camera=camera,
        residuals=residuals.reshape(-1, 2),
        position_std=position,
        rotation_std=std[3:6],
        focal_std=float(camera.K[0, 0] * std[6]) if free_focal else 0.0,
    )
