"""The still surface of a glTF file: every node's triangles, where and how a viewer shows them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from kin4d.geometry.io.gltf_compression import DRACO
from kin4d.geometry.io.gltf_document import GltfDocument
from kin4d.geometry.material import TEXTURE_SLOTS, SurfaceMaterial, srgb_colors
from kin4d.geometry.mesh import RawMesh, transform_normals, transform_tangents
from kin4d.geometry.mesh_ops import join_meshes

_TRIANGLES, _STRIP, _FAN = 4, 5, 6


def read_gltf(path: Path) -> RawMesh:
    """Read a .gltf or .glb as one surface in its rest pose, unchecked.

    Each node that holds a mesh becomes a part, moved by its world transform; a skinned one is
    moved by its joints, and morph targets are added by their default weights. Vertex order is that
    of the file. Points and lines are left out.
    """
    return _surface(GltfDocument.open(path))


def _surface(document: GltfDocument) -> RawMesh:
    world = document.world_matrices()

    image = cache(document.image)

    @cache
    def material(index: int | None) -> SurfaceMaterial:
        return SurfaceMaterial() if index is None else _material(document, index, image)

    meshes = []
    for index in scene_nodes(document):
        node = document.items("nodes")[index]
        if "mesh" in node:
            meshes += _node_surface(document, node, world, world[index], material)
    if not meshes:
        return RawMesh(
            vertices=np.empty((0, 3)), faces=np.empty((0, 3), np.int64), name=document.path.stem
        )
    return join_meshes(meshes, name=document.path.stem)


def scene_nodes(document: GltfDocument) -> list[int]:
    """Nodes of the default scene, parents first, in file order; all nodes if there is no scene.

    What KHR_node_visibility hides is left out, with all below it.
    """
    nodes, scenes = document.items("nodes"), document.items("scenes")
    if not scenes:
        return list(range(len(nodes)))
    waiting = list(reversed(scenes[document.tree.get("scene", 0)].get("nodes", [])))
    order = []
    while waiting:
        node = nodes[waiting[-1]]
        visibility = node.get("extensions", {}).get("KHR_node_visibility", {})
        if not visibility.get("visible", True):
            waiting.pop()
            continue
        order.append(waiting.pop())
        waiting += reversed(node.get("children", []))
    return order


def shared_vertices(document: GltfDocument, mesh: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """The triangle primitives of a mesh by whose vertices they use, in order of appearance.

    Primitives that differ in indices and material alone share their vertices.
    """
    shared: dict[str, list[dict[str, Any]]] = {}
    for primitive in mesh["primitives"]:
        if primitive.get("mode", _TRIANGLES) in (_TRIANGLES, _STRIP, _FAN):
            uv_set = _uv_set(document, primitive)
            key = repr((primitive["attributes"], primitive.get("targets"), uv_set))
            shared.setdefault(key, []).append(primitive)
    return list(shared.values())


def _node_surface(
    document: GltfDocument, node: dict[str, Any], world: np.ndarray, matrix: np.ndarray, material
) -> list[RawMesh]:
    mesh = document.items("meshes")[node["mesh"]]
    name = str(node.get("name") or mesh.get("name") or f"mesh {node['mesh']}")
    weights = node.get("weights", mesh.get("weights", ()))
    pieces = []
    for primitives in shared_vertices(document, mesh):
        first = primitives[0]
        transform = matrix
        if "skin" in node:
            transform = _skin_matrices(document, node["skin"], first["attributes"], world)
        points, normals = _morphed(document, first, weights)
        tangents = None
        if "TANGENT" in first["attributes"]:
            tangents = document.accessor(first["attributes"]["TANGENT"])
        linear = transform[..., :3, :3]
        points = (linear @ points[..., None])[..., 0] + transform[..., :3, 3]
        faces = [_faces(document, primitive, len(points)) for primitive in primitives]
        if "skin" not in node and np.linalg.det(matrix[:3, :3]) < 0:
            faces = [triangles[:, ::-1] for triangles in faces]
        looks = [material(primitive.get("material")) for primitive in primitives]
        materials = tuple(dict.fromkeys(looks))
        owner = [materials.index(look) for look in looks]
        pieces.append(
            RawMesh(
                vertices=points,
                faces=np.concatenate(faces),
                uv=_uv(document, first),
                normals=None if normals is None else transform_normals(linear, normals),
                tangents=None if tangents is None else transform_tangents(linear, tangents),
                colors=_colors(document, first["attributes"]),
                materials=materials,
                face_material=np.repeat(owner, [len(triangles) for triangles in faces]),
            )
        )
    if not pieces:
        return []
    whole = join_meshes(pieces)
    return [replace(whole, groups=(name,), face_group=np.zeros(len(whole.faces), np.int64))]


def _morphed(document: GltfDocument, primitive: dict[str, Any], weights):
    """Positions [V, 3] float64 and normals [V, 3] or None, with morph targets at rest."""
    attributes = primitive["attributes"]
    points = document.accessor(attributes["POSITION"]).astype(np.float64)
    normals = document.accessor(attributes["NORMAL"]) if "NORMAL" in attributes else None
    for weight, target in zip(weights, primitive.get("targets", ()), strict=False):
        if weight and "POSITION" in target:
            points = points + weight * document.accessor(target["POSITION"])
        if weight and "NORMAL" in target and normals is not None:
            normals = normals + weight * document.accessor(target["NORMAL"])
    return points, normals


def _skin_matrices(
    document: GltfDocument, index: int, attributes: dict[str, int], world: np.ndarray
) -> np.ndarray:
    """[V, 4, 4]: each vertex's motion from the mesh as stored to the rest pose."""
    joints = joint_matrices(document, index, world)
    bones, shares = skin_weights(document, attributes)
    total = np.zeros((1, 4, 4))
    for bone, share in zip(bones.T, shares.T, strict=True):
        total = total + share[:, None, None] * joints[bone]
    return total


def joint_matrices(document: GltfDocument, index: int, world: np.ndarray) -> np.ndarray:
    """[..., J, 4, 4]: motions of a skin's joints from the mesh as stored, for node-to-scene
    matrices `world` [..., N, 4, 4].
    """
    skin = document.items("skins")[index]
    joints = world[..., skin["joints"], :, :]
    if "inverseBindMatrices" in skin:
        stored = document.accessor(skin["inverseBindMatrices"])[: joints.shape[-3]]
        joints = joints @ stored.reshape(-1, 4, 4).mT.astype(np.float64)
    return joints


def skin_weights(
    document: GltfDocument, attributes: dict[str, int]
) -> tuple[np.ndarray, np.ndarray]:
    """Joints [V, K] and weights [V, K] float64 of a primitive's vertices; rows sum to 1."""
    sets = [key for key in attributes if key.startswith("JOINTS_")]
    if not sets:
        raise document.broken("a skinned mesh has vertices without joints")
    bones = [document.accessor(attributes[key]) for key in sets]
    shares = [document.accessor(attributes[key.replace("JOINTS", "WEIGHTS")]) for key in sets]
    weights = np.concatenate(shares, axis=1).astype(np.float64)
    amount = weights.sum(1, keepdims=True)
    if not (amount > 0).all():
        raise document.broken("a skinned mesh has vertices without joints")
    return np.concatenate(bones, axis=1).astype(np.int64), weights / amount


def _faces(document: GltfDocument, primitive: dict[str, Any], count: int) -> np.ndarray:
    index = np.arange(count)
    if "indices" in primitive:
        index = document.accessor(primitive["indices"]).astype(np.int64)
    mode = primitive.get("mode", _TRIANGLES)
    if mode == _TRIANGLES or DRACO in primitive.get("extensions", ()):
        if len(index) % 3:
            raise document.broken(f"{len(index)} indices do not make whole triangles")
        return index.reshape(-1, 3)
    step = np.arange(max(len(index) - 2, 0))
    if mode == _FAN:
        return np.stack([index[step + 1], index[step + 2], index[np.zeros_like(step)]], axis=1)
    odd = step % 2
    faces = np.stack([index[step], index[step + 1 + odd], index[step + 2 - odd]], axis=1)
    # Strips are stitched together by triangles that name a vertex twice.
    return faces[(faces != np.roll(faces, 1, axis=1)).all(1)]


def _uv_set(document: GltfDocument, primitive: dict[str, Any]) -> str:
    """Name of the UV attribute that the base colour uses."""
    chosen = 0
    if "material" in primitive:
        chosen = _base(document.items("materials")[primitive["material"]]).get("texCoord", 0)
    return f"TEXCOORD_{chosen}"


def _uv(document: GltfDocument, primitive: dict[str, Any]) -> np.ndarray | None:
    """[V, 2] moved to our origin at the lower left."""
    key = _uv_set(document, primitive)
    if key not in primitive["attributes"]:
        return None
    u, v = document.accessor(primitive["attributes"][key]).astype(np.float64).T
    return np.stack([u, 1 - v], axis=1).astype(np.float32)


def _colors(document: GltfDocument, attributes: dict[str, int]) -> np.ndarray | None:
    if "COLOR_0" not in attributes:
        return None
    values = document.accessor(attributes["COLOR_0"])
    values = np.pad(values, ((0, 0), (0, 4 - values.shape[1])), constant_values=1)
    return srgb_colors(values)


def _base(spec: dict[str, Any]) -> dict[str, Any]:
    return spec.get("pbrMetallicRoughness", {}).get("baseColorTexture", {})


def _material(document: GltfDocument, index: int, image) -> SurfaceMaterial:
    spec = document.items("materials")[index]
    pbr, name = spec.get("pbrMetallicRoughness", {}), spec.get("name", f"material {index}")
    slots = {slot: (spec | pbr).get(key, {}) for slot, key in TEXTURE_SLOTS.items()}
    used = {slot: texture for slot, texture in slots.items() if "index" in texture}
    if len({texture.get("texCoord", 0) for texture in used.values()}) > 1:
        document.warn(f"material '{name}' uses several UV sets; only the base colour's is kept")
    if any(texture.get("extensions") for texture in used.values()):
        document.warn(f"material '{name}' moves its textures by an extension, which is left out")
    images = {slot: image(texture["index"]) for slot, texture in used.items()}
    red, green, blue, alpha = pbr.get("baseColorFactor", (1, 1, 1, 1))
    glow = spec.get("emissiveFactor", (0, 0, 0))
    return SurfaceMaterial(
        name=name,
        base_color=(float(red), float(green), float(blue), float(alpha)),
        metallic=float(pbr.get("metallicFactor", 1)),
        roughness=float(pbr.get("roughnessFactor", 1)),
        emissive=(float(glow[0]), float(glow[1]), float(glow[2])),
        double_sided=bool(spec.get("doubleSided", False)),
        alpha_mode=str(spec.get("alphaMode", "OPAQUE")),
        alpha_cutoff=float(spec.get("alphaCutoff", 0.5)),
        textures=MappingProxyType({slot: i for slot, i in images.items() if i is not None}),
    )
