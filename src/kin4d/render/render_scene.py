"""RenderScene: the data of the rendered meshes that stays the same from frame to frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from kin4d.errors import InputError
from kin4d.geometry.material import SurfaceMaterial, srgb_to_linear
from kin4d.geometry.mesh import Mesh, face_normals
from kin4d.geometry.mesh_ops import concatenate_meshes, merge_vertices
from kin4d.geometry.skin import Skin
from kin4d.render.jit import jit

CREASE = 40.0


@dataclass(frozen=True, eq=False, kw_only=True)
class RenderScene:
    """Several meshes as one set of triangles, ready to be carried by joints and shaded.

    A mesh without a skin deforms freely: it has one joint of its own, which does not move, and
    its vertices are replaced in every frame.

    Attributes:
        rest: [V, 3] float64 metres; vertices that always move together are merged if all meshes
            are rigid.
        joints: [V, K] int32 and `weights` [V, K] float32: what carries each vertex.
        joint_count: Joints of all meshes, one after another.
        faces: [F, 3] int32, indices of `rest`.
        face_body: [F] uint8: 1 for faces of the first mesh, and so on.
        vertex_slices: Rows of `rest` that belong to each mesh; meaningful if not `rigid`.
        rigid: Whether each vertex follows one joint, so that normals turn with it.
        corner_group: [F, 3] int32: corners that share a normal share a group.
        group_normal: [G, 3] float64 normals at rest, not of unit length.
        group_joint: [G] int32: the joint that turns each of them, if `rigid`.
        corner: [F, 3] int32 index of `uv` and `color` for each corner.
        uv: [A, 2] float32, origin at the lower left.
        color: [A, 3] float32 linear RGB, or [0, 3] if no mesh has vertex colours.
        face_material: [F] int32 row of the two tables below.
        materials: [M, 5] float32: linear RGB, metallic, roughness.
        textures: [M, 3] int64: first texel, width and height of the colour texture (0 if none).
        texels: [N, 3] uint8 sRGB of all textures, row by row.
    """

    rest: np.ndarray
    joints: np.ndarray
    weights: np.ndarray
    joint_count: int
    faces: np.ndarray
    face_body: np.ndarray
    vertex_slices: tuple[slice, ...]
    rigid: bool
    corner_group: np.ndarray
    group_normal: np.ndarray
    group_joint: np.ndarray
    corner: np.ndarray
    uv: np.ndarray
    color: np.ndarray
    face_material: np.ndarray
    materials: np.ndarray
    textures: np.ndarray
    texels: np.ndarray

    @classmethod
    def of(cls, meshes: Sequence[Mesh], skins: Sequence[Skin | None]) -> RenderScene:
        """Prepare `meshes`, each carried by the skin at its position (None: deforms freely)."""
        if not 1 <= len(meshes) <= 255:
            raise InputError(
                "number of bodies to draw", value=len(meshes), allowed="1 to 255 (ids are 8-bit)"
            )
        mesh = meshes[0] if len(meshes) == 1 else concatenate_meshes(meshes)
        joints, weights, joint_count = _joints(meshes, skins)
        rigid = joints.shape[1] == 1 and None not in skins
        # Corners meet where position and carrier agree: seams close, moving parts stay apart.
        first, index = merge_vertices(np.column_stack([mesh.vertices, joints, weights]))
        groups = smoothing_groups(mesh.vertices[first], index[mesh.faces])
        group_joint = np.zeros(groups.max() + 1, np.int32)
        group_joint[groups] = joints[mesh.faces, 0]
        if rigid:
            rest, joints, weights = mesh.vertices[first], joints[first], weights[first]
            faces = index[mesh.faces]
        else:
            rest, faces = mesh.vertices, mesh.faces
        faces = np.ascontiguousarray(faces, np.int32)
        ends = np.cumsum([0, *(len(one.vertices) for one in meshes)]).tolist()
        textures, texels = _textures(mesh.materials)
        count = len(mesh.vertices)
        return cls(
            rest=np.ascontiguousarray(rest),
            joints=np.ascontiguousarray(joints),
            weights=np.ascontiguousarray(weights),
            joint_count=joint_count,
            faces=faces,
            face_body=np.repeat(
                np.arange(1, len(meshes) + 1, dtype=np.uint8), [len(one.faces) for one in meshes]
            ),
            vertex_slices=tuple(slice(a, b) for a, b in pairwise(ends)),
            rigid=rigid,
            corner_group=groups,
            group_normal=group_normals(np.ascontiguousarray(rest), faces, groups),
            group_joint=group_joint,
            corner=mesh.faces.astype(np.int32),
            uv=np.zeros((count, 2), np.float32) if mesh.uv is None else np.array(mesh.uv),
            color=np.zeros((0, 3), np.float32)
            if mesh.colors is None
            else to_linear(mesh.colors[:, :3]),
            face_material=mesh.face_material.astype(np.int32),  # pyright: ignore[reportOptionalMemberAccess]
            materials=np.array(
                [(*m.base_color[:3], m.metallic, m.roughness) for m in mesh.materials], np.float32
            ),
            textures=textures,
            texels=texels,
        )


def smoothing_groups(
    vertices: np.ndarray, faces: np.ndarray, *, crease: float = CREASE
) -> np.ndarray:
    """[F, 3] int32: corners at one vertex share a group if no sharp edge lies between them.

    Args:
        vertices: [V, 3], merged: an edge is shared where both its ends are.
        faces: [F, 3].
        crease: Angle (degrees) between face normals above which an edge is sharp.
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    normals = face_normals(vertices, faces)
    normals /= np.maximum(np.linalg.norm(normals, axis=-1, keepdims=True), 1e-300)
    face, side = np.divmod(np.arange(3 * len(faces)), 3)
    a, b = faces[face, side], faces[face, (side + 1) % 3]
    corner_a, corner_b = 3 * face + side, 3 * face + (side + 1) % 3
    swap = a > b
    corner_a, corner_b = np.where(swap, corner_b, corner_a), np.where(swap, corner_a, corner_b)
    edge = np.minimum(a, b) * len(vertices) + np.maximum(a, b)
    order = np.argsort(edge, kind="stable")
    one, two = order[:-1], order[1:]
    smooth = (edge[one] == edge[two]) & (
        np.einsum("ij,ij->i", normals[face[one]], normals[face[two]]) > np.cos(np.radians(crease))
    )
    one, two = one[smooth], two[smooth]
    ends = np.concatenate([[corner_a[one], corner_a[two]], [corner_b[one], corner_b[two]]], axis=1)
    size = 3 * len(faces)
    links = coo_matrix((np.ones(ends.shape[1], np.int8), tuple(ends)), shape=(size, size))
    return connected_components(links, directed=False)[1].reshape(-1, 3).astype(np.int32)


def group_normals(vertices: np.ndarray, faces: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """[G, 3] area-weighted normals (not of unit length) of the smoothing groups."""
    normals = np.zeros((int(groups.max()) + 1, 3))
    _accumulate_normals(vertices, faces, groups, normals)
    return normals


def to_linear(srgb: np.ndarray) -> np.ndarray:
    """sRGB bytes to linear float32 in [0, 1]."""
    return srgb_to_linear(np.arange(256) / 255).astype(np.float32)[srgb]


def _joints(
    meshes: Sequence[Mesh], skins: Sequence[Skin | None]
) -> tuple[np.ndarray, np.ndarray, int]:
    """Joints [V, K] and weights [V, K] of all meshes, and how many joints there are."""
    width = max(1 if skin is None else skin.joints.shape[1] for skin in skins)
    all_joints, all_weights, count = [], [], 0
    for mesh, skin in zip(meshes, skins, strict=True):
        joints = np.full((len(mesh.vertices), width), count, np.int32)
        weights = np.zeros((len(mesh.vertices), width), np.float32)
        if skin is None:
            weights[:, 0] = 1
        else:
            used = skin.joints.shape[1]
            joints[:, :used] += skin.joints.astype(np.int32)
            weights[:, :used] = skin.weights
        all_joints.append(joints)
        all_weights.append(weights)
        count += 1 if skin is None else len(skin.names)
    return np.concatenate(all_joints), np.concatenate(all_weights), count


def _textures(materials: Sequence[SurfaceMaterial]) -> tuple[np.ndarray, np.ndarray]:
    """Table [M, 3] (first texel, width, height) and texels [N, 3] uint8 of colour textures."""
    table, blocks, start = np.zeros((len(materials), 3), np.int64), [np.zeros((0, 3), np.uint8)], 0
    for row, material in zip(table, materials, strict=True):
        image = material.textures.get("base_color")
        if image is not None:
            row[:] = start, image.width, image.height
            blocks.append(np.asarray(image.convert("RGB")).reshape(-1, 3))
            start += image.width * image.height
    return table, np.concatenate(blocks)


@jit
def _accumulate_normals(vertices, faces, groups, normals):
    for f in range(len(faces)):
        a, b, c = faces[f, 0], faces[f, 1], faces[f, 2]
        ux, uy, uz = (
            vertices[b, 0] - vertices[a, 0],
            vertices[b, 1] - vertices[a, 1],
            vertices[b, 2] - vertices[a, 2],
        )
        vx, vy, vz = (
            vertices[c, 0] - vertices[a, 0],
            vertices[c, 1] - vertices[a, 1],
            vertices[c, 2] - vertices[a, 2],
        )
        x, y, z = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
        for side in range(3):
            group = groups[f, side]
            normals[group, 0] += x
            normals[group, 1] += y
            normals[group, 2] += z
