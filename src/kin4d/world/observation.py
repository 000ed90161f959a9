"""Situation: what is known before anything is imagined."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from kin4d.errors import InputError
from kin4d.geometry.camera import Camera
from kin4d.geometry.mesh import face_normals
from kin4d.geometry.pointmap import PointmapVideo
from kin4d.geometry.sampling import farthest_points
from kin4d.render.pointmaps import MeshInstance, render_instances

TRACKED = 640
"""Points of the robot's surface that are followed, as many on each link."""
COVERING = 4000
"""Points that cover it evenly."""
_SPARE = 8  # times as many points as are kept, to choose from


@dataclass(frozen=True, eq=False, kw_only=True)
class Observation:
    """A first picture, and exactly what the robot will do.

    Attributes:
        image: [H, W, 3] uint8: the first frame.
        xyz: [H, W, 3] float32 m in the camera frame: its geometry; NaN where unknown.
        robot: The robot alone in T frames, exactly: drawn from its own model; mask id 1.
        track: [T, N, 3] float32 m in the camera frame: points of the robot's surface, seen or not,
            the same ones in all frames.
        link: [N] int: the rigid link each of them is on; None if that is not known.
        cover: [T, C, 3] float32 m in the camera frame: points spread evenly over that surface.
        base: [4, 4] the robot's base in the camera frame; its z axis is up.
        language: What the robot was asked to do.
        actions: [T, a] float32: what it is commanded, or None.
        opening: [T] how open its gripper is, 0 closed to 1: as measured, so that fingers which
            hold something stay apart. None if that is not known, or there is no gripper.
        lag: [T, 3] m, axes of the base: how far its hand, as measured, is from where it was told to
            be. What resists holds it back. None if that is not known.
        actor: The robot's model and motion, to draw it again in other light.
    """

    image: np.ndarray
    xyz: np.ndarray
    robot: PointmapVideo
    track: np.ndarray
    cover: np.ndarray
    link: np.ndarray | None = None
    base: np.ndarray = field(default_factory=lambda: np.eye(4))
    language: str = ""
    actions: np.ndarray | None = None
    opening: np.ndarray | None = None
    lag: np.ndarray | None = None
    actor: MeshInstance | None = None

    def __post_init__(self) -> None:
        camera = self.robot.camera
        size = (camera.height, camera.width, 3)
        for name, dtype in (("image", np.uint8), ("xyz", np.float32)):
            value = getattr(self, name)
            if value.shape != size or value.dtype != dtype:
                raise InputError(
                    f"the situation's {name} does not fit its camera",
                    value=(value.shape, str(value.dtype)),
                    allowed=f"{size} {np.dtype(dtype)}",
                )
        for points in (self.track, self.cover):
            if points.ndim != 3 or len(points) != len(self.robot):
                raise InputError(
                    "points of the robot", value=points.shape, allowed=f"[{len(self.robot)}, N, 3]"
                )

    def __len__(self) -> int:
        return len(self.robot)

    @property
    def camera(self) -> Camera:
        """The one camera."""
        return self.robot.camera

    @property
    def seconds(self) -> float:
        """Between two frames."""
        return 1 / self.robot.fps

    def to_base(self, points: np.ndarray) -> np.ndarray:
        """Points [..., 3] from the camera frame to the robot's base."""
        inverse = np.linalg.inv(self.base)
        return points @ inverse[:3, :3].T + inverse[:3, 3]

    def during(self, frames: slice) -> Observation:
        """The same picture, and what the robot does in some of the frames."""
        robot, actor = self.robot, self.actor
        told = {"track": self.track, "cover": self.cover}
        told |= {name: getattr(self, name) for name in ("actions", "opening", "lag")}
        parts = {name: value[frames] for name, value in told.items() if value is not None}
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
    language: str = "",
    actions: np.ndarray | None = None,
    opening: np.ndarray | None = None,
    lag: np.ndarray | None = None,
    threads: int | None = None,
) -> Observation:
    """The situation of a picture and a moving robot.

    Args:
        image: [H, W, 3] uint8.
        xyz: [H, W, 3] m in the camera frame; NaN where unknown.
        robot: Its model and motion; see `Actor.of_body`.
        camera: Of the picture.
        fps: Of the robot's motion.
        base: [4, 4] the robot's base in the world of the camera's pose.
        language: What the robot was asked to do.
        actions: [T, a] what it is commanded.
        opening: [T] how open its gripper is, as measured; see `Observation`.
        lag: [T, 3] m: how far its hand is behind, as measured; see `Observation`.
        threads: That draw; all usable cores if None.
    """
    drawn = render_instances([robot], camera, fps=fps, threads=threads)
    to_camera = camera.world_to_camera
    track, cover = (
        (points @ to_camera[:3, :3].T + to_camera[:3, 3]).astype(np.float32)
        for points in (track_surface(robot), track_surface(robot, COVERING, evenly=True))
    )
    return Observation(
        image=image,
        xyz=xyz.astype(np.float32, copy=False),
        robot=drawn,
        track=track,
        cover=cover,
        link=_spots(robot, TRACKED, evenly=False)[1],
        base=to_camera @ (np.eye(4) if base is None else base),
        language=language,
        actions=actions,
        opening=opening,
        lag=lag,
        actor=robot,
    )


def with_robot_offset(
    situation: Observation, carry: np.ndarray, *, threads: int | None = 1
) -> Observation:
    """The situation with its robot told to be elsewhere; the picture stays as it is.

    Args:
        situation: With the robot's model.
        carry: [3, 3] linear map of the camera frame: a turn, or one that slides pixels.
        threads: That draw.
    """
    actor, camera = situation.actor, situation.camera
    if actor is None or actor.transforms is None:
        raise InputError("a situation without its robot's model cannot be told anew")
    motion = np.eye(4)
    motion[:3, :3] = carry
    motion = camera.pose @ motion @ camera.world_to_camera
    actor = replace(actor, transforms=motion @ actor.transforms)
    return replace(
        situation,
        robot=render_instances([actor], camera, fps=situation.robot.fps, threads=threads),
        track=(situation.track @ carry.T).astype(np.float32),
        cover=(situation.cover @ carry.T).astype(np.float32),
        actor=actor,
    )


def track_surface(robot: MeshInstance, count: int = TRACKED, *, evenly: bool = False) -> np.ndarray:
    """[T, count, 3] m in the world: points of a robot's surface as it moves.

    Every link has about as many points as any other, for what touches things is small, spread so
    that no spot of it is far from all of them; or, if `evenly`, every square centimetre.
    """
    points, link = _spots(robot, count, evenly=evenly)
    assert robot.transforms is not None
    matrices = robot.transforms[:, link]
    return (matrices[..., :3, :3] @ points[None, :, :, None])[..., 0] + matrices[..., :3, 3]


def _spots(robot: MeshInstance, count: int, *, evenly: bool) -> tuple[np.ndarray, np.ndarray]:
    """Points [count, 3] of a robot's surface at rest, m, and the link [count] each is on."""
    if robot.skin is None or robot.transforms is None or not robot.skin.is_rigid:
        raise InputError(f"'{robot.name}' is not made of rigid links", allowed="a robot")
    mesh, dice = robot.mesh, np.random.default_rng(0)
    link_of_face = robot.skin.joints[mesh.faces[:, 0], 0]
    area = np.linalg.norm(face_normals(mesh.vertices, mesh.faces), axis=-1)
    group = np.zeros_like(link_of_face) if evenly else link_of_face
    links = np.unique(group[area > 0])
    shares = np.diff(np.arange(len(links) + 1) * count // len(links))
    spare = 1 if evenly else _SPARE
    found, owner = [], []
    for link, share in zip(links, shares, strict=True):
        weight = area * (group == link)
        face = dice.choice(len(area), spare * share, p=weight / weight.sum())
        corner_weights = dice.dirichlet(np.ones(3), len(face))
        points = np.einsum("nc,ncd->nd", corner_weights, mesh.vertices[mesh.faces[face]])
        kept = slice(None) if evenly else farthest_points(points, share, seed=0)
        found.append(points[kept])
        owner.append(face[kept])
    return np.concatenate(found), link_of_face[np.concatenate(owner)]
