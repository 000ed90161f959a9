"""Observation, the input of a world model: first RGB-D frame, robot motion, camera."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from kin4d.errors import InputError
from kin4d.geometry.camera import Camera
from kin4d.geometry.mesh import Mesh, face_normals
from kin4d.geometry.pointmap import PointmapVideo
from kin4d.geometry.sampling import farthest_points
from kin4d.geometry.skin import Skin
from kin4d.render.pointmaps import MeshInstance, render_instances

ROBOT_POINTS = 640
"""Surface points tracked on the robot; every link has the same number."""
ROBOT_DENSE_POINTS = 4000
"""Surface points at constant density over the whole robot."""
_OVERSAMPLE = 8  # candidate points per kept point


@dataclass(frozen=True, eq=False, kw_only=True)
class Observation:
    """The first frame, and the exact motion of the robot.

    Attributes:
        image: [H, W, 3] uint8: the first frame.
        xyz: [H, W, 3] float32 m in the camera frame: its geometry; NaN where unknown.
        robot: The robot alone in T frames, rendered from its model; mask id 1.
        robot_points: [T, N, 3] float32 m in the camera frame: points on the robot's surface,
            visible or not, the same ones in all frames.
        link: [N] int: the rigid link of each point; None if unknown.
        robot_dense_points: [T, C, 3] float32 m in the camera frame: points at
            constant density on that surface.
        base_in_camera: [4, 4] pose of the robot's base in the camera frame.
        support: [4, 4] pose of the support frame in the frame of the robot's base: objects rest on
            its plane z = 0, and its z axis is up. See `kin4d.world.support_plane`.
        language: Task instruction.
        actions: [T, a] float32 commands, or None.
        gripper_opening: [T] measured, from 0 (closed) to 1: fingers that hold an object stay
            apart. None if unknown, or without a gripper.
        ee_tracking_error: [T, 3] m, axes of the base: commanded minus measured position of the
            end effector; contact forces increase it. None if unknown.
        actor: The robot's mesh and motion, to render it again in other light.
        keep_robot: Leave the robot where it is: models do not align it to the first frame.
    """

    image: np.ndarray
    xyz: np.ndarray
    robot: PointmapVideo
    robot_points: np.ndarray
    robot_dense_points: np.ndarray
    link: np.ndarray | None = None
    base_in_camera: np.ndarray = field(default_factory=lambda: np.eye(4))
    support: np.ndarray = field(default_factory=lambda: np.eye(4))
    language: str = ""
    actions: np.ndarray | None = None
    gripper_opening: np.ndarray | None = None
    ee_tracking_error: np.ndarray | None = None
    actor: MeshInstance | None = None
    keep_robot: bool = False

    def __post_init__(self) -> None:
        camera = self.robot.camera
        size = (camera.height, camera.width, 3)
        for name, dtype in (("image", np.uint8), ("xyz", np.float32)):
            value = getattr(self, name)
            if value.shape != size or value.dtype != dtype:
                raise InputError(
                    f"the observation's {name} does not fit its camera",
                    value=(value.shape, str(value.dtype)),
                    allowed=f"{size} {np.dtype(dtype)}",
                )
        for points in (self.robot_points, self.robot_dense_points):
            if points.ndim != 3 or len(points) != len(self.robot):
                raise InputError(
                    "surface points of the robot",
                    value=points.shape,
                    allowed=f"[{len(self.robot)}, N, 3]",
                )

    def __len__(self) -> int:
        return len(self.robot)

    @property
    def camera(self) -> Camera:
        """The camera; it does not move."""
        return self.robot.camera

    @property
    def seconds(self) -> float:
        """Seconds between two frames."""
        return 1 / self.robot.fps

    @property
    def support_in_camera(self) -> np.ndarray:
        """[4, 4] pose of the support frame in the camera frame."""
        return self.base_in_camera @ self.support

    def to_support(self, points: np.ndarray) -> np.ndarray:
        """Transform points [..., 3] from the camera frame to the support frame."""
        inverse = np.linalg.inv(self.support_in_camera)
        return points @ inverse[:3, :3].T + inverse[:3, 3]

    def slice_frames(self, frames: slice) -> Observation:
        """The same first frame with the robot motion of some frames only."""
        robot, actor = self.robot, self.actor
        per_frame = {
            "robot_points": self.robot_points,
            "robot_dense_points": self.robot_dense_points,
        }
        per_frame |= {
            name: getattr(self, name)
            for name in ("actions", "gripper_opening", "ee_tracking_error")
        }
        parts = {name: value[frames] for name, value in per_frame.items() if value is not None}
        if actor is not None and actor.transforms is not None:
            transforms = actor.transforms[frames]
            actor = replace(actor, frames=len(transforms), transforms=transforms)
        robot = replace(
            robot, rgb=robot.rgb[frames], xyz=robot.xyz[frames], mask=robot.mask[frames]
        )
        return replace(self, robot=robot, actor=actor, **parts)


def make_observation(
    image: np.ndarray,
    xyz: np.ndarray,
    robot: MeshInstance,
    camera: Camera,
    *,
    fps: float,
    base: np.ndarray | None = None,
    support: np.ndarray | None = None,
    language: str = "",
    actions: np.ndarray | None = None,
    gripper_opening: np.ndarray | None = None,
    ee_tracking_error: np.ndarray | None = None,
    threads: int | None = None,
) -> Observation:
    """Make the observation of an image and a moving robot.

    Args:
        image: [H, W, 3] uint8.
        xyz: [H, W, 3] m in the camera frame; NaN where unknown.
        robot: Its model and motion; see `MeshInstance.of_body`.
        camera: Camera of the image.
        fps: Frames per second of the robot's motion.
        base: [4, 4] pose of the robot's base in the world frame of the camera's pose.
        support: [4, 4] pose of the support frame in that of the base; see `Observation`. The
            base stands on the support if None.
        language: Task instruction.
        actions: [T, a] commands.
        gripper_opening: [T] measured gripper opening; see `Observation`.
        ee_tracking_error: [T, 3] m; see `Observation`.
        threads: Rendering threads; all usable cores if None.
    """
    rendered = render_instances([robot], camera, fps=fps, threads=threads)
    to_camera = camera.world_to_camera
    robot_points, robot_dense_points = (
        (points @ to_camera[:3, :3].T + to_camera[:3, 3]).astype(np.float32)
        for points in (track_surface(robot), track_surface(robot, ROBOT_DENSE_POINTS, evenly=True))
    )
    return Observation(
        image=image,
        xyz=xyz.astype(np.float32, copy=False),
        robot=rendered,
        robot_points=robot_points,
        robot_dense_points=robot_dense_points,
        link=_sample_robot(robot, ROBOT_POINTS, evenly=False)[1],
        base_in_camera=to_camera @ (np.eye(4) if base is None else base),
        support=np.eye(4) if support is None else support,
        language=language,
        actions=actions,
        gripper_opening=gripper_opening,
        ee_tracking_error=ee_tracking_error,
        actor=robot,
    )


def with_robot_offset(
    observation: Observation, linear_map: np.ndarray, *, threads: int | None = 1
) -> Observation:
    """The observation with its robot moved; the image stays as it is.

    Args:
        observation: Must have the robot's `actor`.
        linear_map: [3, 3] linear map of the camera frame: a rotation, or an image warp.
        threads: Rendering threads.
    """
    actor, camera = observation.actor, observation.camera
    if actor is None or actor.transforms is None:
        raise InputError(
            "the robot of this observation cannot be moved: it has no mesh and motion (`actor`)"
        )
    motion = np.eye(4)
    motion[:3, :3] = linear_map
    motion = camera.pose @ motion @ camera.world_to_camera
    actor = replace(actor, transforms=motion @ actor.transforms)
    return replace(
        observation,
        robot=render_instances([actor], camera, fps=observation.robot.fps, threads=threads),
        robot_points=(observation.robot_points @ linear_map.T).astype(np.float32),
        robot_dense_points=(observation.robot_dense_points @ linear_map.T).astype(np.float32),
        actor=actor,
    )


def track_surface(
    robot: MeshInstance, count: int = ROBOT_POINTS, *, evenly: bool = False
) -> np.ndarray:
    """[T, count, 3] m in the world frame: points on a robot's surface as it moves.

    Every link has about the same number of points, chosen by farthest-point sampling, since the
    links that make contact are small. If `evenly`, the density is constant instead.
    """
    points, link = _sample_robot(robot, count, evenly=evenly)
    assert robot.transforms is not None
    matrices = robot.transforms[:, link]
    return (matrices[..., :3, :3] @ points[None, :, :, None])[..., 0] + matrices[..., :3, 3]


def _sample_robot(
    robot: MeshInstance, count: int, *, evenly: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Points [count, 3] of a robot's surface at rest, m, and the link [count] of each."""
    if robot.skin is None or robot.transforms is None or not robot.skin.is_rigid:
        raise InputError(f"'{robot.name}' is not made of rigid links", allowed="a robot")
    return _sample_surface(robot.mesh, robot.skin, count, evenly=evenly)


@lru_cache(maxsize=8)
def _sample_surface(
    mesh: Mesh, skin: Skin, count: int, *, evenly: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The points; always the same ones of a mesh."""
    rng = np.random.default_rng(0)
    link_of_face = skin.joints[mesh.faces[:, 0], 0]
    area = np.linalg.norm(face_normals(mesh.vertices, mesh.faces), axis=-1)
    group = np.zeros_like(link_of_face) if evenly else link_of_face
    links = np.unique(group[area > 0])
    counts = np.diff(np.arange(len(links) + 1) * count // len(links))
    oversample = 1 if evenly else _OVERSAMPLE
    points_found, face_of_point = [], []
    for link, count_on_link in zip(links, counts, strict=True):
        weight = area * (group == link)
        face = rng.choice(len(area), oversample * count_on_link, p=weight / weight.sum())
        corner_weights = rng.dirichlet(np.ones(3), len(face))
        points = np.einsum("nc,ncd->nd", corner_weights, mesh.vertices[mesh.faces[face]])
        kept = slice(None) if evenly else farthest_points(points, count_on_link, seed=0)
        points_found.append(points[kept])
        face_of_point.append(face[kept])
    return np.concatenate(points_found), link_of_face[np.concatenate(face_of_point)]
