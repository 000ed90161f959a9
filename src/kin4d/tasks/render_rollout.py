"""RenderedRollout: a pointmap video of a rollout; the room is rendered once, then what moves."""

from __future__ import annotations

from dataclasses import dataclass

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
    camera = scene.room.camera(height, width)
    actors = RenderBatch(scene, rollout)
    empty = _room(scene, camera)
    floor = FloorPlane(height=0.0, centre=np.zeros(3), radius=1.0, up=np.array([0.0, 0.0, 1.0]))
    renderer = Renderer(
        actors.surface,
        camera,
        background=lambda view: _backdrop(scene, view),
        floor=floor,
        lights=scene.room.lights,
        antialias=antialias,
    )
    frames = len(rollout.q)
    rgb = np.empty((frames, height, width, 3), np.uint8)
    xyz = np.empty((frames, height, width, 3), np.float32)
    mask = np.empty((frames, height, width), np.uint8)
    depth = empty.xyz[..., 2]
    for t in range(frames):
        drawn = renderer.draw(actors.transforms[t], threads=threads)
        # What fell off the table is behind it. Comparisons with NaN are false: nothing is there.
        seen = drawn.xyz[..., 2] <= depth
        hidden = (drawn.mask > 0) & ~seen
        rgb[t] = np.where(hidden[..., None], empty.rgb, drawn.rgb)
        xyz[t] = np.where(seen[..., None], drawn.xyz, empty.xyz)
        mask[t] = np.where(seen, drawn.mask, 0)
    video = PointmapVideo(
        rgb=rgb,
        xyz=xyz,
        mask=actors.owner[mask],
        camera=camera,
        fps=(frames - 1) / rollout.seconds,
        names=("robot", *(obj.name for obj in scene.objects)),
    )
    objects = tuple(int(one) for one in actors.owner[FIRST:])
    return RenderedRollout(
        video=video, parts=PartTracks(mask=mask, motions=actors.motions(camera), object_ids=objects)
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


class RenderBatch:
    """All that moves as one surface, and how its joints move.

    Args:
        scene: Where it happened.
        rollout: What happened.

    Attributes:
        surface: The robot first, then every body of every object.
        owner: [2 + P] uint8: mask id in the video of each mask id of the surface.
        transforms: [T, J, 4, 4] motions of the surface's joints; the last P are of the bodies.
    """

    def __init__(self, scene: TaskScene, rollout: Rollout) -> None:
        body = scene.arm.body
        with torch.no_grad():
            robot = body.skin_transforms(torch.from_numpy(rollout.q)).numpy()
        meshes, skins, columns, owner = [body.rest], [body.skin], [], [0, 1]
        for number, obj in enumerate(scene.objects, FIRST):
            for name, mesh in zip(obj.bodies, obj.meshes, strict=True):
                meshes.append(mesh)
                skins.append(Skin.rigid(np.zeros(len(mesh.vertices), np.int64), (name,)))
                columns.append(scene.model.body(name).id)
                owner.append(number)
        self.surface = RenderScene.of(meshes, skins)
        self.owner = np.array(owner, np.uint8)
        self._poses = rollout.poses[:, columns]
        self.transforms = np.concatenate([robot, self._poses], axis=1)

    def motions(self, camera: Camera) -> np.ndarray:
        """[T, P, 4, 4]: how the bodies have moved since the first frame, in the camera frame."""
        seen = camera.world_to_camera @ self._poses
        return seen @ np.linalg.inv(seen[0])
