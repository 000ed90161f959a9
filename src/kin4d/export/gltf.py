"""Clips as GLB: joints and skin where the body is made of rigid parts, morph targets otherwise."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from kin4d.errors import InputError
from kin4d.export.glb import VERTEX_DATA, VERTEX_INDICES, GlbBuilder
from kin4d.export.gltf_material import MaterialTable
from kin4d.export.mesh_arrays import faces_by_material
from kin4d.files import atomic_path
from kin4d.geometry.clip import Clip
from kin4d.geometry.material import linear_colors
from kin4d.geometry.mesh import Mesh, vertex_normals
from kin4d.geometry.mesh_ops import merge_vertices
from kin4d.geometry.skin import SkinAnimation

# A quarter turn about x, in glTF's x, y, z, w order: takes z-up to glTF's y-up.
_Z_TO_Y = [-(0.5**0.5), 0.0, 0.0, 0.5**0.5]


def write_glb(
    clip: Clip,
    path: str | Path,
    *,
    skin: bool | None = None,
    normals: bool = False,
) -> Path:
    """Write `clip` as one self-contained, animated GLB file.

    With a skin, each joint that carries vertices becomes a node with translation and rotation
    keys: the file grows by 28 bytes per joint and frame. Without one, each frame is a morph
    target and their weights are animated: 12 bytes per vertex and frame. Both play linearly
    between frames. A clip of one frame is written as a still mesh. The root turns it from z-up to
    glTF's y-up; the vertices stay as they are.

    Args:
        clip: The animation.
        path: Target, ending in ``.glb``; replaced whole or not at all.
        skin: Whether to write joints; by default where `clip.skin` is there.
        normals: Write smooth normals that follow the motion (twice the size with morph targets).
            Without, a skinned or still mesh keeps its source's normals, and a morphing one has
            none: viewers then shade it flat, which is right in every frame.
    """
    if skin and clip.skin is None:
        raise InputError(
            f"clip of '{clip.mesh.name}' has no skin", hint="leave out skin=True for morph targets"
        )
    builder = GlbBuilder()
    root: dict[str, Any] = {"name": clip.mesh.name, "rotation": _Z_TO_Y}
    scene = [builder.add("nodes", root)]
    if len(clip) == 1:
        still = clip.mesh
        if not np.array_equal(clip.vertices[0], still.vertices.astype(np.float32)):
            still = still.replace_vertices(clip.vertices[0])
        root["mesh"] = _add_mesh(builder, still, _rest_normals(still, computed=normals))
    elif clip.skin is not None and skin is not False:
        # The skinned mesh stands beside the root: its own node's place is ignored by viewers.
        scene.append(_add_skin(builder, clip, clip.skin, root, computed_normals=normals))
    else:
        root["mesh"] = _add_morphs(builder, clip, with_normals=normals)
    builder.document["scenes"] = [{"nodes": scene}]
    builder.document["scene"] = 0
    with atomic_path(path) as temporary:
        builder.write(temporary)
    return Path(path)


def _add_mesh(
    builder: GlbBuilder,
    mesh: Mesh,
    normals: np.ndarray | None,
    extra_attributes: dict[str, int] | None = None,
    targets: list[dict[str, int]] | None = None,
) -> int:
    """One primitive per material, all on the same vertex arrays; returns the mesh's index."""

    def vertex_data(values: np.ndarray, kind: str, **options: Any) -> int:
        return builder.array(values, kind, target=VERTEX_DATA, **options)

    positions = mesh.vertices.astype(np.float32)
    attributes = {"POSITION": vertex_data(positions, "VEC3", bounds=True)}
    if normals is not None:
        attributes["NORMAL"] = vertex_data(normals.astype(np.float32), "VEC3")
    if mesh.normals is not None and mesh.tangents is not None and not targets:
        attributes["TANGENT"] = vertex_data(mesh.tangents, "VEC4")
    if mesh.uv is not None:
        # glTF counts v from the top of the image.
        attributes["TEXCOORD_0"] = vertex_data(
            np.stack([mesh.uv[:, 0], 1 - mesh.uv[:, 1]], -1), "VEC2"
        )
    if mesh.colors is not None:
        attributes["COLOR_0"] = vertex_data(
            np.rint(65535 * linear_colors(mesh.colors)).astype(np.uint16), "VEC4", normalized=True
        )
    attributes |= extra_attributes or {}
    materials = MaterialTable(builder, textured=mesh.uv is not None)
    # 65535 itself is reserved in 16-bit indices.
    index_type = np.uint16 if len(mesh.vertices) < 65536 else np.uint32
    primitives = []
    for material, faces in faces_by_material(mesh).items():
        corners = mesh.faces[faces].ravel().astype(index_type)
        primitive: dict[str, Any] = {
            "attributes": attributes,
            "indices": builder.array(corners, "SCALAR", target=VERTEX_INDICES),
            "material": materials.add(mesh.materials[material]),
        }
        if targets:
            primitive["targets"] = targets
        primitives.append(primitive)
    return builder.add("meshes", {"name": mesh.name, "primitives": primitives})


def _add_morphs(builder: GlbBuilder, clip: Clip, *, with_normals: bool) -> int:
    """The mesh with one morph target per frame, and the animation that steps through them."""
    rest = clip.mesh.vertices.astype(np.float32)
    count = len(rest)

    def add_target(make) -> int:
        return builder.deferred(make, count, np.float32, "VEC3", target=VERTEX_DATA, bounds=True)

    # Default arguments bind each frame now; the differences are computed when written.
    targets = [{"POSITION": add_target(lambda at=at: at - rest)} for at in clip.vertices]
    rest_normals = None
    if with_normals:
        rest_normals = _rest_normals(clip.mesh, computed=True)
        normals_of = _smooth_normals(clip.mesh)
        smooth = normals_of(rest)
        for target, at in zip(targets, clip.vertices, strict=True):
            target["NORMAL"] = add_target(lambda at=at: normals_of(at) - smooth)
    index = _add_mesh(builder, clip.mesh, rest_normals, targets=targets)
    frames = len(clip)
    builder.document["meshes"][index] |= {
        "weights": [1.0] + [0.0] * (frames - 1),
        "extras": {"targetNames": [f"frame_{i:04d}" for i in range(frames)]},
    }
    weights = builder.array(np.eye(frames, dtype=np.float32).ravel(), "SCALAR")
    _add_animation(builder, clip, [(0, "weights", weights)])
    return index


def _add_skin(
    builder: GlbBuilder,
    clip: Clip,
    skin: SkinAnimation,
    root: dict[str, Any],
    *,
    computed_normals: bool,
) -> int:
    """Joints below `root`, their animation, and the mesh on them; returns the mesh's node."""
    joints, weights, used = _compact(skin)
    parents, binds, motions = _skeleton(skin, used)
    joint_nodes, channels, children = [], [], dict[int, list[int]]()
    for number, joint in enumerate(used.tolist()):
        motion = motions[:, number]
        translation = motion[:, :3, 3].astype(np.float32)
        rotation = _quaternions(motion[:, :3, :3])
        node = {
            "name": skin.names[joint],
            "translation": translation[0].tolist(),
            "rotation": rotation[0].tolist(),
        }
        joint_nodes.append(builder.add("nodes", node))
        for name, kind, track in (
            ("translation", "VEC3", translation),
            ("rotation", "VEC4", rotation),
        ):
            if (track != track[0]).any():
                channels.append((joint_nodes[-1], name, builder.array(track, kind)))
        children.setdefault(int(parents[number]), []).append(joint_nodes[-1])
    root["children"] = children.pop(-1)
    for number, below in children.items():
        builder.document["nodes"][joint_nodes[number]]["children"] = below
    if channels:
        _add_animation(builder, clip, channels)
    attributes = {
        "JOINTS_0": builder.array(joints, "VEC4", target=VERTEX_DATA),
        "WEIGHTS_0": builder.array(
            weights, "VEC4", target=VERTEX_DATA, normalized=weights.dtype == np.uint8
        ),
    }
    normals = _rest_normals(clip.mesh, computed=computed_normals)
    mesh = _add_mesh(builder, clip.mesh, normals, attributes)
    skin_index = builder.add(
        "skins",
        {
            "joints": joint_nodes,
            "inverseBindMatrices": builder.array(binds, "MAT4"),
            "skeleton": 0,
        },
    )
    return builder.add("nodes", {"name": "surface", "mesh": mesh, "skin": skin_index})


def _skeleton(skin: SkinAnimation, used: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of the joints `used` [J]: their parents [J] among them, -1 for none, their inverse bind
    matrices [J, 16] as glTF wants them, and their motions [T, J, 4, 4] below their parents."""
    count = len(used)
    binds, moves = np.tile(np.eye(4), (count, 1, 1)), skin.transforms[:, used]
    parents = np.full(count, -1)
    if skin.parents is not None and skin.pivots is not None:
        rank = {joint: number for number, joint in enumerate(used.tolist())}
        for number, joint in enumerate(used.tolist()):
            above = int(skin.parents[joint])
            while above >= 0 and above not in rank:
                above = int(skin.parents[above])
            parents[number] = rank.get(above, -1)
        # Joints stand where the skeleton has them, so that editors show bones.
        binds[:, :3, 3] = -skin.pivots[used]
        frames = moves @ np.linalg.inv(binds)
        below = frames.copy()
        hung = np.flatnonzero(parents >= 0)
        below[:, hung] = np.linalg.inv(frames[:, parents[hung]]) @ frames[:, hung]
        moves = below
    columns = np.ascontiguousarray(binds.transpose(0, 2, 1), np.float32)
    return parents, columns.reshape(count, 16), moves


def _compact(skin: SkinAnimation) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Joints [V, 4], weights [V, 4] as glTF wants them, and which of the skin's joints are used.

    A joint appears once per vertex, one without weight is 0, and exact weights are bytes.
    """
    count, width = skin.joints.shape
    weights = np.zeros((count, 4), np.float32)
    joints = np.zeros((count, 4), np.int64)
    weights[:, :width], joints[:, :width] = skin.weights, skin.joints
    for later in range(1, width):
        for earlier in range(later):
            again = (joints[:, earlier] == joints[:, later]) & (weights[:, earlier] > 0)
            weights[again, earlier] += weights[again, later]
            weights[again, later] = 0
    used = np.unique(joints[weights > 0])
    rank = np.zeros(len(skin.names), np.int64)
    rank[used] = np.arange(len(used))
    compact = np.where(weights > 0, rank[joints], 0)
    if np.isin(weights, (0, 1)).all():
        weights = (weights * 255).astype(np.uint8)
    return compact.astype(np.uint8 if len(used) <= 256 else np.uint16), weights, used


def _quaternions(rotations: np.ndarray) -> np.ndarray:
    """[T, 4] float32 (x, y, z, w) of [T, 3, 3], each on the same side as the one before."""
    from scipy.spatial.transform import Rotation

    quaternions = Rotation.from_matrix(rotations).as_quat()
    flips = np.sign(np.sum(quaternions[1:] * quaternions[:-1], -1))
    quaternions[1:] *= np.cumprod(np.where(flips < 0, -1.0, 1.0))[:, None]
    return quaternions.astype(np.float32)


def _add_animation(builder: GlbBuilder, clip: Clip, tracks: list[tuple[int, str, int]]) -> None:
    """Linear keys at the clip's times: (node, what moves, accessor of the values)."""
    times = builder.array(clip.times.astype(np.float32), "SCALAR", bounds=True)
    samplers = [
        {"input": times, "output": values, "interpolation": "LINEAR"} for _, _, values in tracks
    ]
    channels = [
        {"sampler": i, "target": {"node": node, "path": path}}
        for i, (node, path, _) in enumerate(tracks)
    ]
    builder.add("animations", {"name": "motion", "samplers": samplers, "channels": channels})


def _rest_normals(mesh: Mesh, *, computed: bool) -> np.ndarray | None:
    """The source's normals, or smooth ones if `computed`; unit length, as glTF demands."""
    normals = mesh.normals
    if normals is None:
        return _smooth_normals(mesh)(mesh.vertices) if computed else None
    lengths = np.linalg.norm(normals, axis=-1, keepdims=True)
    return np.where(lengths > 1e-6, normals / np.maximum(lengths, 1e-6), [0.0, 0.0, 1.0])


def _smooth_normals(mesh: Mesh) -> Callable[[np.ndarray], np.ndarray]:
    """A function from vertices [V, 3] to unit normals [V, 3] float32, smooth across seams."""
    first, index = merge_vertices(mesh.vertices)
    faces = index[mesh.faces]

    def normals_of(vertices: np.ndarray) -> np.ndarray:
        normals = vertex_normals(vertices[first].astype(np.float64), faces)[index]
        # A vertex without a face of area has no normal, and glTF allows none to be zero.
        normals[np.linalg.norm(normals, axis=-1) < 0.5] = 0.0, 0.0, 1.0
        return normals.astype(np.float32)

    return normals_of
