"""RecordingConverter: an episode in metres from a recording, a robot and a calibrated camera.

The robot's geometry and mask are computed from its joints, exactly. All else is seen in colour
only, unless a depth annotator adds its points; they are brought to metres by the robot's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kin4d.episodes.annotators import CaptionAnnotator, DepthAnnotator, MaskAnnotator
from kin4d.episodes.annotators.caption import template_caption
from kin4d.episodes.annotators.depth import to_metres
from kin4d.episodes.annotators.segment import mask_boxes
from kin4d.episodes.curate import RejectedEpisode
from kin4d.episodes.episode import FRAMES, ROBOT, Episode
from kin4d.episodes.recording import Recording
from kin4d.episodes.timing import STRETCHED, pick_actions, rows_at, uniform_frames
from kin4d.errors import InputError
from kin4d.geometry.camera import Camera
from kin4d.geometry.pointmap import PointmapVideo

if TYPE_CHECKING:
    from kin4d.bodies.robot.robot_body import RobotBody

ROBOT_ONLY = "robot geometry only"
DOUBTFUL = "camera doubtful"
# Overlap of where the robot moves and where the image changes: 0.65 to 0.95 with the right
# camera in simulation, 0.0 to 0.5 with cameras a little or far off.
_OVERLAP = 0.5


@dataclass(frozen=True, eq=False, kw_only=True)
class RecordingConverter:
    """How recordings of one robot become episodes.

    Attributes:
        robot: As `load_robot` takes it; default: what the recording names.
        remove_link: A link to remove with its descendants, where the real robot has something
            else there.
        view: Which camera's video; default: the first.
        camera: Of that view, its world the robot's base frame; default: what the recording knows.
        frames: Length of the episodes.
        size: Width and height in pixels; default: the video's own.
        depth: Adds points off the robot.
        mask: Replaces the exact mask, where the model of the robot is not to be trusted.
        caption: Describes recordings that come without words.
        licence: Where the recording does not say.
        search_roots: Folders in which package:// meshes are looked for.
    """

    robot: str = ""
    remove_link: str | None = None
    view: str | None = None
    camera: Camera | None = None
    frames: int = FRAMES
    size: tuple[int, int] | None = None
    depth: DepthAnnotator | None = None
    mask: MaskAnnotator | None = None
    caption: CaptionAnnotator | None = None
    licence: str = "unknown"
    search_roots: Sequence[str | Path] = ()

    def episode(self, recording: Recording, body: RobotBody) -> Episode:
        """The episode of a recording; `body` is what `load` gives for it."""
        name, view = recording.view(self.view)
        camera = self.camera_of(recording)
        rgb, times = view.read()
        index = uniform_frames(times, self.frames)
        rgb, camera = _fitted(rgb[index], camera, self.size)
        fps = (self.frames - 1) / float(times[-1] - times[0])
        rows, q = self._joints(recording, body, times[index] - times[0])
        video, flags = self._video(rgb, camera, fps, body, q)
        if len(np.unique(index)) < len(index):
            flags = (*flags, STRETCHED)
        overlap = _overlap(body, q, rgb, camera)
        if overlap < _OVERLAP:
            flags = (*flags, DOUBTFUL)
        about: dict[str, Any] = {"view": name, "motion_overlap": round(overlap, 3)}
        if self.remove_link:
            about["without"] = self.remove_link
        language = recording.language or template_caption(recording.task)
        if not language and self.caption is not None:
            language = self.caption(rgb)
        commanded = recording.action
        return Episode(
            name=recording.name,
            video=video,
            robot=self.robot or recording.robot,
            base=body.root,
            joints=q,
            joint_names=tuple(body.coordinates),
            actions=None if commanded is None else pick_actions(commanded, rows, fps=fps),
            language=language,
            task=recording.task,
            success=recording.success,
            source=recording.source,
            licence=recording.licence or self.licence,
            flags=flags,
            meta=about,
        )

    def camera_of(self, recording: Recording) -> Camera:
        """The camera of the view; where nothing says it, how to find it."""
        name, view = recording.view(self.view)
        camera = self.camera or view.camera
        if camera is None:
            raise RejectedEpisode(
                "missing calibration",
                f"nothing says where camera '{name}' of recording '{recording.name}' stands",
                hint=f"find it with: kin4d calibrate {self.robot or recording.robot or 'ROBOT'} "
                "--video FILE --actions FILE --correspondences FILE -o camera.json; "
                "then give --camera",
            )
        return camera

    def load(self, recording: Recording) -> RobotBody:
        """The robot of a recording."""
        from kin4d.bodies.robot.attach import remove_link
        from kin4d.bodies.robot.registry import load_robot

        robot = self.robot or recording.robot
        if not robot:
            raise InputError(
                f"recording '{recording.name}' does not name its robot", hint="give --robot"
            )
        body = load_robot(robot, search_roots=self.search_roots)
        return body if self.remove_link is None else remove_link(body, self.remove_link)

    def _joints(
        self, recording: Recording, body: RobotBody, times: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Which row of the motions each frame shows, and the robot's coordinates [T, k] there."""
        from kin4d.kinematics.control import actions_to_q

        state = recording.state
        if state is None:
            raise InputError(
                f"recording '{recording.name}' has no measured motion",
                value=[*recording.motions],
                allowed="joints or poses",
            )
        if self.remove_link is not None:
            state = replace(state, gripper=None)
        rows = rows_at(times, state)
        q, reached = actions_to_q(state, body)
        if reached is not None and not reached.converged[rows].all():
            missed = int((~reached.converged[rows]).sum())
            raise RejectedEpisode("unreachable poses", f"{missed} of {len(rows)} frames; {reached}")
        return rows, q.numpy()[rows]

    def _video(
        self, rgb: np.ndarray, camera: Camera, fps: float, body: RobotBody, q: np.ndarray
    ) -> tuple[PointmapVideo, tuple[str, ...]]:
        from kin4d.render.pointmaps import render_bodies

        drawn = render_bodies({body.name: body}, [q], camera, fps=fps)
        if not (drawn.mask > 0).any():
            raise RejectedEpisode("robot out of view", "no frame shows it: is this its camera?")
        xyz, is_robot, flags = drawn.xyz, drawn.mask > 0, (ROBOT_ONLY,)
        if self.depth is not None:
            metres = to_metres(self.depth(rgb), xyz[..., 2], kind=self.depth.kind)
            behind = metres[..., None] * camera.rays().astype(np.float32)
            xyz, flags = np.where(is_robot[..., None], xyz, behind), ()
        if self.mask is not None:
            is_robot = self.mask(rgb, mask_boxes(is_robot))
            flags = (*flags, "mask by network")
        mask = np.where(is_robot, np.uint8(ROBOT), np.uint8(0))
        return replace(drawn, rgb=rgb, xyz=xyz.astype(np.float32), mask=mask), flags


def _overlap(body: RobotBody, q: np.ndarray, rgb: np.ndarray, camera: Camera) -> float:
    """How well images change where the robot moves, 0 to 1; see `SilhouetteVideo`."""
    from kin4d.calibration.silhouette import SilhouetteVideo

    step = max(len(rgb) // 6, 1)
    pairs = [(first, first + step) for first in range(0, len(rgb) - step, max(step // 2, 1))]
    band = max(1, camera.width // 32)
    return SilhouetteVideo(body, q, rgb).motion_overlap(pairs, camera, band=band)


def _fitted(
    rgb: np.ndarray, camera: Camera, size: tuple[int, int] | None
) -> tuple[np.ndarray, Camera]:
    """Frames and camera at the same size, `size` if given."""
    from PIL import Image

    height, width = rgb.shape[1:3]
    if abs(camera.width / camera.height - width / height) > 0.02 * width / height:
        raise InputError(
            "the camera is for images of another shape",
            value=(camera.width, camera.height),
            allowed=f"{width} x {height}, or the same view at another size",
        )
    width, height = size or (width, height)
    if rgb.shape[1:3] != (height, width):
        small = [Image.fromarray(one).resize((width, height), Image.Resampling.BOX) for one in rgb]
        rgb = np.stack([np.asarray(one) for one in small])
    if (camera.width, camera.height) != (width, height):
        camera = camera.resized(width, height)
    return np.ascontiguousarray(rgb), camera
