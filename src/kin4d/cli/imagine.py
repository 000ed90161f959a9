"""`kin4d imagine`: a picture, a robot and its actions, and what would happen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from kin4d.cli.output import check_memory, print_result, print_warning
from kin4d.errors import InputError

if TYPE_CHECKING:
    import numpy as np

    from kin4d.geometry.pointmap import PointmapVideo
    from kin4d.world.letterbox import Letterbox
    from kin4d.world.observation import Observation


def imagine(
    *,
    image: Path,
    robot: str,
    actions: Path,
    camera: Path,
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"])],
    depth: Path | None = None,
    weights: str = "tiny",
    futures: int = 1,
    seed: int = 0,
    frames: int = 49,
    motion: str = "state_joint",
    episode: int = 0,
    measured: bool = False,
    json: bool = False,
) -> None:
    """Imagine how the world of a picture reacts to a robot: colour and geometry, in metres.

    Args:
        image: The first frame, of any size; it is fitted into the size the weights work at.
        robot: A name (see `kin4d robot --list`) or the path of a URDF or MJCF file.
        actions: As for `kin4d robot`.
        camera: JSON of the picture's camera, in the robot's world; see `kin4d calibrate`.
        output: Folder for imagined.mp4, pointmap.npz, camera.json, and joints.npz.
        depth: .npy or .png (millimetres) of the same view; without it depth is estimated.
        weights: A name that ships, a .safetensors file, a folder or a hub id.
        futures: How many; the first is the likeliest, the others vary where the model is unsure.
        seed: Of the others.
        frames: Length after uniform resampling in time; 0 keeps the actions' own length. What is
            longer than a model sees at once is imagined in stretches, one from the end of another.
        motion: Which motion of a recording to follow: state_joint, state_pose, action_joint, ...
        episode: Which episode of a file that holds several.
        measured: The fingers moved as `actions` says and stopped at what they held. Otherwise they
            are where they were told to go, and whether they hold anything is left to geometry.
        json: Print JSON for machines.
    """
    import numpy as np

    from kin4d.bodies.robot.registry import load_robot
    from kin4d.export.video import write_image, write_video
    from kin4d.kinematics.grippers import gripper_opening
    from kin4d.world.model import load_world_model
    from kin4d.world.rollout import imagine_rollout

    if futures < 1:
        raise InputError("number of futures", value=futures, allowed=">= 1")
    world = load_world_model(weights)
    situation, box, joints = _situation(
        world, image, robot, actions, camera, depth, frames=frames, motion=motion, episode=episode
    )
    if measured:
        situation = replace(situation, opening=gripper_opening(load_robot(robot), joints["joint"]))
    videos = [
        box.crop(imagine_rollout(world, situation, seed=None if n == 0 else seed + n))
        for n in range(futures)
    ]
    for number, video in enumerate(videos):
        name = "" if number == 0 else f"-{number}"
        video.save(output / f"pointmap{name}.npz")
        write_video(_shown(video), output / f"imagined{name}.mp4", fps=video.fps)
    video = videos[0]
    video.camera.save(output / "camera.json")
    with (output / "joints.npz").open("wb") as file:
        np.savez_compressed(file, **joints)
    data: dict[str, Any] = {
        "written": str(output),
        "frames": len(video),
        "size": [video.camera.width, video.camera.height],
        "letterboxed": not box.fills,
        "depth": "given" if depth else "estimated",
    }
    text = f"{len(video)} frames of {box.width} x {box.height} pixels in {output}"
    if futures > 1:
        spread = np.stack([one.rgb for one in videos]).astype(np.float32).std(0).mean((0, -1))
        picture = np.repeat(np.clip(4 * spread, 0, 255).astype(np.uint8)[..., None], 3, -1)
        write_image(picture, output / "disagreement.png")
        data["disagreement"] = float(spread.mean())
        text += f"; {futures} futures differ by {spread.mean():.1f} of 255 on average"
    print_result(text, data, as_json=json)


def _situation(
    world: Any,
    image: Path,
    robot: str,
    actions: Path,
    camera: Path,
    depth: Path | None,
    *,
    frames: int,
    motion: str,
    episode: int,
) -> tuple[Observation, Letterbox, dict[str, Any]]:
    import numpy as np

    from kin4d.bodies.robot.registry import load_robot
    from kin4d.episodes.formats.reader import read_robot_motion
    from kin4d.export.video import read_image
    from kin4d.geometry.camera import Camera
    from kin4d.kinematics.control import actions_to_q
    from kin4d.kinematics.resample import resample, resampled_fps
    from kin4d.render.pointmaps import MeshInstance
    from kin4d.world.letterbox import Letterbox
    from kin4d.world.observation import make_observation

    picture, body = read_image(image), load_robot(robot)
    view = Camera.load(camera)
    if picture.shape[:2] != (view.height, view.width):
        raise InputError(
            "the picture and its camera differ in size",
            value=picture.shape[:2],
            allowed=f"{view.height} x {view.width}, as {camera.name} says",
        )
    height, width = world.size
    box = Letterbox.of(view, height=height, width=width)
    if (view.height, view.width) != (height, width):
        filled = "" if box.fills else ", with margins above and below or at the sides"
        print_warning(f"the picture is brought to {width} x {height} pixels{filled}")
    commands = read_robot_motion(actions, motion=motion, episode=episode)
    q, _ = actions_to_q(commands, body)
    rate = commands.fps
    if frames:
        rate, q = resampled_fps(rate, len(q), frames), resample(q, frames, body=body)
    check_memory(len(q), pixels=height * width)
    xyz = (
        np.full((height, width, 3), np.nan, np.float32)
        if depth is None
        else box.put_depth(_read_depth(depth, (view.height, view.width)))
    )
    actor = MeshInstance.of_body(body, q, name="robot")
    found = make_observation(
        box.put(picture), xyz, actor, box.camera, fps=rate, base=np.asarray(body.root)
    )
    seen = np.array([bool(mask.any()) for mask in found.robot.mask])
    if not seen[0]:
        raise InputError(
            "the robot is not in the first picture, as this camera sees it",
            hint="check the camera with: kin4d robot ROBOT --actions FILE --camera FILE -o DIR; "
            "or find it with: kin4d calibrate",
        )
    if not seen.all():
        print_warning(f"the robot is out of view in {int((~seen).sum())} of {len(seen)} frames")
    joints = {"joint": q.numpy(), "names": np.array(body.coordinates), "fps": rate}
    return found, box, joints


def _read_depth(path: Path, size: tuple[int, int]) -> np.ndarray:
    """[H, W] metres."""
    import numpy as np
    from PIL import Image

    if path.suffix == ".npy":
        depth = np.load(path, allow_pickle=False).astype(np.float32)
    else:
        with Image.open(path) as picture:
            depth = np.asarray(picture, np.float32) / 1000
    if depth.shape != size:
        raise InputError(
            f"{path} is of another size than the picture", value=depth.shape, allowed=f"{size}"
        )
    return depth


def _shown(video: PointmapVideo) -> np.ndarray:
    """[T, H', W', 3] uint8: colour beside depth, large enough to look at."""
    import numpy as np

    depth = video.xyz[..., 2]
    low, high = np.nanpercentile(depth, (1, 99))
    near = np.nan_to_num(np.clip((high - depth) / max(high - low, 1e-6), 0, 1))
    grey = np.repeat((255 * near).astype(np.uint8)[..., None], 3, -1)
    scale = max(1, 384 // video.camera.width)
    both = np.concatenate([video.rgb, grey], axis=2)
    return both.repeat(scale, 1).repeat(scale, 2)
