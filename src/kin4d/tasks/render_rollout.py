"""RenderedRollout: a pointmap video of a rollout; the room is rendered once, then what moves."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch

from kin4d.episodes.part_tracks import FIRST, PartTracks
from kin4d.geometry.camera import Camera
from kin4d.geometry.pointmap import PointmapVideo
from kin4d.geometry.skin import Skin
from kin4d.render.background import Background, FloorPlane
from kin4d.render.render_scene import RenderScene, to_linear
from kin4d.render.renderer import RenderedFrame, Renderer
from kin4d.tasks.simulate import Rollout
from kin4d.tasks.task_scene import TaskScene

_TABLE = 1  # mask id in the image of the room


@dataclass(frozen=True, eq=False, kw_only=True)
class RenderedRollout:
    """What a camera saw, and what a simulator knows about it.

    Attributes:
        video: Mask id 1 is the robot, 2 and on the scene's objects, 0 the room, which has its XYZ
            too.
        parts: The bodies of the objects.
    """

    video: PointmapVideo
    parts: PartTracks


def render_rollout(
    scene: TaskScene,
    rollout: Rollout,
    *,
    height: int = 64,
    width: int = 96,
    antialias: int = 2,
    threads: int = 1,
) -> RenderedRollout:
    """What the scene's camera sees of a rollout.

    Args:
        scene: Where it happened.
        rollout: What happened.
        height: Pixels.
        width: Pixels.
        antialias: Samples along each side of a pixel, for the colours alone.
        threads: How many share the work.
    """
    renderer = TaskRenderer(scene, height=height, width=width, antialias=antialias)
    actors = RenderBatch(scene, rollout)
    drawn = [renderer.draw(one, threads=threads) for one in actors.transforms]
    mask = np.stack([frame.mask for frame in drawn])
    frames, camera = len(drawn), renderer.camera
    video = PointmapVideo(
        rgb=np.stack([frame.rgb for frame in drawn]),
        xyz=np.stack([frame.xyz for frame in drawn]),
        mask=actors.owner[mask],
        camera=camera,
        fps=(frames - 1) / rollout.seconds,
        names=("robot", *(obj.name for obj in scene.objects)),
    )
    objects = tuple(int(one) for one in actors.owner[FIRST:])
    return RenderedRollout(
        video=video, parts=PartTracks(mask=mask, motions=actors.motions(camera), object_ids=objects)
    )


class TaskRenderer:
    """Draws a task's scene frame by frame; the room is drawn once.

    Args:
        scene: What is drawn.
        height: Pixels.
        width: Pixels.
        antialias: Samples along each side of a pixel, for the colours alone.

    Attributes:
        actors: All that moves.
        camera: The view.
    """

    def __init__(
        self, scene: TaskScene, *, height: int = 64, width: int = 96, antialias: int = 2
    ) -> None:
        self.camera, self.actors = scene.room.camera(height, width), SceneActors(scene)
        self._empty = _room(scene, self.camera)
        self._renderer = Renderer(
            self.actors.surface,
            self.camera,
            background=lambda view: _backdrop(scene, view),
            floor=FloorPlane(
                height=0.0, centre=np.zeros(3), radius=1.0, up=np.array([0.0, 0.0, 1.0])
            ),
            lights=scene.room.lights,
            antialias=antialias,
        )

    def draw(self, transforms: np.ndarray, *, threads: int = 1) -> RenderedFrame:
        """One frame, of motions [J, 4, 4] of the surface's joints.

        Its mask has 0 for the room, 1 for the robot, then one id for each body of the objects.
        """
        drawn, empty = self._renderer.draw(transforms, threads=threads), self._empty
        # What fell off the table is behind it. Comparisons with NaN are false: nothing is there.
        seen = drawn.xyz[..., 2] <= empty.xyz[..., 2]
        hidden = (drawn.mask > 0) & ~seen
        return replace(
            drawn,
            rgb=np.where(hidden[..., None], empty.rgb, drawn.rgb),
            xyz=np.where(seen[..., None], drawn.xyz, empty.xyz),
            mask=np.where(seen, drawn.mask, 0).astype(np.uint8),
        )


def _room(scene: TaskScene, camera: Camera) -> RenderedFrame:
    """The room alone; its table has mask id 1."""
    room = scene.room
    surface = RenderScene.of(room.meshes, room.skins)
    still = np.tile(np.eye(4), (surface.joint_count, 1, 1))
    return Renderer(surface, camera, lights=room.lights).draw(still, threads=1)


def _backdrop(scene: TaskScene, camera: Camera) -> Background:
    """The room as an image that shadows fall on where it shows the table."""
    drawn = _room(scene, camera)
    table = (drawn.mask == _TABLE).astype(np.float32)
    return Background(to_linear(drawn.rgb), table)


class SceneActors:
    """All that moves in a scene, as one surface.

    Args:
        scene: The scene.

    Attributes:
        surface: The robot first, then every body of every object.
        bodies: Names of these bodies; the mask id of the first is 2.
        owner: [2 + P] uint8: mask id in a video of each mask id of the surface.
    """

    def __init__(self, scene: TaskScene) -> None:
        self._robot = scene.arm.body
        meshes, skins, owner = [self._robot.rest], [self._robot.skin], [0, 1]
        names: list[str] = []
        for number, obj in enumerate(scene.objects, FIRST):
            for name, mesh in zip(obj.bodies, obj.meshes, strict=True):
                meshes.append(mesh)
                skins.append(Skin.rigid(np.zeros(len(mesh.vertices), np.int64), (name,)))
                names.append(name)
                owner.append(number)
        self.surface = RenderScene.of(meshes, skins)
        self.bodies, self.owner = tuple(names), np.array(owner, np.uint8)
        self._columns = [scene.model.body(name).id for name in names]

    def body_poses(self, poses: np.ndarray) -> np.ndarray:
        """[..., P, 4, 4] of all poses [..., B, 4, 4] of MuJoCo's bodies."""
        return poses[..., self._columns, :, :]

    def joint_transforms(self, q: np.ndarray, poses: np.ndarray) -> np.ndarray:
        """[..., J, 4, 4] motions of the surface's joints; the last P are of the bodies.

        Args:
            q: [..., k] coordinates of the arm.
            poses: [..., B, 4, 4] poses of MuJoCo's bodies.
        """
        with torch.no_grad():
            robot = self._robot.skin_transforms(torch.from_numpy(q)).numpy()
        return np.concatenate([robot, self.body_poses(poses)], axis=-3)


class RenderBatch(SceneActors):
    """All that moves, and how it moved in a rollout.

    Args:
        scene: Where it happened.
        rollout: What happened.

    Attributes:
        transforms: [T, J, 4, 4]; see `SceneActors.joint_transforms`.
    """

    def __init__(self, scene: TaskScene, rollout: Rollout) -> None:
        super().__init__(scene)
        self._poses = self.body_poses(rollout.poses)
        self.transforms = self.joint_transforms(rollout.q, rollout.poses)

    def motions(self, camera: Camera) -> np.ndarray:
        """[T, P, 4, 4]: how the bodies have moved since the first frame, in the camera frame."""
        seen = camera.world_to_camera @ self._poses
        return seen @ np.linalg.inv(seen[0])
