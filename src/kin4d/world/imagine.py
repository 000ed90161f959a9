"""`kin4d.imagine`: predict an RGB and XYZ video from an image, a robot and its actions.

`kin4d.imagine_episode` takes all of them from a recorded episode.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from kin4d.bodies.capabilities import RigidLinks
from kin4d.bodies.robot.attach import attach
from kin4d.bodies.robot.registry import load_robot
from kin4d.bodies.robot.robot_body import RobotBody
from kin4d.episodes.episode import Episode
from kin4d.episodes.formats.reader import read_robot_motion
from kin4d.errors import InputError
from kin4d.export.video import read_image
from kin4d.geometry.camera import Camera
from kin4d.geometry.clip import Clip
from kin4d.geometry.pointmap import PointmapVideo
from kin4d.kinematics.actions import Actions
from kin4d.kinematics.control import actions_to_q
from kin4d.kinematics.grippers import gripper_opening
from kin4d.kinematics.resample import resample, resampled_fps
from kin4d.render.pointmaps import MeshInstance
from kin4d.world.depth_and_masks import read_depth, read_labels
from kin4d.world.episode_observation import episode_body
from kin4d.world.first_image import POOR_FIT, FirstImageError, check_first_image
from kin4d.world.letterbox import Letterbox
from kin4d.world.model import WorldModel, load_world_model
from kin4d.world.object_world.full_resolution import imagine_large
from kin4d.world.object_world.model import ObjectWorldModel
from kin4d.world.observation import Observation, make_observation
from kin4d.world.robot_fit import RobotFit, align_to_fit
from kin4d.world.rollout import imagine_rollout
from kin4d.world.scene_motion import scene_clips, scene_motion
from kin4d.world.support_plane import SupportPlane, find_support

_FIT = 2
"""The fit of the robot is checked in images so many times larger than the model's."""
_MAX_SCALE = 20


class ImagineWarning(UserWarning):
    """The input is usable, but not what the world model works with directly."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ImaginedVideo(PointmapVideo):
    """The most likely video, the robot's motion in it, and further samples.

    Attributes:
        q: [T, k] joint coordinates of the robot, rad or m.
        coordinates: Names of the k coordinates.
        support: The plane that objects rest on, and where it is from.
        fit: How the robot fits the first image, and that image with the robot drawn over it.
        samples: Further videos; they differ where the model is uncertain.
    """

    q: np.ndarray
    coordinates: tuple[str, ...]
    support: SupportPlane
    fit: RobotFit
    samples: tuple[PointmapVideo, ...] = ()


def imagine(
    image: str | Path | np.ndarray,
    robot: str | Path | RobotBody,
    actions: str | Path | Actions,
    camera: str | Path | Camera,
    *,
    depth: str | Path | np.ndarray | None = None,
    masks: str | Path | np.ndarray | None = None,
    table_height: float | None = None,
    plane: str | Path | SupportPlane | None = None,
    base_pose: np.ndarray | None = None,
    gripper: str | Path | RobotBody | None = None,
    gripper_link: str | None = None,
    camera_convention: str | None = None,
    align: bool = False,
    size: tuple[int, int] | None = None,
    control: str = "robot",
    scene: str | Path | Clip | Sequence[Clip] | None = None,
    weights: str | Path | WorldModel = "tiny",
    num_samples: int = 1,
    seed: int = 0,
    frames: int = 49,
    stream: str = "state_joint",
    episode: int = 0,
    measured_gripper: bool = False,
) -> ImaginedVideo:
    """Predict how the scene of an image reacts to a robot: colour, and geometry in metres.

    Args:
        image: The first frame, a file or [H, W, 3] uint8; it is resized to the size of the model.
        robot: A name (see `list_robots`), the path of a URDF or MJCF file, or a body.
        actions: A file (npz, npy, csv, parquet, DROID .json, RLDS .tfrecord), or actions.
        camera: The camera of the image, in the robot's world; an object or its JSON file. The
            cameras of episodes stand in a world with another robot base: see `imagine_episode`.
        depth: Depth of the same view: .npy (m), .png (mm) or [H, W] m; estimated if None.
        masks: Rigid parts in the image, if known: [H, W] integers, 0 for none, then one id per
            part, or a .png or .npy of them; predicted if None.
        table_height: m above the robot's base: what objects rest on. If neither this nor `plane`
            is given, it is found in the depth, or guessed from the robot's motion without depth.
        plane: The same as a plane that may be tilted, or its JSON; see `SupportPlane`.
        base_pose: [4, 4] the robot's base in the world of the camera's pose, m.
        gripper: A gripper to mount: a name, a path or a body.
        gripper_link: Link of the robot that it is mounted on; the end effector if None.
        camera_convention: That of the camera's pose, if `camera` is a file: opencv, opengl,
            mujoco, robosuite, ros, sapien, ...; what the file says if None.
        align: Slide and roll the robot in the image to where the first image shows it.
        size: Width and height in pixels within which the video is drawn, from the first image's
            own pixels; the networks see a small image all the same. That of the model if None.
        control: "robot": the model predicts how bodies react. "scene": they move as in `scene`,
            and the model paints it; what `scene` does not show stands still.
        scene: For control "scene": what mechanics decided, the clips of a simulation with the same
            robot motion, or the .npz of one; in the world of the camera, rigid bodies only.
        weights: A name that ships, a .safetensors file, a folder, a hub id, or a loaded model.
        num_samples: How many videos; the first is the most likely one, the others are its
            `samples`.
        seed: Seed of the other samples.
        frames: Length after uniform resampling in time; 0 keeps the actions' own length. Motions
            longer than the model's window are predicted window by window.
        stream: Which stream of a recording to follow: state_joint, state_pose, action_joint, ...
        episode: Which episode of a file that holds several.
        measured_gripper: Whether the finger joints in `actions` were measured, so that they stop
            at a grasped object. Otherwise they are commands, and geometry decides about grasps.
    """
    if num_samples < 1:
        raise InputError("number of samples", value=num_samples, allowed=">= 1")
    for name, value, kinds in (
        ("image", image, (np.ndarray,)),
        ("robot", robot, (RigidLinks,)),
        ("actions", actions, (Actions,)),
        ("camera", camera, (Camera,)),
        ("depth", depth, (np.ndarray, type(None))),
        ("masks", masks, (np.ndarray, type(None))),
        ("gripper", gripper, (RigidLinks, type(None))),
    ):
        _check_type(name, value, kinds)
    body = _load_body(robot, base_pose, gripper, gripper_link)
    view = (
        camera if isinstance(camera, Camera) else Camera.load(camera, convention=camera_convention)
    )
    rgb = image if isinstance(image, np.ndarray) else read_image(image)
    model = load_world_model(weights) if isinstance(weights, str | Path) else weights
    _check_size("image", rgb, view)
    box = Letterbox.of(view, height=model.size[0], width=model.size[1])
    if size is None and (view.height, view.width) != model.size:
        margins = "" if box.fills else ", with margins above and below or at the sides"
        _warn(f"the image is resized to {model.size[1]} x {model.size[0]} pixels{margins}")
    if not isinstance(actions, Actions):
        actions = read_robot_motion(actions, motion=stream, episode=episode)
    q, fps = actions_to_q(actions, body)[0], actions.fps
    if frames:
        fps, q = resampled_fps(fps, len(q), frames), resample(q, frames, body=body)
    metres = None
    if depth is not None:
        metres = depth if isinstance(depth, np.ndarray) else read_depth(Path(depth))
        if metres.ndim != 2:
            raise InputError("shape of the depth image", value=metres.shape, allowed="[H, W], m")
        _check_size("depth", metres, view)
    actor = MeshInstance.of_body(body, q, name="robot")
    observation = _observe(
        rgb,
        metres,
        actor,
        box,
        fps=fps,
        base=np.asarray(body.root),
        gripper_opening=gripper_opening(body, q.numpy()) if measured_gripper else None,
    )
    visible = np.array([frame.any() for frame in observation.robot.mask])
    if not visible[0]:
        raise InputError(
            "the robot is not visible in the first image, as this camera sees it",
            hint="check the camera with: kin4d robot ROBOT --actions FILE --camera FILE -o DIR; "
            "or find it with: kin4d calibrate",
        )
    if not visible.all():
        _warn(f"the robot is out of view in {int((~visible).sum())} of {len(visible)} frames")
    closer = Letterbox.of(view, height=_FIT * model.size[0], width=_FIT * model.size[1])
    assert actor.transforms is not None
    first_actor = replace(actor, frames=1, transforms=actor.transforms[:1])
    first_image = _observe(rgb, metres, first_actor, closer, fps=fps, base=np.asarray(body.root))
    fit = check_first_image(first_image, body, q[0].numpy(), align=align)
    if align:
        observation = align_to_fit(observation, fit)
    elif fit.iou < POOR_FIT:
        _warn(f"{fit}; try --align, or check the camera")
    support = _support(observation, table_height, plane, fit)
    observation = replace(observation, support=support.frame, keep_robot=True)
    seeds = [None if n == 0 else seed + n for n in range(num_samples)]
    part = None if masks is None else _parts(masks, model, view, box)
    clips = scene_clips(control, scene, model, alone=masks is None and num_samples == 1)
    motion = None if scene is None else scene_motion(observation, clips)
    known = {"part": part, "motion": motion}
    if size is None and isinstance(model, ObjectWorldModel):
        first, *others = (box.crop(model.imagine(observation, **known, seed=n)) for n in seeds)
    elif size is None:
        first, *others = (box.crop(imagine_rollout(model, observation, seed=n)) for n in seeds)
    else:
        wide = _large_box(view, model, size)
        assert isinstance(model, ObjectWorldModel)
        large = _observe(rgb, metres, actor, wide, fps=fps, base=np.asarray(body.root))
        large = align_to_fit(large, fit) if align else large
        large = replace(large, support=support.frame)
        first, *others = (
            wide.crop(imagine_large(model, observation, large, **known, seed=n)[0]) for n in seeds
        )
    return ImaginedVideo(
        **vars(first),
        q=q.numpy(),
        coordinates=tuple(body.coordinates),
        support=support,
        fit=fit,
        samples=tuple(others),
    )


def imagine_episode(
    episode: Episode,
    *,
    depth: bool = True,
    weights: str | Path | WorldModel = "tiny",
    num_samples: int = 1,
    seed: int = 0,
) -> ImaginedVideo:
    """`imagine` from the first frame, the camera and the robot's motion of a recorded episode.

    The robot stands where it stood in the episode; its measured joints are followed, one per frame.

    Args:
        episode: An episode with joint positions.
        depth: Whether the model gets the first frame's recorded depth; else it estimates it.
        weights: As for `imagine`.
        num_samples: As for `imagine`.
        seed: As for `imagine`.
    """
    if episode.joints is None:
        raise InputError(
            f"episode '{episode.name}' has no joint positions of its robot",
            hint="give the actions to kin4d.imagine, which solves for the joints",
        )
    video = episode.video
    return imagine(
        video.rgb[0],
        episode_body(episode),
        Actions(kind="joint", values=episode.joints, names=episode.joint_names, fps=episode.fps),
        video.camera,
        depth=video.xyz[0, ..., 2] if depth else None,
        weights=weights,
        num_samples=num_samples,
        seed=seed,
        frames=0,
        measured_gripper=True,
    )


def _load_body(
    robot: str | Path | RobotBody,
    base_pose: np.ndarray | None,
    gripper: str | Path | RobotBody | None,
    gripper_link: str | None,
) -> RobotBody:
    """The robot at its base, with the gripper that is mounted on it."""
    body = load_robot(robot) if isinstance(robot, str | Path) else robot
    if gripper is not None:
        mounted = load_robot(gripper) if isinstance(gripper, str | Path) else gripper
        body = attach(body, mounted, link=gripper_link or body.end_effector)
    if base_pose is not None:
        _check_pose(base_pose)
        body = body.placed(base_pose @ np.linalg.inv(np.asarray(body.root)))
    return body


def _check_pose(pose: np.ndarray) -> None:
    rotation = np.asarray(pose)[:3, :3]
    if np.shape(pose) != (4, 4) or not np.allclose(rotation @ rotation.T, np.eye(3), atol=1e-4):
        raise InputError(
            "pose of the robot's base", value=np.asarray(pose).tolist(), allowed="a rigid [4, 4], m"
        )


def _parts(
    masks: str | Path | np.ndarray, model: WorldModel, view: Camera, box: Letterbox
) -> np.ndarray:
    """[H, W] int: the given part of each pixel of the model's image, -1 for none."""
    if not isinstance(model, ObjectWorldModel):
        raise InputError("masks of parts need the weights of an object world model")
    labels = masks if isinstance(masks, np.ndarray) else read_labels(Path(masks))
    if labels.ndim != 2 or not np.issubdtype(labels.dtype, np.integer) or labels.max() > 255:
        raise InputError(
            "masks of parts",
            value=(labels.shape, str(labels.dtype)),
            allowed="[H, W] integers: 0 for none, then one id per part, at most 255",
        )
    _check_size("masks", labels, view)
    return box.put_labels(labels).astype(int) - 1


def _large_box(view: Camera, model: WorldModel, size: tuple[int, int]) -> Letterbox:
    """The letterbox of the model, as large as fits into `size` (width, height)."""
    if not isinstance(model, ObjectWorldModel):
        raise InputError(
            "these weights predict pixels, not motions, and have one size only",
            value=size,
            allowed="no size, or the weights of an object world model",
        )
    height, width = model.size
    scale = min(size[0] / width, size[1] / height)
    if not 1 <= scale <= _MAX_SCALE:
        raise InputError(
            "size of the video",
            value=size,
            allowed=f"{width} x {height} to {_MAX_SCALE * width} x {_MAX_SCALE * height} pixels",
        )
    return Letterbox.of(view, height=round(scale * height), width=round(scale * width))


def _observe(
    rgb: np.ndarray,
    metres: np.ndarray | None,
    actor: MeshInstance,
    box: Letterbox,
    *,
    fps: float,
    base: np.ndarray,
    gripper_opening: np.ndarray | None = None,
) -> Observation:
    """The observation at the size of a letterbox."""
    size = (box.camera.height, box.camera.width, 3)
    xyz = np.full(size, np.nan, np.float32) if metres is None else box.put_depth(metres)
    return make_observation(
        box.put(rgb), xyz, actor, box.camera, fps=fps, base=base, gripper_opening=gripper_opening
    )


def _support(
    observation: Observation,
    table_height: float | None,
    plane: str | Path | SupportPlane | None,
    fit: RobotFit,
) -> SupportPlane:
    """The given support, or the one that is found."""
    if table_height is not None and plane is not None:
        raise InputError("both a table height and a plane are given", allowed="one of them")
    if table_height is not None:
        return SupportPlane.at_height(table_height)
    if plane is not None:
        return plane if isinstance(plane, SupportPlane) else SupportPlane.load(plane)
    found = find_support(observation)
    if found is None:
        error = FirstImageError(
            "no horizontal surface is seen below the robot's hand",
            hint="give the height that objects rest on: --table-height, or --plane",
        )
        error.picture = fit.picture
        raise error
    return found


def _check_type(name: str, value: object, kinds: tuple[type, ...]) -> None:
    if not isinstance(value, (str, Path, *kinds)):
        raise InputError(
            f"{name} to imagine from",
            value=type(value).__name__,
            allowed=", ".join(["a path or a name", *(kind.__name__ for kind in kinds)]),
        )


def _check_size(name: str, array: np.ndarray, camera: Camera) -> None:
    if array.shape[:2] != (camera.height, camera.width):
        raise InputError(
            f"the {name} and its camera differ in size",
            value=array.shape[:2],
            allowed=f"{(camera.height, camera.width)}, as the camera says",
            hint="give the camera of this image",
        )


def _warn(text: str) -> None:
    warnings.warn(text, ImagineWarning, stacklevel=3)
