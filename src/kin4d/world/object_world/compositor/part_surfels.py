"""PartSurfels: moving parts as small coloured quads, with guessed hidden sides, lit and rendered.

The visible pixels of a part become quads. Objects are often symmetric, so copies of the quads,
rotated by 180 degrees about the part's centre and flipped upside down, stand in for hidden sides;
copies that the first frame would have shown are dropped. Quads are rendered at twice the resolution
for smooth edges, and relit as they rotate. A drawer front has an interior behind it.
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
    clean_colours,
    pixel_quads,
    quads_per_pixel,
    surface_normals,
)
from kin4d.world.object_world.upright_box import UprightBox
from kin4d.world.observation import Observation

DEPTH_TOLERANCE = 0.002
"""Metres by which a part may lie behind the background and still be visible."""
_SHRINK = 0.98  # copies lie slightly inside, so that they never show through
_MAX_PROTRUSION = 0.002  # m by which a copy may stand out of the observed depth
_MAX_SLIDE_ROTATION = 0.05  # rad of rotation below which a part slides
_HORIZONTAL_COS = 0.6  # normal along the vertical above which a surface is horizontal


@dataclass(frozen=True, eq=False)
class LayerRender:
    """Moving parts rendered in one frame.

    Attributes:
        visible: [H, W] bool: whether a part is visible at the centre of the pixel.
        xyz: [H, W, 3] float32 m, camera frame, at the centre of the pixel.
        coverage: [H, W, 1] from 0 to 1: covered share of the pixel.
        rgb: [H, W, 3] from 0 to 255: their colour times `coverage`.
    """

    visible: np.ndarray
    xyz: np.ndarray
    coverage: np.ndarray
    rgb: np.ndarray


@dataclass(frozen=True, eq=False)
class PartSurfels:
    """Quads of all moving parts, two triangles each.

    Attributes:
        vertices: [V, 3] m, camera frame, in the first frame.
        part: [V, 1] int32: part of each vertex.
        faces: [F, 3] int32.
        owner: [F] int: part of each face.
        colour: [F, 3] linear, as lit in the first frame.
        normal: [F, 3] unit vectors, camera frame; those of visible quads point to the camera.
        lit: [F] brightness in the light of the first frame.
        interior: [F] bool: whether it is of a drawer interior, rendered only for sliding parts.
        observation: The first frame.
        light: Light of the first frame.
    """

    vertices: np.ndarray
    part: np.ndarray
    faces: np.ndarray
    owner: np.ndarray
    colour: np.ndarray
    normal: np.ndarray
    lit: np.ndarray
    interior: np.ndarray
    observation: Observation
    light: Light

    @classmethod
    def of(
        cls,
        part_masks: list[np.ndarray],
        parents: Sequence[np.ndarray | None],
        observation: Observation,
        light: Light,
    ) -> PartSurfels:
        """Quads of the parts that the first frame shows.

        Args:
            part_masks: [H, W] bool each, none empty: masks of the parts.
            parents: Masks of the parts they belong to, None for separate objects.
            observation: The first frame.
            light: Its light.
        """
        linear, pieces, count = to_linear(observation.image), [], 0
        for number, (part_mask, parent) in enumerate(zip(part_masks, parents, strict=True)):
            normals = surface_normals(observation.xyz, part_mask)
            vertices, faces, source = pixel_quads(part_mask, normals, observation)
            colour = clean_colours(linear, part_mask).reshape(-1, 3)[source]
            lit = brightness(normals.reshape(-1, 3)[source], observation, light)
            upright = (
                np.abs(normals.reshape(-1, 3)[source] @ observation.support_in_camera[:3, 2])
                < _HORIZONTAL_COS
            )
            for copy, kept in _hidden_side_copies(vertices, faces, upright, observation):
                rotated_normals = normals.reshape(-1, 3)[source[kept]] @ copy[:3, :3].T
                transformed = vertices @ copy[:3, :3].T + copy[:3, 3]
                owner = np.full(kept.sum(), number)
                not_interior = np.zeros(kept.sum(), bool)
                pieces.append(
                    (
                        transformed,
                        faces[kept] + count,
                        owner,
                        colour[kept],
                        rotated_normals,
                        lit[kept],
                        not_interior,
                    )
                )
                count += len(vertices)
            interior = (
                None if parent is None else drawer_interior_behind(part_mask, parent, observation)
            )
            if interior is not None:
                owners = np.full(len(interior.faces), number)
                # The colour is unknown: between the front's median colour and grey.
                albedo = np.median(colour / lit[:, None], axis=0)
                albedo = np.broadcast_to((albedo + albedo.mean()) / 2, (len(owners), 3))
                ones = np.ones(len(owners))
                pieces.append(
                    (
                        interior.vertices,
                        interior.faces + count,
                        owners,
                        albedo,
                        interior.normals,
                        ones,
                        ones > 0,
                    )
                )
                count += len(interior.vertices)
        vertices, faces, owner, colour, normal, lit, interiors = (
            np.concatenate(arrays) for arrays in zip(*pieces, strict=True)
        )
        part = np.concatenate([np.full(len(piece[0]), piece[2][0]) for piece in pieces])
        return cls(
            vertices,
            part.astype(np.int32)[:, None],
            np.ascontiguousarray(faces, np.int32),
            owner,
            colour,
            normal,
            lit,
            interiors,
            observation,
            light,
        )

    def render(
        self, poses: np.ndarray, depth: np.ndarray, selected: np.ndarray | None = None
    ) -> LayerRender:
        """Render the parts, moved by `poses` [P, 4, 4] (camera frame), over a background.

        Args:
            poses: Motions since the first frame.
            depth: [H, W] m of the background.
            selected: [P] bool: parts to render; all if None.
        """
        slides = np.trace(poses[:, :3, :3], axis1=1, axis2=2) > 1 + 2 * np.cos(_MAX_SLIDE_ROTATION)
        active = slides[self.owner] | ~self.interior
        if selected is not None:
            active &= selected[self.owner]
        if not active.all():
            return self._subset(active).render(poses, depth)
        camera = replace(self.observation.camera, pose=np.eye(4))
        each = quads_per_pixel(camera)
        coarse = self._fragments(poses, camera)
        finer = camera.resized(each * camera.width, each * camera.height)
        fine = coarse if each == 1 else self._fragments(poses, finer)
        max_depth = depth.repeat(each, 0).repeat(each, 1) + DEPTH_TOLERANCE
        covered = (fine.face >= 0) & ~(fine.xyz[..., 2] > max_depth)
        rgb = np.zeros((*covered.shape, 3), np.float32)
        rgb[covered] = to_srgb(self._shaded(fine.face[covered], fine.xyz[covered], poses))
        coverage = _downsample(covered[..., None].astype(np.float32), each)
        visible = (coarse.face >= 0) & ~(coarse.xyz[..., 2] > depth + DEPTH_TOLERANCE)
        return LayerRender(
            visible=visible, xyz=coarse.xyz, coverage=coverage, rgb=_downsample(rgb, each)
        )

    def _subset(self, chosen: np.ndarray) -> PartSurfels:
        """The chosen faces, [F] bool."""
        names = ("faces", "owner", "colour", "normal", "lit", "interior")
        return replace(self, **{name: getattr(self, name)[chosen] for name in names})

    def _fragments(self, poses: np.ndarray, camera: Camera) -> Fragments:
        weights = np.ones(self.part.shape, np.float32)
        projected = project_vertices(
            self.vertices, self.part, weights, image_matrix(camera) @ poses
        )
        return rasterize_projected(projected, self.faces, camera, threads=1)

    def _shaded(self, face: np.ndarray, xyz: np.ndarray, poses: np.ndarray) -> np.ndarray:
        """[N, 3] linear colours of faces [N] visible at `xyz` [N, 3], relit."""
        if self.light.shadow_strength == 0:
            return self.colour[face]
        rotations = poses[self.owner[face], :3, :3]
        normal = np.einsum("nij,nj->ni", rotations, self.normal[face])
        facing_away = np.einsum("ni,ni->n", normal, xyz) > 0
        normal[facing_away] *= -1
        gain = brightness(normal, self.observation, self.light) / self.lit[face]
        return self.colour[face] * gain[:, None]


def _hidden_side_copies(
    vertices: np.ndarray, faces: np.ndarray, upright: np.ndarray, observation: Observation
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Motions [4, 4] (camera frame) of a part's quads onto hidden sides, and faces [F] to keep.

    The first is the identity with all faces.
    """
    yield np.eye(4), np.ones(len(faces), bool)
    centre = UprightBox.of(observation.to_support(vertices)).centre
    depth = np.nan_to_num(observation.xyz[..., 2], nan=0.0)
    nearest = minimum_filter(depth, 3, mode="nearest")
    camera = observation.camera
    for signs in ((-1, -1, 1), (1, 1, -1), (-1, -1, -1)):
        rotation = np.eye(4)
        rotation[:3, :3] = np.diag(np.array(signs) * _SHRINK)
        rotation[:3, 3] = centre - rotation[:3, :3] @ centre
        rotation = (
            observation.support_in_camera @ rotation @ np.linalg.inv(observation.support_in_camera)
        )
        transformed = vertices @ rotation[:3, :3].T + rotation[:3, 3]
        in_front = transformed[:, 2] > 1e-3
        image = transformed @ camera.K.T
        u, v = np.rint(image[:, :2] / np.where(in_front, image[:, 2], 1.0)[:, None]).astype(int).T
        inside = in_front & (u >= 0) & (v >= 0) & (u < camera.width) & (v < camera.height)
        hidden = np.ones(len(transformed), bool)
        hidden[inside] = transformed[inside, 2] > nearest[v[inside], u[inside]] - _MAX_PROTRUSION
        kept = np.asarray(hidden[faces].all(1))
        if signs[2] < 0:  # vertical faces have their copies already
            kept &= ~upright
        if kept.any():
            rotation[:3, :3] /= _SHRINK
            rotation[:3, 3] = transformed[0] - rotation[:3, :3] @ vertices[0]
            yield rotation, kept


def _downsample(image: np.ndarray, each: int) -> np.ndarray:
    """[H, W, C]: mean over the `each` x `each` subpixels of each pixel."""
    if each == 1:
        return image
    height, width, channels = image.shape
    return image.reshape(height // each, each, width // each, each, channels).mean((1, 3))
