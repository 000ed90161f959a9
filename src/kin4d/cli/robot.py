"""`kin4d robot`: a robot and its actions, seen by a camera, in metres."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from kin4d.cli.output import check_memory, print_result, print_warning
from kin4d.cli.ranges import Fps, Natural, Pixels
from kin4d.errors import InputError

if TYPE_CHECKING:
    from kin4d.bodies.robot.robot_body import RobotBody
    from kin4d.kinematics.actions import Actions


def robot_command(
    robot: Annotated[str, tyro.conf.Positional] = "",
    *,
    actions: Path | None = None,
    camera: Path | None = None,
    output: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None,
    inspect: bool = False,
    list: bool = False,
    stream: str = "state_joint",
    episode: Natural = 0,
    action_type: str | None = None,
    rotation: str | None = None,
    link: str | None = None,
    fps: Fps | None = None,
    frames: Natural = 49,
    size: tuple[Pixels, Pixels] = (720, 480),
    package_path: tuple[Path, ...] = (),
    robo4d: bool = False,
    json: bool = False,
) -> None:
    """Compute a robot's motion exactly and write what a camera sees: RGB, XYZ in metres, mask.

    Args:
        robot: A name (see --list) or the path of a URDF or MJCF file.
        actions: npz, npy, csv or parquet; a DROID annotation (.json); or RLDS records (.tfrecord).
        camera: JSON as written by kin4d; without it a camera is placed to see all of the motion.
        output: Folder for pointmap.npz, preview.mp4, camera.json and joints.npz; an image
            file with --inspect.
        inspect: Draw the robot at rest and list its joints, limits and missing meshes.
        list: Print the robots known by name.
        stream: Which stream of a recording to follow: state_joint, state_pose, action_joint, ...
        episode: Which episode of a file that holds several.
        action_type: joint, joint_delta, pose or pose_delta, where the file does not say.
        rotation: Rotation convention of poses, where the file does not say.
        link: The link that poses describe; default: the end effector.
        fps: Actions per second, where the file does not say.
        frames: Length after uniform resampling in time; 0 keeps the actions' own length.
        size: Width and height in pixels of the automatic camera.
        package_path: Folders in which package:// meshes are looked for.
        robo4d: Also write the episode in the Robo4D folder layout, into OUTPUT/robo4d.
        json: Print JSON for machines.
    """
    from kin4d.bodies.robot.registry import list_robots, load_robot
    from kin4d.episodes.formats.reader import read_robot_motion

    if list:
        known = {name: str(path) for name, path in sorted(list_robots().items())}
        print_result("\n".join(known), {"robots": [*known]}, as_json=json)
        return
    if not robot:
        raise InputError("no robot named", hint="run: kin4d robot --list")
    body = load_robot(robot, search_roots=package_path, missing="skip" if inspect else "error")
    if inspect:
        _inspect(body, output, size=size, as_json=json)
        return
    if actions is None or output is None:
        raise InputError(
            "a robot moves by actions, and its video needs a folder",
            hint=f"run: kin4d robot {robot} --actions FILE -o DIR, or with --inspect alone",
        )
    options = {"kind": action_type, "rotation": rotation, "link": link, "fps": fps}
    given = {name: value for name, value in options.items() if value is not None}
    read = read_robot_motion(actions, motion=stream, episode=episode, **given)
    _follow(body, read, camera, output, frames=frames, size=size, robo4d=robo4d, as_json=json)


def _follow(
    body: RobotBody,
    actions: Actions,
    camera_file: Path | None,
    output: Path,
    *,
    frames: int,
    size: tuple[int, int],
    robo4d: bool,
    as_json: bool,
) -> None:
    import numpy as np

    from kin4d.bodies.body import bake
    from kin4d.export.video import write_video
    from kin4d.files import atomic_path
    from kin4d.geometry.camera import Camera
    from kin4d.kinematics.control import actions_to_q
    from kin4d.kinematics.resample import resample, resampled_fps
    from kin4d.render.pointmaps import framing_camera, render_bodies, unseen_bodies

    camera = None if camera_file is None else Camera.load(camera_file)
    width, height = size if camera is None else (camera.width, camera.height)
    check_memory(frames or len(actions), vertices=len(body.rest.vertices), pixels=width * height)
    q, reached = actions_to_q(actions, body)
    outside = ((q < body.limits[:, 0] - 1e-6) | (q > body.limits[:, 1] + 1e-6)).any(0)
    beyond = [name for name, bad in zip(body.coordinates, outside, strict=True) if bad]
    if beyond:
        print_warning(f"the actions take joints beyond their limits: {', '.join(beyond)}")
    rate = actions.fps
    if frames:
        rate = resampled_fps(rate, len(q), frames)
        q = resample(q, frames, body=body)
    if camera is None:
        camera = framing_camera(bake(body, q).bounds, width=width, height=height)
    video = render_bodies({body.name: body}, [q], camera, fps=rate)
    video.save(output / "pointmap.npz")
    write_video(video.rgb, output / "preview.mp4", fps=rate)
    camera.save(output / "camera.json")
    with atomic_path(output / "joints.npz") as path:
        np.savez_compressed(path, joint=q.numpy(), names=np.array(body.coordinates), fps=rate)
    if robo4d:
        from kin4d.episodes.formats.robo4d import write_robo4d

        write_robo4d(video, output / "robo4d", "0")
    seen = float((video.mask > 0).mean())
    data: dict[str, Any] = {
        "robot": body.name,
        "frames": len(video),
        "fps": rate,
        "visible": seen,
        "joints_beyond_limits": beyond,
        "written": str(output),
    }
    text = f"{len(video)} frames of {body.name} in {output}; it covers {seen:.1%} of the image"
    if reached is not None:
        data["targets_missed"] = int((~reached.converged).sum())
        data["worst_position_error_m"] = float(reached.position_error.max())
        text += f"; {reached}"
    for name in unseen_bodies(video):
        print_warning(f"{name} is never in view: it is behind the camera or outside the image")
    print_result(text, data, as_json=as_json)


def _inspect(body: RobotBody, image: Path | None, *, size: tuple[int, int], as_json: bool) -> None:
    from kin4d.bodies.body import bake
    from kin4d.export.video import write_image
    from kin4d.render.pointmaps import render_clip

    limits = body.limits.tolist()
    data: dict[str, Any] = {
        "robot": body.name,
        "links": len(body.links),
        "faces": len(body.rest.faces),
        "mass_kg": float(body.mass.sum()),
        "end_effector": body.end_effector,
        "coordinates": [
            {"name": name, "lower": low, "upper": high, "rest": rest}
            for name, (low, high), rest in zip(
                body.coordinates, limits, body.q0.tolist(), strict=True
            )
        ],
        "missing_meshes": [*body.missing],
    }
    lines = [
        f"{body.name}: {len(body.links)} links, {len(body.rest.faces)} faces, "
        f"{data['mass_kg']:.2f} kg, end effector {body.end_effector}"
    ]
    lines += [
        f"  {joint['name']:24} {joint['lower']:8.3f} to {joint['upper']:8.3f}"
        for joint in data["coordinates"]
    ]
    lines += [f"  missing mesh: {name}" for name in body.missing]
    if image is not None:
        video = render_clip(bake(body, body.q0[None]), width=size[0], height=size[1])
        write_image(video.rgb[0], image)
        lines.append(f"drawn in {image}")
        data["written"] = str(image)
    print_result("\n".join(lines), data, as_json=as_json)
