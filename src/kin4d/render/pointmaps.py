"""Pointmap videos of bodies and clips: colour, metric geometry and mask of what a camera sees."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kin4d.errors import InputError
from kin4d.geometry.camera import Camera
from kin4d.geometry.clip import Clip
from kin4d.geometry.mesh import Mesh
from kin4d.geometry.pointmap import PointmapVideo
from kin4d.geometry.skin import Skin
from kin4d.progress import track
from kin4d.render.background import BackgroundLike, FloorPlane
from kin4d.render.jit import thread_count
from kin4d.render.rasterizer import NEAR
from kin4d.render.render_scene import RenderScene
from kin4d.render.renderer import RenderedFrame, Renderer

if TYPE_CHECKING:
    from torch import Tensor

    from kin4d.bodies.body import Body


@dataclass(frozen=True, eq=False, kw_only=True)
class MeshInstance:
    """A mesh and how it moves, by joints or vertex by vertex.

    Attributes:
        name: Of its mask id.
        mesh: The surface at rest.
        frames: How many.
        skin: What carries its vertices, or None if it deforms freely.
        transforms: [T, J, 4, 4] motions of the skin's joints.
        vertices: Vertices [V, 3] (m) of a frame, for an actor without skin.
    """

    name: str
    mesh: Mesh
    frames: int
    skin: Skin | None = None
    transforms: np.ndarray | None = None
    vertices: Callable[[int], np.ndarray] | None = None

    @classmethod
    def of_body(
        cls, body: Body, q: Tensor | np.ndarray, *, name: str | None = None
    ) -> MeshInstance:
        """`body` moving through coordinates `q` [T, k]."""
        import torch

        from kin4d.bodies.body import check_coordinates
        from kin4d.bodies.capabilities import body_name

        q = check_coordinates(body, q).detach().to(torch.float64)
        if q.ndim != 2 or len(q) == 0:
            raise InputError("a motion is [T >= 1, k] coordinates", value=tuple(q.shape))

        def vertices(frame: int) -> np.ndarray:
            with torch.no_grad():
                return body.vertices(q[frame]).cpu().numpy()

        transforms = None
        if body.skin is not None:
            with torch.no_grad():
                transforms = body.skin_transforms(q).cpu().numpy()
        return cls(
            name=name or body_name(body),
            mesh=body.rest,
            frames=len(q),
            skin=body.skin,
            transforms=transforms,
            vertices=vertices,
        )

    @classmethod
    def of_clip(cls, clip: Clip) -> MeshInstance:
        """What a clip shows."""
        return cls(
            name=clip.mesh.name,
            mesh=clip.mesh,
            frames=len(clip),
            skin=clip.skin,
            transforms=None if clip.skin is None else clip.skin.transforms,
            vertices=lambda frame: clip.vertices[frame],
        )


def render_bodies(
    bodies: Mapping[str, Body] | Sequence[Body],
    qs: Sequence[Tensor | np.ndarray],
    camera: Camera,
    *,
    fps: float = 24.0,
    background: BackgroundLike = "studio",
    floor: FloorPlane | None = None,
    near: float = NEAR,
    cull: bool = False,
    antialias: int = 1,
    threads: int | None = None,
) -> PointmapVideo:
    """The video of bodies moving together. A view that misses them is empty, not an error.

    Args:
        bodies: In order of their mask ids 1, 2, ...; a mapping names them.
        qs: For each body its coordinates [T, k]; all of the same length T.
        camera: The view.
        fps: Frames per second.
        background: ``"studio"``, linear RGB, or an sRGB image [H, W, 3] uint8 such as a photograph.
        floor: Drawn in the colours only, with shadows; see `Floor.under`.
        near: Depth (m) below which nothing is drawn.
        cull: Leave out faces seen from behind; see `rasterize`.
        antialias: Samples along each side of a pixel, for the colours alone.
        threads: All usable cores if None.
    """
    items = list(bodies.items()) if isinstance(bodies, Mapping) else [(None, b) for b in bodies]
    if len(items) != len(qs):
        raise InputError(
            "every body needs its coordinates", value=len(qs), allowed=f"{len(items)} arrays [T, k]"
        )
    actors = [
        MeshInstance.of_body(body, q, name=name) for (name, body), q in zip(items, qs, strict=True)
    ]
    return render_instances(
        actors,
        camera,
        fps=fps,
        background=background,
        floor=floor,
        near=near,
        cull=cull,
        antialias=antialias,
        threads=threads,
    )


def render_instances(
    actors: Sequence[MeshInstance],
    camera: Camera,
    *,
    fps: float,
    threads: int | None = None,
    **look: Any,
) -> PointmapVideo:
    """The video of actors moving together; `look` is as for `Renderer`."""
    renderer = Renderer(_surface(actors), camera, **look)
    return _video(renderer, actors, fps=fps, threads=threads)


def render_clip(
    clip: Clip,
    camera: Camera | None = None,
    *,
    width: int = 720,
    height: int = 480,
    background: BackgroundLike = "studio",
    floor: bool = True,
    checker: bool = False,
    antialias: int = 2,
    threads: int | None = None,
) -> PointmapVideo:
    """A preview of `clip`, from a camera that frames all of its motion unless one is given.

    Args:
        clip: What moves.
        camera: The view; `width` and `height` are for the automatic one.
        width: Pixels.
        height: Pixels.
        background: As for `render_bodies`.
        floor: Whether it stands on a floor and casts a shadow.
        checker: Whether the floor has squares of a round number of metres, to give scale.
        antialias: Samples along each side of a pixel, for the colours alone.
        threads: All usable cores if None.
    """
    bounds, up = clip.bounds, (0.0, 0.0, 1.0)
    if camera is None:
        camera = framing_camera(bounds, up=up, width=width, height=height)
    upward = np.asarray(up, np.float64) / np.linalg.norm(up)
    actor = MeshInstance.of_clip(clip)
    distance = float(np.linalg.norm(camera.pose[:3, 3] - bounds.mean(0)))
    renderer = Renderer(
        _surface([actor]),
        camera,
        background=background,
        floor=FloorPlane.under(bounds, up=upward, checker=checker) if floor else None,
        up=up,
        # Things of any size are previewed: a micrometre in front of a camera is not too near.
        near=min(NEAR, NEAR * max(distance, 1e-12)),
        antialias=antialias,
    )
    return _video(renderer, [actor], fps=clip.fps, threads=threads)


def framing_camera(
    bounds: np.ndarray,
    *,
    up: tuple[float, float, float] = (0.0, 0.0, 1.0),
    width: int = 720,
    height: int = 480,
) -> Camera:
    """`Camera.framing` from the front, the right and above.

    The front is -y where z is up, and +z where y is up, as in glTF.
    """
    upward = np.asarray(up, np.float64) / np.linalg.norm(up)
    front = np.array([0.0, 0.0, 1.0]) if abs(upward[1]) > 0.7 else np.array([0.0, -1.0, 0.0])
    direction = 1.0 * np.cross(upward, front) + 1.4 * front + 0.7 * upward
    return Camera.framing(
        bounds, direction=tuple(direction.tolist()), up=up, width=width, height=height
    )


def unseen_bodies(video: PointmapVideo) -> tuple[str, ...]:
    """Names of the bodies that no frame shows: behind the camera, out of view, or hidden."""
    present = np.bincount(video.mask.ravel(), minlength=len(video.names) + 1)[1:] > 0
    return tuple(name for name, there in zip(video.names, present, strict=False) if not there)


def _surface(actors: Sequence[MeshInstance]) -> RenderScene:
    frames = {actor.frames for actor in actors}
    if len(frames) > 1:
        raise InputError(
            "bodies drawn together need motions of the same length",
            value=[actor.frames for actor in actors],
        )
    return RenderScene.of([actor.mesh for actor in actors], [actor.skin for actor in actors])


def _video(
    renderer: Renderer, actors: Sequence[MeshInstance], *, fps: float, threads: int | None
) -> PointmapVideo:
    frames = actors[0].frames
    size = (renderer.camera.height, renderer.camera.width)
    video = PointmapVideo(
        rgb=np.empty((frames, *size, 3), np.uint8),
        xyz=np.empty((frames, *size, 3), np.float32),
        mask=np.empty((frames, *size), np.uint8),
        camera=renderer.camera,
        fps=fps,
        names=tuple(actor.name for actor in actors),
    )
    threads = thread_count(threads)
    # Whole frames in parallel waste nothing; bands of one frame are for when there are too few.
    per_frame = 1 if frames >= threads else threads

    def job(frame: int) -> None:
        drawn = rasterize_instances(renderer, actors, frame, threads=per_frame)
        video.rgb[frame], video.xyz[frame], video.mask[frame] = drawn.rgb, drawn.xyz, drawn.mask

    pool = ThreadPoolExecutor(threads if per_frame == 1 else 1)
    try:
        for _ in track(pool.map(job, range(frames)), "render", total=frames):
            pass
    finally:
        pool.shutdown(cancel_futures=True)
    return video


def rasterize_instances(
    renderer: Renderer, actors: Sequence[MeshInstance], frame: int, *, threads: int | None = None
) -> RenderedFrame:
    """One frame, normals included, of the actors whose `RenderScene` the renderer draws."""
    surface = renderer.surface
    vertices = surface.rest.copy() if any(actor.skin is None for actor in actors) else None
    transforms = []
    for actor, rows in zip(actors, surface.vertex_slices, strict=True):
        if actor.skin is None:
            vertices[rows] = actor.vertices(frame)  # pyright: ignore[reportOptionalSubscript, reportOptionalCall]
            transforms.append(np.eye(4)[None])
        else:
            transforms.append(actor.transforms[frame])  # pyright: ignore[reportOptionalSubscript]
    return renderer.draw(np.concatenate(transforms), vertices, threads=threads)
