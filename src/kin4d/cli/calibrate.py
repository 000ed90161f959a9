"""`kin4d calibrate`: the camera that filmed a robot, from its joint states and the video."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import tyro

from kin4d.cli.output import print_result, print_warning
from kin4d.cli.ranges import FocalLength
from kin4d.errors import InputError


def calibrate_command(
    robot: Annotated[str, tyro.conf.Positional],
    *,
    video: Path,
    actions: Path,
    correspondences: Path,
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"])],
    focal: FocalLength | None = None,
    refine: bool = True,
    remove_link: str | None = None,
    overlay: Path | None = None,
    package_path: tuple[Path, ...] = (),
    json: bool = False,
) -> None:
    """Estimate the fixed camera of a video of a robot, and refuse when it is not determined.

    Args:
        robot: A name (see: kin4d robot --list) or the path of a URDF or MJCF file.
        video: The film, from a camera that does not move.
        actions: The robot's measured joints: npz, npy, csv or parquet, or a DROID annotation.
        correspondences: Clicked points as JSON: {"size": [w, h], "matches": [{"frame": 0,
            "pixel": [u, v], "link": "panda_link4", "point": [x, y, z]}, ...]}; pixels count from
            0, points are in the link's frame in metres. "aspect" gives fy / fx where pixels are
            not square.
        output: The camera is written here as JSON.
        focal: Focal length in pixels; estimated if left out.
        refine: Improve the camera on the robot's outline over the clip.
        remove_link: Remove this link and its descendants, because the real robot has
            something else there.
        overlay: Write an image of the robot drawn over six frames here.
        package_path: Folders in which package:// meshes are looked for.
        json: Print JSON for machines.
    """
    from kin4d.bodies.robot.attach import remove_link as without_link
    from kin4d.bodies.robot.registry import load_robot
    from kin4d.calibration.calibrate import calibrate as fit_camera
    from kin4d.calibration.calibrate import refine_camera
    from kin4d.calibration.correspondences import read_correspondences
    from kin4d.calibration.overlay import overlay_sheet
    from kin4d.calibration.silhouette import SilhouetteVideo
    from kin4d.episodes.formats.reader import read_robot_motion
    from kin4d.episodes.timing import rows_at
    from kin4d.export.video import read_video, write_image
    from kin4d.kinematics.control import actions_to_q

    body = load_robot(robot, search_roots=package_path)
    clicks = read_correspondences(correspondences)
    frames, rate = read_video(video)
    if frames.shape[1:3] != (clicks.height, clicks.width):
        raise InputError(
            f"{correspondences} is for images of another size",
            value=(clicks.width, clicks.height),
            allowed=f"{frames.shape[2]} x {frames.shape[1]} pixels, as {video}",
        )
    states = read_robot_motion(actions)
    if remove_link is not None:
        body, states = without_link(body, remove_link), replace(states, gripper=None)
    q = actions_to_q(states, body)[0].numpy()[rows_at(np.arange(len(frames)) / rate, states)]
    fit = fit_camera(body, q, clicks, focal=focal)
    camera, data = fit.camera, {"matches": fit.to_dict()}
    lines = [f"{len(clicks.matches)} matches, {fit.rms:.2f} px root mean square"]
    if refine:
        refined = refine_camera(body, q, frames, camera, matches=clicks, free_focal=focal is None)
        camera, before, after = refined.camera, refined.before, refined.after
        data["refinement"] = refined.to_dict()
        lines.append(
            f"on {len(refined.held_out)} other frames: outline to edges {before.edge_px:.2f} -> "
            f"{after.edge_px:.2f} px, motion overlap {before.motion_iou:.3f} -> "
            f"{after.motion_iou:.3f}, matches {before.click_px:.2f} -> {after.click_px:.2f} px"
        )
        if not refined.accepted:
            print_warning(
                "refining on the outline did not help on other frames; the first camera is kept"
            )
    camera.save(output)
    position = camera.pose[:3, 3].tolist()
    data |= {"focal_px": float(camera.K[0, 0]), "position_m": position, "written": str(output)}
    lines.append(
        f"focal length {camera.K[0, 0]:.1f} px, camera at "
        f"({', '.join(f'{value:.3f}' for value in position)}) m, written to {output}"
    )
    if overlay is not None:
        write_image(overlay_sheet(SilhouetteVideo(body, q, frames), camera), overlay)
        data["overlay"] = str(overlay)
        lines.append(f"drawn over the video in {overlay}")
    print_result("\n".join(lines), data, as_json=json)
