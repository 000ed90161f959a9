"""A fixed camera from a robot's known motion and a video of it.

Clicked matches give a first camera (`kin4d.calibration.pnp`). It is then refined until the robot's
outline lies on edges of the image: in each round every outline pixel looks for the clearest edge
across it, and the camera takes the robust least-squares step that brings outlines to edges and
clicked points to their pixels (after Harris's RAPID tracker, 1990, over many frames at once).
The result is kept only if it is better on frames that took no part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kin4d.bodies.articulated_base import ArticulatedBodyBase
from kin4d.calibration.correspondences import CorrespondenceSet
from kin4d.calibration.pnp import HUBER, CameraFit, solve_camera
from kin4d.calibration.pnp_solver import project_with_jacobian, robust_fit
from kin4d.calibration.silhouette import SilhouetteVideo
from kin4d.errors import InputError
from kin4d.geometry.camera import Camera
from kin4d.progress import track

# Neighbouring outline pixels err together: ten of them count as one click.
_OUTLINE_WEIGHT = 0.1
# Distances (px) to edges beyond this count linearly; those of clicks, beyond `pnp.HUBER`.
_HUBER = 1.0
_ROUNDS = 12


@dataclass(frozen=True, kw_only=True)
class AlignmentScore:
    """How well a camera's robot agrees with frames that were not used to fit it.

    Attributes:
        edge_px: Mean distance from the robot's outline to edges in the image (px).
        motion_iou: Overlap of where the robot moved and where the image changed, 0 to 1.
        click_px: Root mean square distance of the clicked matches (px).
    """

    edge_px: float
    motion_iou: float
    click_px: float


@dataclass(frozen=True, eq=False, kw_only=True)
class CameraRefinement:
    """What refining a camera came to.

    Attributes:
        camera: The better camera; the one given if refining did not help.
        accepted: Whether refining helped.
        before: Agreement of the camera given.
        after: Agreement of the refined camera, accepted or not.
        frames: Frames the refinement looked at.
        held_out: Frames both cameras were evaluated on.
    """

    camera: Camera
    accepted: bool
    before: AlignmentScore
    after: AlignmentScore
    frames: tuple[int, ...]
    held_out: tuple[int, ...]

    def to_dict(self) -> dict:
        """JSON-ready figures, without the camera."""
        return {
            "accepted": self.accepted,
            "before": vars(self.before),
            "after": vars(self.after),
            "frames": list(self.frames),
            "held_out": list(self.held_out),
        }


def calibrate(
    body: ArticulatedBodyBase,
    q: np.ndarray,
    matches: CorrespondenceSet,
    *,
    focal: float | None = None,
) -> CameraFit:
    """The camera that sees the matches; `InputError` if they do not determine it.

    Args:
        body: The robot.
        q: [T, k] its coordinates in each frame of the video.
        matches: Clicked points.
        focal: Horizontal focal length in pixels, if it is known.
    """
    return solve_camera(
        matches.points(body, q),
        matches.pixels,
        matches.width,
        matches.height,
        focal=focal,
        aspect=matches.aspect,
    )


def refine_camera(
    body: ArticulatedBodyBase,
    q: np.ndarray,
    frames: np.ndarray,
    camera: Camera,
    *,
    matches: CorrespondenceSet | None = None,
    free_focal: bool = True,
    use: int = 20,
    reach: float | None = None,
) -> CameraRefinement:
    """Improve `camera` on the robot's outline over a clip, or leave it as it is.

    Args:
        body: The robot, without parts that the real one does not have (`kin4d.bodies.remove_link`).
        q: [T, k] its coordinates in each frame.
        frames: [T, H, W, 3] uint8; at least 4.
        camera: The start, a few pixels off at most; its size is that of the frames.
        matches: Clicked points that go on counting; without them, outlines alone decide.
        free_focal: Whether the focal length may change.
        use: How many frames to fit on, spread over the clip; as many others evaluate the result.
        reach: How many pixels the outline may be off; 2.5 % of the image's width if None.
    """
    video = SilhouetteVideo(body, q, frames)
    if frames.shape[1:3] != (camera.height, camera.width):
        raise InputError(
            "the camera is for images of another size",
            value=(camera.width, camera.height),
            allowed=f"{frames.shape[2]} x {frames.shape[1]} pixels, as the video",
        )
    if len(video) < 4:
        raise InputError("refining a camera needs a clip", value=len(video), allowed=">= 4 frames")
    reach = 0.025 * camera.width if reach is None else reach
    chosen = np.unique(np.linspace(0, len(video) - 1, 2 * use).astype(int)).tolist()
    fitted, held_out = chosen[::2], chosen[1::2]
    if not any(len(video.outline(frame, camera).points) for frame in fitted):
        raise InputError(
            "the camera does not see the robot in this clip",
            hint="check the matches, or the frame rates of video and joint states",
        )
    clicked = (np.zeros((0, 3)), np.zeros((0, 2)))
    if matches is not None:
        clicked = (matches.points(body, q), matches.pixels)
    better = camera
    for radius in track(np.geomspace(reach, reach / 3, _ROUNDS).tolist(), "refine"):
        better = _round(video, fitted, better, clicked, radius, free_focal)
    near = 6 * camera.width / 320
    first, last = (video.edge_distances(held_out, one, reach=near) for one in (camera, better))
    before = _agreement(video, held_out, camera, clicked, first)
    after = _agreement(video, held_out, better, clicked, last)
    # Better by chance is not better: the gain must stand out from its spread over the frames.
    gain = first - last
    clear = gain.mean() > 2 * gain.std() / np.sqrt(len(gain))
    accepted = bool(clear) and after.motion_iou >= before.motion_iou
    return CameraRefinement(
        camera=better if accepted else camera,
        accepted=accepted,
        before=before,
        after=after,
        frames=tuple(fitted),
        held_out=tuple(held_out),
    )


def _round(
    video: SilhouetteVideo,
    frames: Sequence[int],
    camera: Camera,
    clicked: tuple[np.ndarray, np.ndarray],
    reach: float,
    free_focal: bool,
) -> Camera:
    """One search for edges, and the camera that fits them best."""
    outlines = [video.outline(frame, camera) for frame in frames]
    offset = np.concatenate(
        [video.edges(frame, one, reach) for frame, one in zip(frames, outlines, strict=True)]
    )
    seen = ~np.isnan(offset)
    points = np.concatenate([one.points for one in outlines])[seen]
    across = np.concatenate([one.outwards for one in outlines])[seen]
    # An edge pulls its outline point across the outline only: along it, nothing is known.
    start, _ = project_with_jacobian(camera, points)
    target = (start * across).sum(1) + offset[seen]
    weight = _OUTLINE_WEIGHT**0.5
    huber = np.repeat([weight * _HUBER, HUBER], [len(points), 2 * len(clicked[0])])

    def evaluate(one: Camera) -> tuple[np.ndarray, np.ndarray]:
        pixels, by_outline = project_with_jacobian(one, points)
        clicks, by_clicks = project_with_jacobian(one, clicked[0])
        miss = weight * ((pixels * across).sum(1) - target)
        slope = weight * np.einsum("ni,nij->nj", across, by_outline)
        return (
            np.concatenate([miss, (clicks - clicked[1]).ravel()]),
            np.concatenate([slope, by_clicks.reshape(-1, 7)]),
        )

    better, _ = robust_fit(camera, evaluate, huber=huber, free_focal=free_focal, steps=20)
    return better


def _agreement(
    video: SilhouetteVideo,
    frames: Sequence[int],
    camera: Camera,
    clicked: tuple[np.ndarray, np.ndarray],
    edge_distances: np.ndarray,
) -> AlignmentScore:
    half = len(frames) // 2
    pairs = [*zip(frames[:half], frames[half:], strict=False)]
    miss = camera.project(clicked[0])[0] - clicked[1]
    return AlignmentScore(
        edge_px=float(edge_distances.mean()),
        motion_iou=video.motion_overlap(pairs, camera, band=max(1, camera.width // 32)),
        click_px=float(np.sqrt((miss**2).sum(1).mean())) if len(miss) else 0.0,
    )
