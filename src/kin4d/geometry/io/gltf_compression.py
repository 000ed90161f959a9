"""Compressed glTF: Draco primitives and meshopt buffer views, through ``kin4d[compressed]``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kin4d.extras import require
from kin4d.reading import reading

if TYPE_CHECKING:
    from kin4d.geometry.io.gltf_document import GltfDocument

DRACO = "KHR_draco_mesh_compression"
MESHOPT = ("EXT_meshopt_compression", "KHR_meshopt_compression")
_FILTERS = {
    "OCTAHEDRAL": "decode_filter_oct",
    "QUATERNION": "decode_filter_quat",
    "EXPONENTIAL": "decode_filter_exp",
}


def draco_accessors(document: GltfDocument) -> dict[int, np.ndarray]:
    """Rows [count, n] of every accessor that Draco data stand for."""
    found: dict[int, np.ndarray] = {}
    for mesh in document.items("meshes"):
        for primitive in mesh["primitives"]:
            packed = primitive.get("extensions", {}).get(DRACO)
            if packed is None:
                continue
            codec = _codec("DracoPy", document, "Draco")
            with reading(document.path, "glTF file", place="its Draco data"):
                decoded = codec.decode(bytes(document.view(packed["bufferView"])))
                for name, number in packed["attributes"].items():
                    rows = decoded.get_attribute_by_unique_id(number)["data"]
                    found[primitive["attributes"][name]] = np.asarray(rows)
                if "indices" in primitive:
                    found[primitive["indices"]] = np.asarray(decoded.faces).reshape(-1, 1)
    return found


def meshopt_view(document: GltfDocument, packed: dict[str, Any]) -> bytes:
    """The bytes of a buffer view that its meshopt extension `packed` describes."""
    codec = _codec("meshoptimizer", document, "meshopt")
    start, count, stride = packed.get("byteOffset", 0), packed["count"], packed["byteStride"]
    data = document.buffers[packed["buffer"]][start : start + packed["byteLength"]]
    mode, name = packed["mode"], packed.get("filter", "NONE")
    with reading(document.path, "glTF file", place="its meshopt data"):
        document.budget.spend_array((count, stride), 1, "meshopt data")
        if mode != "ATTRIBUTES":
            read = codec.decode_index_buffer if mode == "TRIANGLES" else codec.decode_index_sequence
            return read(count, stride, data).astype(f"<u{stride}").tobytes()
        rows = codec.decode_vertex_buffer(count, stride, data, dtype=np.dtype(f"V{stride}"))
        rows = np.frombuffer(rows.tobytes(), np.uint8).reshape(count, stride).copy()
        if name != "NONE":
            rows = getattr(codec, _FILTERS[name])(rows, count, stride)
        return rows.tobytes()


def _codec(module: str, document: GltfDocument, name: str) -> Any:
    return require(module, extra="compressed", purpose=f"{document.path} ({name} compression)")
