"""Clips to write, and independent checks of GLB files: a reader and Khronos' validator."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pygltflib
import pytest
from glb_validator import validate_glb
from PIL import Image
from scipy.spatial.transform import Rotation

from kin4d.bodies import bake, hinge, sweep_joints
from kin4d.geometry.clip import Clip
from kin4d.geometry.material import SurfaceMaterial
from kin4d.geometry.mesh import Mesh


def picture(seed: int, mode: str = "RGB", size: tuple[int, int] = (8, 4)) -> Image.Image:
    """Random pixels: nothing about them survives by luck."""
    channels = len(Image.new(mode, (1, 1)).getbands())
    pixels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], channels), np.uint8)
    return Image.fromarray(pixels[..., 0] if channels == 1 else pixels)


@pytest.fixture
def door() -> Clip:
    """A skinned clip of a z-up source: a door that opens and closes in its frame."""
    body = hinge()
    clip = bake(body, sweep_joints(body, frames=12), fps=30.0)
    return replace(clip, mesh=replace(clip.mesh, source_up="z"))


@pytest.fixture
def cloth() -> Clip:
    """A deforming clip: two textured, coloured quads with two materials of all slots."""
    vertices = np.array(
        [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [2, 0, 0], [2, 1, 0.5]], np.float64
    )
    faces = np.array([[0, 1, 2], [0, 2, 3], [1, 4, 5], [1, 5, 2]])
    random = np.random.default_rng(5)
    shared = picture(1)
    full = SurfaceMaterial(
        name="all slots",
        base_color=(0.9, 0.5, 0.25, 1.0),
        metallic=0.25,
        roughness=0.75,
        emissive=(0.1, 0.2, 0.3),
        textures={
            "base_color": shared,
            "metallic_roughness": picture(2),
            "normal": picture(3),
            "occlusion": picture(4, "L"),
            "emissive": picture(5),
        },
    )
    glass = SurfaceMaterial(
        name="glass",
        base_color=(1, 1, 1, 0.5),
        double_sided=False,
        alpha_mode="MASK",
        alpha_cutoff=0.4,
        textures={"base_color": picture(6, "RGBA"), "emissive": shared},
    )
    mesh = Mesh(
        vertices=vertices,
        faces=faces,
        uv=random.random((6, 2)),
        colors=random.integers(0, 256, (6, 4)),
        materials=(full, glass),
        face_material=np.array([0, 0, 1, 1]),
        groups=("left", "right"),
        face_group=np.array([0, 0, 1, 1]),
        name="my cloth",
        source_up="z",
    )
    moving = vertices + random.normal(size=(5, 6, 3)) * 0.1
    energy = {"energy": np.arange(5.0)}
    return Clip(mesh=mesh, vertices=moving, fps=12.5, diagnostics=energy)


class GlbReader:
    """A GLB as pygltflib parses it, with its arrays decoded and its animation evaluated."""

    def __init__(self, path: Path) -> None:
        loaded = pygltflib.GLTF2().load_binary(str(path))
        assert loaded is not None
        self.gltf = loaded
        self.blob = self.gltf.binary_blob()
        self.mesh = self.gltf.meshes[0]

    def array(self, index: int) -> np.ndarray:
        """Accessor `index` as [count, components]."""
        accessor = self.gltf.accessors[index]
        view = self.gltf.bufferViews[accessor.bufferView]
        kind = {5121: "u1", 5123: "<u2", 5125: "<u4", 5126: "<f4"}[accessor.componentType]
        width = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}[accessor.type]
        start = (view.byteOffset or 0) + (accessor.byteOffset or 0)
        values = np.frombuffer(self.blob, kind, accessor.count * width, start).reshape(-1, width)
        if accessor.min:
            np.testing.assert_array_equal(values.min(0), np.float32(accessor.min))
            np.testing.assert_array_equal(values.max(0), np.float32(accessor.max))
        return values / np.iinfo(kind).max if accessor.normalized else values

    def attribute(self, name: str, primitive: int = 0) -> np.ndarray | None:
        index = getattr(self.mesh.primitives[primitive].attributes, name)
        return None if index is None else self.array(index)

    def faces(self) -> list[np.ndarray]:
        """Triangles of each primitive."""
        return [self.array(p.indices).reshape(-1, 3) for p in self.mesh.primitives]

    def track(self, node: int, what: str) -> np.ndarray | None:
        """Keys of one animated property."""
        for animation in self.gltf.animations:
            for channel in animation.channels:
                if (channel.target.node, channel.target.path) == (node, what):
                    return self.array(animation.samplers[channel.sampler].output)
        return None

    def times(self) -> np.ndarray:
        (source,) = {sampler.input for sampler in self.gltf.animations[0].samplers}
        return self.array(source)[:, 0]

    def morphed(self, attribute: str = "POSITION") -> np.ndarray:
        """[T, V, 3] the attribute at every key, from the morph targets and their weights."""
        primitive = self.mesh.primitives[0]
        deltas = np.stack([self.array(target[attribute]) for target in self._targets(primitive)])
        node = next(i for i, n in enumerate(self.gltf.nodes) if n.mesh == 0)
        weights = self.track(node, "weights")
        assert weights is not None
        weights = weights.reshape(-1, len(deltas))
        return self.attribute(attribute) + np.einsum("tk,kvc->tvc", weights, deltas)

    @staticmethod
    def _targets(primitive) -> list[dict[str, int]]:
        as_dict = lambda t: t if isinstance(t, dict) else vars(t)  # noqa: E731
        return [as_dict(target) for target in primitive.targets]

    def skinned(self) -> np.ndarray:
        """[T, V, 3] positions at every key, from joints, weights and inverse bind matrices."""
        node = next(n for n in self.gltf.nodes if n.skin is not None)
        skin = self.gltf.skins[node.skin]
        times = len(self.times())
        # Column-major.
        binds = self.array(skin.inverseBindMatrices).reshape(-1, 4, 4).transpose(0, 2, 1)
        matrices = np.stack([self._poses(joint, times) for joint in skin.joints], 1) @ binds
        rest = np.pad(self.attribute("POSITION"), ((0, 0), (0, 1)), constant_values=1)
        blended = np.einsum(
            "vk,tvkij->tvij",
            self.attribute("WEIGHTS_0"),
            matrices[:, self.attribute("JOINTS_0")],
        )
        return np.einsum("tvij,vj->tvi", blended, rest)[..., :3]

    def _poses(self, index: int, times: int) -> np.ndarray:
        """[T, 4, 4] global transforms of a node at every key."""
        node = self.gltf.nodes[index]
        local = np.tile(np.eye(4), (times, 1, 1))
        rotation = self.track(index, "rotation")
        turn = node.rotation or [0, 0, 0, 1] if rotation is None else rotation
        local[:, :3, :3] = Rotation.from_quat(turn).as_matrix()
        translation = self.track(index, "translation")
        local[:, :3, 3] = node.translation or 0 if translation is None else translation
        parents = [i for i, n in enumerate(self.gltf.nodes) if index in (n.children or [])]
        return self._poses(parents[0], times) @ local if parents else local

    def image(self, texture_info) -> Image.Image:
        """The picture a texture slot shows."""
        source = self.gltf.images[self.gltf.textures[texture_info.index].source]
        view = self.gltf.bufferViews[source.bufferView]
        data = self.blob[view.byteOffset : view.byteOffset + view.byteLength]
        return Image.open(io.BytesIO(data))


@pytest.fixture
def read_glb() -> type[GlbReader]:
    """An independent reader of GLB files: ``read_glb(path).morphed()`` and so on."""
    return GlbReader


@pytest.fixture
def validate() -> Callable[..., None]:
    """Khronos' validator: ``validate(*paths)`` fails on any error or warning."""
    return validate_glb
