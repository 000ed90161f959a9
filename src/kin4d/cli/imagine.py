"""`kin4d imagine`: predict an RGB and XYZ video from an image, a robot and its actions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from kin4d.cli.output import check_memory, print_result
from kin4d.cli.ranges import Count, Elevation, Natural, Pixels, Reading, Seed
from kin4d.errors import InputError

if TYPE_CHECKING:
    from kin4d.world.imagine import ImaginedVideo


def imagine_command(
    *,
    image: Path,
    robot: str,
    actions: Path,
    camera: Path,
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"])],
    depth: Path | None = None,
    masks: Path | None = None,
    table_height: Elevation | None = None,
    plane: Path | None = None,
    base_pose: tuple[Reading, ...] = (),
    gripper: str | None = None,
    gripper_link: str | None = None,
    camera_convention: str | None = None,
    align: bool = False,
    size: tuple[Pixels, Pixels] | None = None,
    control: Literal["robot", "scene"] = "robot",
    scene: Path | None = None,
    weights: str = "tiny",
    num_samples: Count = 1,
    seed: Seed = 0,
    frames: Natural = 49,
    stream: str = "state_joint",
    episode: Natural = 0,
    measured_gripper: bool = False,
    json: bool = False,
) -> None:
    """Predict how the scene of an image reacts to a robot: colour, and geometry in metres.

    Args:
        image: The first frame, of any size; it is resized to the size of the model.
        robot: A name (see `kin4d robot --list`) or the path of a URDF or MJCF file.
        actions: As for `kin4d robot`.
        camera: JSON of the image's camera, in the robot's world; see `kin4d calibrate`.
        output: Folder for imagined.mp4, pointmap.npz, camera.json, and joints.npz.
        depth: .npy (m) or .png (mm) of the same view; without it depth is estimated.
        masks: .png or .npy of the image's size: 0 for none, then one id per rigid part, as a
            segmentation model or a person drew them; without it parts are predicted.
        table_height: m above the robot's base: what objects rest on. If neither this nor --plane
            is given, it is found in the depth, or guessed from the robot's motion without depth.
        plane: JSON of a plane that may be tilted: {"normal": [0, 0, 1], "point": [0, 0, -0.1]}, in
            the frame of the robot's base.
        base_pose: The robot's base in the world of the camera: x y z (m), x y z qw qx qy qz, or 16
            numbers of a matrix, row by row.
        gripper: A gripper to mount on the robot: a name, or the path of a URDF or MJCF file.
        gripper_link: Link that the gripper is mounted on; the robot's end effector by default.
        camera_convention: Of the camera's pose, where its file does not say: opencv, opengl,
            blender, mujoco, robosuite, ros, ros_optical or sapien.
        align: Slide and roll the robot in the image to where the first image shows it.
        size: Width and height in pixels within which the video is drawn, such as 720 480; that of
            the model by default. The networks see a small image all the same.
        control: robot: the model predicts how bodies react. scene: they move as in --scene, and
            the model paints it.
        scene: .npz that `kin4d simulate` wrote of the same robot motion, in the world of the
            camera: what mechanics decided. What it does not show stands still.
        weights: A name that ships, a .safetensors file, a folder or a hub id.
        num_samples: How many videos; the first is the most likely one, the others are sampled
            where the model is uncertain.
        seed: Seed of the other samples.
        frames: Length after uniform resampling in time; 0 keeps the actions' own length. Motions
            longer than the model's window are predicted window by window.
        stream: Which stream of a recording to follow: state_joint, state_pose, action_joint, ...
        episode: Which episode of a file that holds several.
        measured_gripper: The finger joints in `actions` were measured, so that they stop at a
            grasped object. Otherwise they are commands, and geometry decides about grasps.
        json: Print JSON for machines.
    """
    import numpy as np

    from kin4d.cli.pose_numbers import pose_of_numbers
    from kin4d.export.video import write_image
    from kin4d.world.first_image import FirstImageError
    from kin4d.world.imagine import imagine
    from kin4d.world.model import load_world_model

    model = load_world_model(weights)
    width, height = size or model.size[::-1]
    check_memory(frames, pixels=height * width)
    try:
        result = imagine(
            image,
            robot,
            actions,
            camera,
            depth=depth,
            masks=masks,
            table_height=table_height,
            plane=plane,
            base_pose=pose_of_numbers(base_pose) if base_pose else None,
            gripper=gripper,
            gripper_link=gripper_link,
            camera_convention=camera_convention,
            align=align,
            size=size,
            control=control,
            scene=scene,
            weights=model,
            num_samples=num_samples,
            seed=seed,
            frames=frames,
            stream=stream,
            episode=episode,
            measured_gripper=measured_gripper,
        )
    except FirstImageError as error:
        if error.picture is not None:
            write_image(error.picture, output / "robot_over_image.png")
            picture = f"look at {output / 'robot_over_image.png'}"
            hint = f"{picture}; {error.hint}" if error.hint else picture
            raise InputError(error.what, value=error.value, hint=hint) from None
        raise
    save_imagined(result, output)
    write_image(result.fit.picture, output / "robot_over_image.png")
    written = [result.camera.width, result.camera.height]
    data: dict[str, Any] = {
        "written": str(output),
        "frames": len(result),
        "size": written,
        "letterboxed": written != [width, height],
        "depth": "given" if depth else "estimated",
        "robot_fit": {
            "iou": None if result.fit.evidence == "none" else round(result.fit.iou, 4),
            "evidence": result.fit.evidence,
            "shift": result.fit.shift.tolist(),
            "aligned": align,
        },
        "support": {
            "normal": result.support.normal.tolist(),
            "height": result.support.height,
            "source": result.support.source,
        },
    }
    text = f"{len(result)} frames of {written[0]} x {written[1]} pixels in {output}\n{result.fit}"
    text += ", and was moved there" if align and result.fit.shift.any() else ""
    text += f"\nobjects rest {result.support}"
    if num_samples > 1:
        videos = (result, *result.samples)
        std = np.stack([video.rgb for video in videos]).astype(np.float32).std(0).mean((0, -1))
        image_std = np.repeat(np.clip(4 * std, 0, 255).astype(np.uint8)[..., None], 3, -1)
        write_image(image_std, output / "disagreement.png")
        data["disagreement"] = float(std.mean())
        text += f"; {num_samples} samples differ by {std.mean():.1f} of 255 on average"
    print_result(text, data, as_json=json)


def save_imagined(result: ImaginedVideo, output: Path) -> None:
    """Write pointmaps, a preview of colour and depth, the camera and the robot's motion."""
    import numpy as np

    from kin4d.export.video import write_video
    from kin4d.files import atomic_path
    from kin4d.render.preview import color_and_depth

    for number, video in enumerate((result, *result.samples)):
        name = "" if number == 0 else f"-{number}"
        video.save(output / f"pointmap{name}.npz")
        write_video(color_and_depth(video), output / f"imagined{name}.mp4", fps=video.fps)
    result.camera.save(output / "camera.json")
    with atomic_path(output / "joints.npz") as path, path.open("wb") as file:
        np.savez_compressed(
            file, joint=result.q, names=np.array(result.coordinates), fps=result.fps
        )
