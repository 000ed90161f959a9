"""TFRecord files of tf.train.Examples, written by hand for tests."""

from __future__ import annotations

import struct
from pathlib import Path

from kin4d.episodes.formats.tfrecord import checksum


def varint(value: int) -> bytes:
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def field(number: int, payload: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def example(features: dict) -> bytes:
    """A tf.train.Example, written by hand."""
    entries = b""
    for name, values in features.items():
        if isinstance(values, list):
            feature = field(1, b"".join(field(1, item) for item in values))
        elif values.dtype.kind == "f":
            feature = field(2, field(1, values.astype("<f4").tobytes()))
        else:
            packed = b"".join(varint(int(v) & (1 << 64) - 1) for v in values)
            feature = field(3, field(1, packed))
        entries += field(1, field(1, name.encode()) + field(2, feature))
    return field(1, entries)


def write_records(path: Path, records: list[bytes]) -> Path:
    with path.open("wb") as file:
        for data in records:
            length = struct.pack("<Q", len(data))
            file.write(length + checksum(length) + data + checksum(data))
    return path
