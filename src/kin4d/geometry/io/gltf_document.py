"""GltfDocument: a glTF or GLB file opened safely, its numbers and images on request."""

from __future__ import annotations

import base64
import struct
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import numpy as np

from kin4d.errors import InputError
from kin4d.files import existing_file
from kin4d.geometry.io.asset_paths import open_image, referenced_path, warn_asset
from kin4d.geometry.io.gltf_compression import DRACO, MESHOPT, draco_accessors, meshopt_view
from kin4d.reading import Budget, parse_json, reading

if TYPE_CHECKING:
    from PIL.Image import Image

_COMPONENTS = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}
_SUPPORTED = (DRACO, *MESHOPT, "KHR_mesh_quantization", "KHR_node_visibility")
# Change the look alone. What a material needs beyond the common is warned about where it is read.
_LOOK = ("KHR_materials_", "KHR_texture_", "EXT_texture_", "KHR_lights_")


@dataclass(frozen=True, eq=False)
class GltfDocument:
    """A glTF 2.0 file: its JSON tree and the bytes of its buffers.

    Attributes:
        path: Where it came from.
        tree: The JSON.
        buffers: Bytes of each buffer.
    """

    path: Path
    tree: dict[str, Any]
    buffers: tuple[bytes, ...]

    @classmethod
    def open(cls, path: str | Path) -> GltfDocument:
        """Read a .gltf or .glb; whatever is wrong with it is an `InputError`."""
        path = existing_file(path)
        with reading(path, "glTF file", hint="export it again"):
            return cls._open(path)

    @classmethod
    def _open(cls, path: Path) -> GltfDocument:
        data = path.read_bytes()
        binary = path.suffix.lower() == ".glb"
        text, chunk = _glb_chunks(path, data) if binary else (data, None)
        with reading(path, "glTF file", place="its JSON"):
            tree = parse_json(text)
        if not isinstance(tree, dict) or not isinstance(tree.get("asset"), dict):
            raise InputError(f"{path} is not glTF: its JSON has no 'asset'")
        version = str(tree["asset"].get("version"))
        if not version.startswith("2."):
            raise InputError(f"{path} is of another glTF version", value=version, allowed="2.0")
        for name in tree.get("extensionsRequired", ()):
            if "instancing" in str(name):
                raise InputError(
                    f"{path} needs a glTF extension that is not supported",
                    value=name,
                    hint="export it again without instancing",
                )
            if name not in _SUPPORTED and not str(name).startswith(_LOOK):
                warn_asset(path, f"it needs the glTF extension {name}, which is ignored")
        # Every reference is checked before any is read.
        for item in (*tree.get("buffers", ()), *tree.get("images", ())):
            _reference(path, item.get("uri"))
        buffers = tuple(_buffer(path, item, chunk) for item in tree.get("buffers", ()))
        return cls(path, tree, buffers)

    @cached_property
    def _draco(self) -> dict[int, np.ndarray]:
        return draco_accessors(self)

    @cached_property
    def budget(self) -> Budget:
        """Memory that its numbers may still take."""
        return Budget(self.path, size=sum(map(len, self.buffers)))

    @cached_property
    def _unpacked(self) -> dict[int, bytes]:
        """Buffer views that have been decompressed."""
        return {}

    def items(self, kind: str) -> list[dict[str, Any]]:
        """A top-level array such as ``"nodes"``; empty if absent."""
        return self.tree.get(kind, [])

    def view(self, index: int) -> memoryview:
        """The bytes of a buffer view."""
        view = self.items("bufferViews")[_index(index)]
        packed = [
            view["extensions"][name] for name in MESHOPT if name in view.get("extensions", ())
        ]
        if packed:
            if index not in self._unpacked:
                self._unpacked[index] = meshopt_view(self, packed[0])
            return memoryview(self._unpacked[index])
        start, length = view.get("byteOffset", 0), view["byteLength"]
        data = memoryview(self.buffers[_index(view["buffer"])])
        if not 0 <= start <= start + length <= len(data):
            raise self.broken(f"buffer view {index} reaches beyond its buffer")
        return data[start : start + length]

    def accessor(self, index: int) -> np.ndarray:
        """[count] or [count, n]: the numbers of an accessor, matrices row by row as stored.

        Integers marked as normalised come as float32 in [0, 1] or [-1, 1].
        """
        spec = self.items("accessors")[_index(index)]
        dtype, width = _COMPONENTS[spec["componentType"]], _WIDTHS[spec["type"]]
        count = spec["count"]
        if not isinstance(count, int) or count < 0:
            raise self.broken(f"accessor {index} declares {count!r} rows")
        # A sparse one has no bytes behind it, and many nodes may draw the same one.
        self.budget.spend_array((count, width), 8, f"accessor {index}")
        if "bufferView" in spec:
            values = self._rows(spec, dtype, count, width)
        elif index in self._draco:
            values = self._draco[index].astype(dtype)
            if values.shape != (count, width):
                raise self.broken(f"accessor {index} and its Draco data differ in size")
        elif "sparse" in spec:
            values = np.zeros((count, width), dtype)
        else:
            raise self.broken(f"accessor {index} has no data")
        if "sparse" in spec:
            sparse = spec["sparse"]
            at = _COMPONENTS[sparse["indices"]["componentType"]]
            rows = self._rows(sparse["indices"], at, sparse["count"], 1)
            values[rows[:, 0]] = self._rows(sparse["values"], dtype, sparse["count"], width)
        if spec.get("normalized"):
            values = np.maximum(values / np.float32(np.iinfo(dtype).max), np.float32(-1))
        return values[:, 0] if spec["type"] == "SCALAR" else values

    def image(self, texture: int) -> Image | None:
        """The image of a texture; None, with a warning, if it cannot be read."""
        spec = self.items("textures")[_index(texture)]
        extensions = spec.get("extensions", {}).values()
        sources = [choice["source"] for choice in (spec, *extensions) if "source" in choice]
        if not sources:
            return None
        source = sources[0]
        image = self.items("images")[_index(source)]
        what = f"image {source}"
        if "bufferView" in image:
            return open_image(self.path, what, bytes(self.view(image["bufferView"])))
        return open_image(self.path, what, _reference(self.path, image["uri"]))

    def world_matrices(self, local: np.ndarray | None = None) -> np.ndarray:
        """[..., N, 4, 4] float64 of every node, from node to scene.

        Args:
            local: [..., N, 4, 4] from node to parent, e.g. over time; as stored if None.
        """
        nodes = self.items("nodes")
        if not nodes:
            return np.empty((0, 4, 4))
        if local is None:
            local = np.stack([local_matrix(node) for node in nodes])
        pairs = [(_index(c), i) for i, node in enumerate(nodes) for c in node.get("children", ())]
        parents = dict(pairs)
        if len(parents) != len(pairs):
            raise self.broken("a node has two parents")
        world: dict[int, np.ndarray] = {}
        for start in range(len(nodes)):
            chain = []
            node: int | None = start
            while node is not None and node not in world:
                chain.append(node)
                node = parents.get(node)
                if len(chain) > len(nodes):
                    raise self.broken("its nodes form a loop")
            matrix = np.eye(4) if node is None else world[node]
            for step in reversed(chain):
                matrix = world[step] = matrix @ local[..., step, :, :]
        return np.stack([world[i] for i in range(len(nodes))], axis=-3)

    def broken(self, why: str) -> InputError:
        """The error for a file that contradicts itself."""
        return InputError(f"{self.path} is not valid glTF: {why}", hint="export it again")

    def warn(self, message: str) -> None:
        """Say that part of the look is lost, without failing."""
        warn_asset(self.path, message)

    def _rows(self, spec: dict[str, Any], dtype: str, count: int, width: int) -> np.ndarray:
        view, offset, size = spec["bufferView"], spec.get("byteOffset", 0), np.dtype(dtype).itemsize
        data = self.view(view)
        stride = self.items("bufferViews")[view].get("byteStride", size * width)
        needed = offset + (count - 1) * stride + size * width if count else 0
        if offset < 0 or stride < 1 or needed > len(data):
            raise self.broken(f"buffer view {view} has {len(data)} bytes where {needed} are needed")
        return np.ndarray((count, width), dtype, data, offset, (stride, size)).copy()


def _glb_chunks(path: Path, data: bytes) -> tuple[bytes, bytes | None]:
    """The JSON and the binary chunk of a GLB."""
    if data[:4] != b"glTF":
        raise InputError(
            f"{path} is not a GLB: it does not begin with 'glTF'",
            value=data[:4],
            hint="a JSON glTF needs the suffix .gltf",
        )
    if len(data) < 20:
        raise _truncated(path, 20, len(data))
    version, length = struct.unpack_from("<II", data, 4)
    if version != 2:
        raise InputError(f"{path} is of another GLB version", value=version, allowed="2")
    if length > len(data):
        raise _truncated(path, length, len(data))
    chunks: dict[bytes, bytes] = {}
    at = 12
    while at + 8 <= length:
        size, kind = struct.unpack_from("<I4s", data, at)
        if at + 8 + size > length:
            raise _truncated(path, at + 8 + size, length)
        chunks.setdefault(kind, data[at + 8 : at + 8 + size])
        at += 8 + size
    if b"JSON" not in chunks:
        raise InputError(f"{path} is not a GLB: it has no JSON chunk")
    return chunks[b"JSON"], chunks.get(b"BIN\0")


def _truncated(path: Path, wanted: int, got: int) -> InputError:
    return InputError(
        f"{path} is truncated: it needs {wanted} bytes and has {got}",
        hint="copy or download it again",
    )


def _reference(path: Path, uri: str | None) -> bytes | Path:
    """The bytes of a data address, or the path of a file; nothing is opened."""
    if uri is None:
        return b""
    if uri.startswith("data:"):
        head, _, body = uri.partition(",")
        if not head.endswith(";base64"):
            raise InputError(f"{path} embeds data in another way than base64", value=head)
        return base64.b64decode(body)
    return referenced_path(path, unquote(uri))


def _buffer(path: Path, spec: dict[str, Any], chunk: bytes | None) -> bytes:
    if any(spec.get("extensions", {}).get(name, {}).get("fallback") for name in MESHOPT):
        return b""  # for readers without the extension
    origin = (chunk or b"") if spec.get("uri") is None else _reference(path, spec["uri"])
    data = existing_file(origin).read_bytes() if isinstance(origin, Path) else origin
    if len(data) < spec["byteLength"]:
        raise _truncated(
            origin if isinstance(origin, Path) else path, spec["byteLength"], len(data)
        )
    return data


def _index(value: Any) -> int:
    """An index into one of the document's arrays; Python's wrap-around is not glTF's."""
    if not isinstance(value, int) or value < 0:
        raise IndexError(f"{value!r} is not an index")
    return value


def local_matrix(node: dict[str, Any]) -> np.ndarray:
    """[4, 4] float64 of a node, from itself to its parent."""
    if "matrix" in node:
        return np.array(node["matrix"], np.float64).reshape(4, 4).T
    from scipy.spatial.transform import Rotation

    matrix = np.eye(4)
    rotation = Rotation.from_quat(node.get("rotation", (0, 0, 0, 1))).as_matrix()
    matrix[:3, :3] = rotation * np.array(node.get("scale", (1, 1, 1)), np.float64)
    matrix[:3, 3] = node.get("translation", (0, 0, 0))
    return matrix
