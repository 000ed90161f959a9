"""Film: a rollout as a pointmap video, the room drawn once and all that moves drawn on top."""

from __future__ import annotations

import numpy as np
import torch

from kin4d.data.tasks.scene import Scene
from kin4d.data.tasks.simulate import Rollout
from kin4d.geometry.camera import Camera
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.pointmap import PointmapVideo
from kin4d.geometry.skin import Skin
from kin4d.render.backdrop import Backdrop, Floor
from kin4d.render.renderer import Frame, Renderer
from kin4d.render.surface import Surface, to_linear

_TABLE = 1  # mask id in the picture of the room


def film(
    scene: Scene,
    rollout: Rollout,
    *,
    height: int = 64,
    width: int = 96,
    antialias: int = 2,
    threads: int = 1,
) -> PointmapVideo:
    """What the scene's camera sees of a rollout.

    Mask id 1 is the robot, 2 and on the scene's things, 0 the room, which has its XYZ too.

    Args:
        scene: Where it happened.
        rollout: What happened.
        height: Pixels.
        width: Pixels.
        antialias: Samples along each side of a pixel, for the colours alone.
        threads: How many share the work.
    """
    camera = scene.room.camera(height, width)
    actors = Actors(scene, rollout)
    empty = _room(scene, camera)
    floor = Floor(height=0.0, centre=np.zeros(3), radius=1.0, up=np.array([0.0, 0.0, 1.0]))
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
    return PointmapVideo(
        rgb=rgb,
        xyz=xyz,
        mask=mask,
        camera=camera,
        fps=(frames - 1) / rollout.seconds,
        names=("robot", *(thing.name for thing in scene.things)),
    )


def _room(scene: Scene, camera: Camera) -> Frame:
    """The room alone; its table has mask id 1."""
    room = scene.room
    surface = Surface.of(room.meshes, room.skins)
    still = np.tile(np.eye(4), (surface.joint_count, 1, 1))
    return Renderer(surface, camera, lights=room.lights).draw(still, threads=1)


def _backdrop(scene: Scene, camera: Camera) -> Backdrop:
    """The room as a picture that shadows fall on where it shows the table."""
    drawn = _room(scene, camera)
    table = (drawn.mask == _TABLE).astype(np.float32)
    return Backdrop(to_linear(drawn.rgb), table)


class Actors:
    """All that moves as one surface, and how its joints move.

    Args:
        scene: Where it happened.
        rollout: What happened.

    Attributes:
        surface: The robot first, then the things.
        transforms: [T, J, 4, 4] motions of the surface's joints.
    """

    def __init__(self, scene: Scene, rollout: Rollout) -> None:
        body = scene.arm.body
        with torch.no_grad():
            robot = body.skin_transforms(torch.from_numpy(rollout.q)).numpy()
        meshes, skins, columns = [body.rest], [body.skin], []
        for thing in scene.things:
            joined = Mesh.concatenate(thing.meshes, name=thing.name)
            counts = [len(mesh.vertices) for mesh in thing.meshes]
            meshes.append(joined)
            skins.append(Skin.rigid(np.repeat(np.arange(len(counts)), counts), thing.bodies))
            columns += [scene.model.body(name).id for name in thing.bodies]
        self.surface = Surface.of(meshes, skins)
        self.transforms = np.concatenate([robot, rollout.poses[:, columns]], axis=1)
