"""Images of the joints of a segmented body: at rest and at its limits, with the axis drawn."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kin4d.bodies.segmented import JointSpec, SegmentedBody
from kin4d.geometry.camera import Camera
from kin4d.geometry.clip import Clip
from kin4d.geometry.material import SurfaceMaterial
from kin4d.geometry.mesh import Mesh
from kin4d.render.pointmaps import render_clip
from kin4d.render.rasterizer import rasterize

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw

_STILL, _MOVING = (196, 202, 208), (245, 158, 66)
_AXIS, _TEXT = "#b91c1c", "#0f172a"
_ENDLESS = np.pi / 2  # rad that a hinge without limits is shown to turn
_MAX_LABELS = 60
_VIEWS = [(1.0, -1.4, 0.7), (-1.0, -1.4, 0.7), (1.0, 1.4, 0.7), (-1.0, 1.4, 0.7)]


def save_joint_pictures(body: SegmentedBody, folder: str | Path, *, tile: int = 360) -> list[Path]:
    """Write ``JOINT.png`` for each joint and ``pieces.png``, into `folder`, which is made.

    Args:
        body: What moves.
        folder: Target.
        tile: Width and height of each view, pixels.
    """
    from PIL import Image

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for i, spec in enumerate(body.joint_specs):
        path = folder / f"{re.sub(r'[^A-Za-z0-9_.-]+', '_', spec.name)}.png"
        Image.fromarray(joint_picture(body, i, tile=tile)).save(path)
        written.append(path)
    Image.fromarray(piece_picture(body.rest, tile=2 * tile)).save(folder / "pieces.png")
    return [*written, folder / "pieces.png"]


def joint_picture(body: SegmentedBody, joint: int, *, tile: int = 360) -> np.ndarray:
    """[tile, n tile, 3] uint8: the body at rest and with one joint at each limit it can reach.

    What the joint moves is orange; its axis is an arrow, about which a positive angle turns by the
    right-hand rule, or along which a positive value slides.
    """
    import torch

    spec = body.joint_specs[joint]
    values = [0.0, *_shown(spec)]
    q = body.q0.repeat(len(values), 1)
    q[:, joint] = torch.tensor(values, dtype=q.dtype)
    with torch.no_grad():
        vertices = body.vertices(q).numpy()
    moving = _carried(body, joint + 1)[body.part]
    colors = np.where(moving[:, None], _MOVING, _STILL)
    clip = Clip(mesh=_painted(body.rest, colors), vertices=vertices, fps=1.0)
    facing = body.rest.vertices[moving].mean(0) if moving.any() else spec.point
    camera = _camera(clip.bounds, facing - body.rest.bounds.mean(0), tile)
    frames = render_clip(clip, camera, threads=1).rgb
    # The axis of a joint on a moving parent moves with it, but here only one joint moves.
    axis = _axis_segment(spec, body.rest)
    texts = [f"{spec.name} at rest", *(f"at {_value_text(spec, value)}" for value in values[1:])]
    tiles = [
        _annotated(frame, camera, axis, text) for frame, text in zip(frames, texts, strict=True)
    ]
    return np.concatenate(tiles, axis=1)


def piece_picture(mesh: Mesh, *, tile: int = 720) -> np.ndarray:
    """[tile, 2 tile, 3] uint8: connected components in colours, with their numbers, from the front
    and from behind; those best seen are numbered if there are many."""
    pieces = mesh.components
    hue = np.random.default_rng(0).permutation(int(pieces.max()) + 1) * 0.618034 % 1
    phase = 2 * np.pi * (hue[:, None] + np.array([0, 1 / 3, 2 / 3]))
    clip = Clip.still(_painted(mesh, np.rint(175 + 70 * np.cos(phase))[pieces]))
    tiles = []
    for view in (np.array([1.0, -1.0, 0.0]), np.array([-1.0, 1.0, 0.0])):
        camera = _camera(mesh.bounds, view, tile)
        drawing = _Drawing(render_clip(clip, camera, threads=1).rgb[0])
        face = rasterize(mesh.vertices, mesh.faces, camera, near=1e-9, threads=1).face
        seen = np.where(face < 0, -1, pieces[mesh.faces[face, 0]])
        shown, counts = np.unique(seen[seen >= 0], return_counts=True)
        for piece in shown[np.argsort(-counts)][:_MAX_LABELS].tolist():
            pixels = np.argwhere(seen == piece)
            middle = np.abs(pixels - np.median(pixels, axis=0)).sum(1).argmin()
            drawing.label(pixels[middle, ::-1], str(piece))
        tiles.append(drawing.pixels())
    return np.concatenate(tiles, axis=1)


class _Drawing:
    """Lines and text over an image."""

    def __init__(self, image: np.ndarray) -> None:
        from PIL import Image, ImageDraw, ImageFont

        self._image = Image.fromarray(np.ascontiguousarray(image))
        self.draw: ImageDraw = ImageDraw.Draw(self._image)
        self.font: Any = ImageFont.load_default(max(image.shape[0] // 26, 10))

    def label(self, pixel: np.ndarray, text: str) -> None:
        self.draw.text(
            tuple(pixel), text, _TEXT, self.font, anchor="mm", stroke_width=2, stroke_fill="white"
        )

    def pixels(self) -> np.ndarray:
        return np.asarray(self._image)


def _annotated(image: np.ndarray, camera: Camera, axis: np.ndarray, text: str) -> np.ndarray:
    """The image with an arrow along `axis` [2, 3] (m) and text above."""
    drawing = _Drawing(image)
    (start, end), depth = camera.project(axis)
    if (depth > 0).all():
        width = max(image.shape[0] // 120, 2)
        drawing.draw.line([tuple(start), tuple(end)], fill=_AXIS, width=width)
        direction = (end - start) / max(float(np.linalg.norm(end - start)), 1e-9)
        across = np.array([-direction[1], direction[0]])
        head = [end, end - 5 * width * direction + 2.5 * width * across]
        head.append(end - 5 * width * direction - 2.5 * width * across)
        drawing.draw.polygon([tuple(corner) for corner in head], fill=_AXIS)
    drawing.draw.text((8, 6), text, _TEXT, drawing.font)
    return drawing.pixels()


def _shown(spec: JointSpec) -> list[float]:
    """Values at which a joint is drawn besides rest."""
    low, high = (float(x) for x in np.clip(spec.limits, -1e3, 1e3))
    if not np.isfinite(spec.limits).all():
        return [_ENDLESS if spec.kind == "revolute" else 0.1]
    least = 1e-2 * (high - low)
    return [value for value in (low, high) if abs(value) > least] or [high]


def _value_text(spec: JointSpec, value: float) -> str:
    if spec.kind == "prismatic":
        return f"{value:.3g} m"
    return f"{np.degrees(value):.0f} deg"


def _carried(body: SegmentedBody, part: int) -> np.ndarray:
    """[parts] bool: the part and those that stand on it."""
    carried = np.zeros(len(body.joint_specs) + 1, bool)
    carried[part] = True
    for _ in body.joint_specs:
        for number, spec in enumerate(body.joint_specs, 1):
            carried[number] |= carried[spec.parent]
    return carried


def _axis_segment(spec: JointSpec, mesh: Mesh) -> np.ndarray:
    """[2, 3] m: the stretch of the axis beside the mesh, pointing along it."""
    along = (mesh.vertices - spec.point) @ spec.axis
    middle, half = (along.max() + along.min()) / 2, 0.6 * np.ptp(along)
    if spec.kind == "prismatic":
        middle, half = 0.0, 0.3 * mesh.bbox_diagonal
    half = max(float(half), 0.1 * mesh.bbox_diagonal)
    return np.asarray(spec.point) + np.array([[middle - half], [middle + half]]) * spec.axis


def _camera(bounds: np.ndarray, towards: np.ndarray, tile: int) -> Camera:
    """A camera on the side of the box that direction `towards` [3] points to."""
    scores = [float(np.dot(view, towards)) for view in _VIEWS]
    best = max(range(len(_VIEWS)), key=lambda i: scores[i] - 1e-6 * i)
    return Camera.framing(bounds, direction=_VIEWS[best], width=tile, height=tile)


def _painted(mesh: Mesh, colors: np.ndarray) -> Mesh:
    """The mesh in vertex colours [V, 3] alone."""
    opaque = np.full((len(colors), 1), 255)
    return replace(
        mesh,
        colors=np.concatenate([colors, opaque], axis=1).astype(np.uint8),
        materials=(SurfaceMaterial(name="painted", base_color=(1.0, 1.0, 1.0, 1.0)),),
        face_material=None,
        uv=None,
        tangents=None,
    )
