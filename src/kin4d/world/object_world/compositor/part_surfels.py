"""Sheets: moving parts as small coloured squares, front and, as far as it can be told, back.

What the first frame shows of a part is cut into squares. Things are alike all around more often
than not, so the squares are laid out again half a turn about the part's middle and upside down, and
of these all are kept that the first frame could not have shown: they were hidden. Squares are drawn
finer than pixels, so that edges are smooth, and take the light that falls on them where they go.
What slides out of something has a tray behind it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.ndimage import minimum_filter

from kin4d.geometry.camera import Camera
from kin4d.render.rasterizer import Fragments, image_matrix, project_vertices, rasterize_projected
from kin4d.render.render_scene import to_linear
from kin4d.render.shading import to_srgb
from kin4d.world.object_world.compositor.drawer_interior import drawer_interior_behind
from kin4d.world.object_world.compositor.lighting import Light, brightness
from kin4d.world.object_world.compositor.pixel_quads import (
    FINER,
    clean_colours,
    pixel_quads,
    surface_normals,
)
from kin4d.world.object_world.upright_box import UprightBox
from kin4d.world.observation import Observation

LEVEL = 0.002
"""Metres by which a part may lie behind the backdrop and still be seen."""
_WITHIN = 0.98  # what is added lies a little inside, so that it never shows through
_HIDDEN = 0.002  # m by which it may stand out of what the first frame shows
_SLIDES = 0.05  # rad that something may turn and still slide
_LEVEL_AT = 0.6  # cosine between a surface and the vertical from which it counts as level


@dataclass(frozen=True, eq=False)
class LayerRender:
    """Moving parts in one frame.

    Attributes:
        seen: [H, W] bool: where one is, at the middle of the pixel.
        xyz: [H, W, 3] float32 m, camera frame; of the pixel's middle.
        cover: [H, W, 1] from 0 to 1: how much of a pixel they cover.
        rgb: [H, W, 3] from 0 to 255: their colour times `cover`.
    """

    seen: np.ndarray
    xyz: np.ndarray
    cover: np.ndarray
    rgb: np.ndarray


@dataclass(frozen=True, eq=False)
class PartSurfels:
    """Squares of all moving parts, two triangles each.

    Attributes:
        vertices: [V, 3] m, camera frame, in the first frame.
        part: [V, 1] int32: which of the parts each belongs to.
        faces: [F, 3] int32.
        owner: [F] int: which of the parts.
        colour: [F, 3] linear, as lit in the first frame.
        normal: [F, 3] unit vectors, camera frame; those of visible squares point to the camera.
        lit: [F] how bright the light of the first frame makes each.
        tray: [F] bool: whether it is of a tray, which only parts that slide have.
        situation: Where they are from.
        light: In the first frame.
    """

    vertices: np.ndarray
    part: np.ndarray
    faces: np.ndarray
    owner: np.ndarray
    colour: np.ndarray
    normal: np.ndarray
    lit: np.ndarray
    tray: np.ndarray
    situation: Observation
    light: Light

    @classmethod
    def of(
        cls,
        cuts: list[np.ndarray],
        hosts: Sequence[np.ndarray | None],
        situation: Observation,
        light: Light,
    ) -> PartSurfels:
        """Of what the first frame shows.

        Args:
            cuts: [H, W] bool each, none empty: where it shows the parts.
            hosts: Where it shows what each belongs to, None for what stands alone.
            situation: The first frame.
            light: Its light.
        """
        linear, pieces, count = to_linear(situation.image), [], 0
        for number, (cut, host) in enumerate(zip(cuts, hosts, strict=True)):
            normals = surface_normals(situation.xyz, cut)
            vertices, faces, source = pixel_quads(cut, normals, situation)
            colour = clean_colours(linear, cut).reshape(-1, 3)[source]
            lit = brightness(normals.reshape(-1, 3)[source], situation, light)
            upright = np.abs(normals.reshape(-1, 3)[source] @ situation.base[:3, 2]) < _LEVEL_AT
            for copy, kept in _copies(vertices, faces, upright, situation):
                turned = normals.reshape(-1, 3)[source[kept]] @ copy[:3, :3].T
                moved = vertices @ copy[:3, :3].T + copy[:3, 3]
                owner = np.full(kept.sum(), number)
                none = np.zeros(kept.sum(), bool)
                pieces.append(
                    (moved, faces[kept] + count, owner, colour[kept], turned, lit[kept], none)
                )
                count += len(vertices)
            tray = None if host is None else drawer_interior_behind(cut, host, situation)
            if tray is not None:
                some = np.full(len(tray.faces), number)
                # Of a colour between the front's own, handles aside, and grey: nobody knows.
                paint = np.median(colour / lit[:, None], axis=0)
                paint = np.broadcast_to((paint + paint.mean()) / 2, (len(some), 3))
                ones = np.ones(len(some))
                pieces.append(
                    (tray.vertices, tray.faces + count, some, paint, tray.normals, ones, ones > 0)
                )
                count += len(tray.vertices)
        vertices, faces, owner, colour, normal, lit, trays = (
            np.concatenate(some) for some in zip(*pieces, strict=True)
        )
        part = np.concatenate([np.full(len(one[0]), one[2][0]) for one in pieces])
        return cls(
            vertices,
            part.astype(np.int32)[:, None],
            np.ascontiguousarray(faces, np.int32),
            owner,
            colour,
            normal,
            lit,
            trays,
            situation,
            light,
        )

    def draw(
        self, poses: np.ndarray, depth: np.ndarray, shown: np.ndarray | None = None
    ) -> LayerRender:
        """The parts moved by `poses` [P, 4, 4] (camera frame), before a backdrop.

        Args:
            poses: Motions since the first frame.
            depth: [H, W] m of the backdrop.
            shown: [P] bool: parts to draw; all if None.
        """
        slides = np.trace(poses[:, :3, :3], axis1=1, axis2=2) > 1 + 2 * np.cos(_SLIDES)
        used = slides[self.owner] | ~self.tray
        if shown is not None:
            used &= shown[self.owner]
        if not used.all():
            return self._only(used).draw(poses, depth)
        camera = replace(self.situation.camera, pose=np.eye(4))
        plain = self._fragments(poses, camera)
        finer = camera.resized(FINER * camera.width, FINER * camera.height)
        fine = self._fragments(poses, finer)
        behind = depth.repeat(FINER, 0).repeat(FINER, 1) + LEVEL
        where = (fine.face >= 0) & ~(fine.xyz[..., 2] > behind)
        rgb = np.zeros((*where.shape, 3), np.float32)
        rgb[where] = to_srgb(self._shaded(fine.face[where], fine.xyz[where], poses))
        cover, rgb = _averaged(where[..., None].astype(np.float32)), _averaged(rgb)
        seen = (plain.face >= 0) & ~(plain.xyz[..., 2] > depth + LEVEL)
        return LayerRender(seen=seen, xyz=plain.xyz, cover=cover, rgb=rgb)

    def _only(self, some: np.ndarray) -> PartSurfels:
        """Those faces [F] alone."""
        names = ("faces", "owner", "colour", "normal", "lit", "tray")
        return replace(self, **{name: getattr(self, name)[some] for name in names})

    def _fragments(self, poses: np.ndarray, camera: Camera) -> Fragments:
        weights = np.ones(self.part.shape, np.float32)
        placed = project_vertices(self.vertices, self.part, weights, image_matrix(camera) @ poses)
        return rasterize_projected(placed, self.faces, camera, threads=1)

    def _shaded(self, face: np.ndarray, xyz: np.ndarray, poses: np.ndarray) -> np.ndarray:
        """[N, 3] linear colours of faces [N] seen at `xyz` [N, 3], in the light that they get."""
        if self.light.power == 0:
            return self.colour[face]
        turns = poses[self.owner[face], :3, :3]
        normal = np.einsum("nij,nj->ni", turns, self.normal[face])
        away = np.einsum("ni,ni->n", normal, xyz) > 0
        normal[away] *= -1
        gain = brightness(normal, self.situation, self.light) / self.lit[face]
        return self.colour[face] * gain[:, None]


def _copies(
    vertices: np.ndarray, faces: np.ndarray, upright: np.ndarray, situation: Observation
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Motions [4, 4] (camera frame) of a part's squares onto its other sides, and which [F] count.

    The first is where they are seen, and there all do.
    """
    yield np.eye(4), np.ones(len(faces), bool)
    middle = UprightBox.of(situation.to_base(vertices)).middle
    depth = np.nan_to_num(situation.xyz[..., 2], nan=0.0)
    nearest = minimum_filter(depth, 3, mode="nearest")
    camera = situation.camera
    for signs in ((-1, -1, 1), (1, 1, -1), (-1, -1, -1)):
        turn = np.eye(4)
        turn[:3, :3] = np.diag(np.array(signs) * _WITHIN)
        turn[:3, 3] = middle - turn[:3, :3] @ middle
        turn = situation.base @ turn @ np.linalg.inv(situation.base)
        moved = vertices @ turn[:3, :3].T + turn[:3, 3]
        front = moved[:, 2] > 1e-3
        image = moved @ camera.K.T
        u, v = np.rint(image[:, :2] / np.where(front, image[:, 2], 1.0)[:, None]).astype(int).T
        inside = front & (u >= 0) & (v >= 0) & (u < camera.width) & (v < camera.height)
        hidden = np.ones(len(moved), bool)
        hidden[inside] = moved[inside, 2] > nearest[v[inside], u[inside]] - _HIDDEN
        kept = np.asarray(hidden[faces].all(1))
        if signs[2] < 0:  # walls have their other sides already, and patterns the right way up
            kept &= ~upright
        if kept.any():
            turn[:3, :3] /= _WITHIN
            turn[:3, 3] = moved[0] - turn[:3, :3] @ vertices[0]
            yield turn, kept


def _averaged(picture: np.ndarray) -> np.ndarray:
    """[H, W, C]: means of the squares in each pixel."""
    height, width, channels = picture.shape
    blocks = picture.reshape(height // FINER, FINER, width // FINER, FINER, channels)
    return blocks.mean((1, 3))
