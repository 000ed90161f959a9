"""TFRecord files of tf.train.Example, read without TensorFlow.

A record is its length (uint64), a checksum of the length, the data and a checksum of the data
(masked CRC-32C, https://www.tensorflow.org/tutorials/load_data/tfrecord). The data is a protobuf
message: a map from feature names to lists of bytes, floats or integers.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import numba
import numpy as np

from kin4d.errors import InputError
from kin4d.files import existing_file
from kin4d.reading import reading

Feature = np.ndarray | list[bytes]


def read_examples(path: str | Path) -> Iterator[dict[str, Feature]]:
    """Features by name of each example: float32 [n], int64 [n], or a list of bytes."""
    for number, span in enumerate(record_offsets(path)):
        yield read_example(path, number, span)


def read_example(path: str | Path, number: int, span: tuple[int, int]) -> dict[str, Feature]:
    """Features of one example, whose `place` is that of record `number` in `record_offsets`."""
    record = _read_record(Path(path), number, span)
    with reading(path, "tf.train.Example", place=f"record {number}"):
        return parse_example(record)


def read_records(path: str | Path) -> Iterator[bytes]:
    """The data of each record; a broken checksum or a cut file is an `InputError`."""
    for number, span in enumerate(record_offsets(path)):
        yield _read_record(Path(path), number, span)


def record_offsets(path: str | Path) -> Iterator[tuple[int, int]]:
    """Where the data of each record starts in the file, and how many bytes it is."""
    path = existing_file(path)
    size = path.stat().st_size
    start = count = 0
    while start < size:
        with path.open("rb") as file:
            file.seek(start)
            header = file.read(12)
        if len(header) < 12 or header[8:] != checksum(header[:8]):
            raise InputError(
                f"record {count} of {path} has a broken header", allowed="a TFRecord file"
            )
        (length,) = struct.unpack("<Q", header[:8])
        if start + 12 + length + 4 > size:
            raise InputError(
                f"record {count} of {path} is cut short", hint="download or copy the file again"
            )
        yield start + 12, length
        start += 12 + length + 4
        count += 1


def _read_record(path: Path, number: int, span: tuple[int, int]) -> bytes:
    start, length = span
    with path.open("rb") as file:
        file.seek(start)
        data, expected = file.read(length), file.read(4)
    if expected != checksum(data):
        raise InputError(f"record {number} of {path} is damaged: its checksum does not match")
    return data


def checksum(data: bytes) -> bytes:
    """Four bytes: CRC-32C of `data`, rotated and offset as TFRecord wants it."""
    crc = int(_crc32c(np.frombuffer(data, np.uint8), _TABLE))
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def parse_example(data: bytes) -> dict[str, Feature]:
    """Features of one serialized tf.train.Example."""
    features: dict[str, Feature] = {}
    for _, message in _fields(data):
        for _, entry in _fields(message):
            parts = dict(_fields(entry))
            features[parts[1].decode()] = _feature(parts.get(2, b""))
    return features


def _feature(data: bytes) -> Feature:
    """A oneof: bytes_list (1), float_list (2) or int64_list (3), each a repeated field 1."""
    for kind, values in _fields(data):
        items = [value for _, value in _fields(values)]
        if kind == 1:
            return items
        packed = b"".join(items)
        return np.frombuffer(packed, "<f4") if kind == 2 else _varints(packed)
    return []


def _fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    """(number, payload) of each field of a protobuf message; numbers as their raw bytes."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        wire = key & 7
        if wire == 0:
            end = _varint(data, at)[1]
        elif wire == 2:
            length, at = _varint(data, at)
            end = at + length
        elif wire in (1, 5):
            end = at + (8 if wire == 1 else 4)
        else:
            raise ValueError(f"unknown protobuf wire type {wire}")
        if end > len(data):
            raise ValueError("a field runs past the end")
        yield key >> 3, data[at:end]
        at = end


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """The number at a position, seven bits a byte, and the position after it."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def _varints(data: bytes) -> np.ndarray:
    values, at = [], 0
    while at < len(data):
        value, at = _varint(data, at)
        values.append(value)
    return np.array(values, np.uint64).view(np.int64)


def _crc_table() -> np.ndarray:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, table >> 1 ^ np.uint32(0x82F63B78), table >> 1)
    return table.astype(np.uint32)


_TABLE = _crc_table()


@numba.njit(cache=True)
def _crc32c(data, table):
    crc = np.uint32(0xFFFFFFFF)
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ (crc >> np.uint32(8))
    return crc ^ np.uint32(0xFFFFFFFF)
