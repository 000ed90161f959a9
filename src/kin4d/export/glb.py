"""GlbBuilder: a glTF document and its arrays, streamed into one binary file.

A GLB is a 12-byte header, a JSON chunk and a binary chunk. The JSON comes first but names the
bounds of arrays that are only known once those are computed, so its place is reserved, the arrays
are streamed behind it, and it is filled in last. Nothing larger than one array is held in memory.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from kin4d.errors import InputError
from kin4d.export.mesh_arrays import column_bounds

VERTEX_DATA, VERTEX_INDICES = 34962, 34963

_COMPONENTS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}
_TYPES = {np.dtype(np.uint8): 5121, np.dtype(np.uint16): 5123, np.dtype(np.uint32): 5125}
_TYPES[np.dtype(np.float32)] = 5126
_WIDEST_NUMBER = -1.2345678901234567e-100
_LARGEST_FILE = 2**32 - 1


@dataclass(frozen=True)
class _Piece:
    """Bytes to come: `make` gives them when their turn has come, `accessor` wants their bounds."""

    make: Callable[[], np.ndarray]
    size: int
    accessor: dict[str, Any] | None


class GlbBuilder:
    """Collects document entries and arrays, then writes them."""

    def __init__(self) -> None:
        self.document: dict[str, Any] = {"asset": {"version": "2.0", "generator": "kin4d"}}
        self._pieces: list[_Piece] = []
        self._length = 0

    def add(self, collection: str, entry: dict[str, Any]) -> int:
        """Append `entry` to a top-level list of the document ("nodes", ...); returns its index."""
        entries = self.document.setdefault(collection, [])
        entries.append(entry)
        return len(entries) - 1

    def array(self, values: np.ndarray, kind: str, **options: Any) -> int:
        """Add an array that exists already; options as `deferred`. Returns the accessor's index."""
        values = np.ascontiguousarray(values)
        return self.deferred(lambda: values, len(values), values.dtype, kind, **options)

    def deferred(
        self,
        make: Callable[[], np.ndarray],
        count: int,
        dtype: np.dtype | type,
        kind: str,
        *,
        target: int | None = None,
        bounds: bool = False,
        normalized: bool = False,
    ) -> int:
        """Add an array that `make` computes when it is written.

        Args:
            make: Returns a contiguous [count, components] (or [count]) array of `dtype`.
            count: Number of elements.
            dtype: uint8, uint16, uint32 or float32.
            kind: glTF element type, e.g. ``"VEC3"``.
            target: `VERTEX_DATA` or `VERTEX_INDICES` for arrays the graphics card reads.
            bounds: Whether to store the lowest and highest element.
            normalized: Whether integers stand for fractions of their largest value.

        Returns:
            Index of the accessor.
        """
        dtype = np.dtype(dtype)
        width = _COMPONENTS[kind]
        accessor: dict[str, Any] = {
            "bufferView": self._view(make, count * width * dtype.itemsize, target),
            "componentType": _TYPES[dtype],
            "count": count,
            "type": kind,
        }
        if normalized:
            accessor["normalized"] = True
        if bounds:
            accessor["min"] = accessor["max"] = [_WIDEST_NUMBER] * width
            self._pieces[-1] = _Piece(make, self._pieces[-1].size, accessor)
        return self.add("accessors", accessor)

    def blob(self, data: bytes) -> int:
        """Add raw bytes, such as an image file; returns the buffer view's index."""
        values = np.frombuffer(data, np.uint8)
        return self._view(lambda: values, len(data), None)

    def write(self, path: Path) -> None:
        """Write the GLB to `path`."""
        self.document["buffers"] = [{"byteLength": self._length}]
        json_size = _aligned(len(self._json()))
        total = 12 + 8 + json_size + 8 + self._length
        if total > _LARGEST_FILE:
            raise InputError(
                f"the animation needs {total / 1e9:.1f} GB and a GLB holds at most 4.3 GB",
                hint="write .usdc or .pc2, or fewer frames",
            )
        with path.open("wb") as file:
            file.write(struct.pack("<4sII", b"glTF", 2, total))
            file.write(struct.pack("<I4s", json_size, b"JSON") + bytes(json_size))
            file.write(struct.pack("<I4s", self._length, b"BIN\0"))
            for piece in self._pieces:
                _write_piece(file, piece)
            file.seek(20)
            file.write(self._json().ljust(json_size))

    def _view(self, make: Callable[[], np.ndarray], size: int, target: int | None) -> int:
        view = {"buffer": 0, "byteOffset": self._length, "byteLength": size}
        if target is not None:
            view["target"] = target
        self._pieces.append(_Piece(make, size, None))
        self._length += _aligned(size)
        return self.add("bufferViews", view)

    def _json(self) -> bytes:
        return json.dumps(self.document, separators=(",", ":")).encode()


def _write_piece(file: BinaryIO, piece: _Piece) -> None:
    values = piece.make()
    if values.nbytes != piece.size:
        raise ValueError(f"array of {values.nbytes} bytes where {piece.size} were announced")
    if piece.accessor is not None:
        low, high = column_bounds(values.reshape(len(values), -1)).tolist()
        piece.accessor["min"], piece.accessor["max"] = low, high
    file.write(values.data)
    file.write(bytes(-piece.size % 4))


def _aligned(size: int) -> int:
    """Next multiple of four: where every glTF array and chunk begins."""
    return size + -size % 4
