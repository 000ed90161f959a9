"""Large point arrays in USD's binary ("crate") files, at the speed of the disk.

A crate holds a header, the values, sections that describe what the values belong to, and a table of
contents with the sections' places (OpenUSD, pxr/usd/sdf/crateFile.h). An array value is a 64-bit
count and its raw numbers; a 64-bit word refers to it, with its type in the upper 16 bits and its
place in the file in the lower 48.

USD's library converts, copies and hashes each array before it writes it, which costs several times
the writing. So it is given a one-point stand-in for each array, and here the real arrays are laid
behind the other values, the words turned to them, and the sections moved up. The result is an
ordinary crate.
"""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

_PLACE = (1 << 48) - 1
_TABLE_AT = 16
_SECTION = struct.Struct("<16sqq")


class UnknownCrateError(ValueError):
    """The file is not laid out as described above."""


def stand_in(index: int) -> np.ndarray:
    """[1, 3] float32: a point that no mesh has, and no other array's stand-in."""
    return np.array([[-7.6543e37, index, 1.2345e-37]], np.float32)


def replace_stand_ins(source: Path, target: Path, arrays: np.ndarray) -> None:
    """Write the crate at `source` to `target` with `arrays` instead of the stand-ins.

    Args:
        source: A crate in which the stand-ins 0, 1, ... are the time samples of one attribute.
        target: The file to write.
        arrays: [T, N, 3] float32, one for each stand-in.
    """
    data = source.read_bytes()
    sections = _sections(data)
    values_end = min(start for _, start, _ in sections)
    values = bytearray(data[:values_end])
    words_at, words = _words(values, len(arrays))
    padding = -arrays[0].nbytes % 8
    first = values_end + -values_end % 8
    step = 8 + arrays[0].nbytes + padding
    starts = first + step * np.arange(len(arrays), dtype=np.uint64)
    words = (words & ~np.uint64(_PLACE)) | starts
    values[words_at : words_at + words.nbytes] = words.astype("<u8").tobytes()
    shift = first + step * len(arrays) - values_end
    (table,) = struct.unpack_from("<q", data, _TABLE_AT)
    struct.pack_into("<q", values, _TABLE_AT, table + shift)
    with target.open("wb") as file:
        file.write(values)
        file.write(bytes(first - values_end))
        for array in arrays:
            file.write(struct.pack("<Q", len(array)))
            file.write(np.ascontiguousarray(array, "<f4").data)
            file.write(bytes(padding))
        file.write(data[values_end:table])
        file.write(struct.pack("<Q", len(sections)))
        for name, start, size in sections:
            file.write(_SECTION.pack(name, start + shift, size))


def _sections(data: bytes) -> list[tuple[bytes, int, int]]:
    """Name, place and size of each section, from the table of contents at the end of the file."""
    if data[:8] != b"PXR-USDC" or not (0, 7) <= (data[8], data[9]) < (1, 0):
        raise UnknownCrateError("not a crate of a known version")
    (table,) = struct.unpack_from("<q", data, _TABLE_AT)
    (count,) = struct.unpack_from("<Q", data, table)
    if table + 8 + count * _SECTION.size != len(data):
        raise UnknownCrateError("the table of contents is not where it was expected")
    return [_SECTION.unpack_from(data, table + 8 + i * _SECTION.size) for i in range(count)]


def _words(values: bytearray, count: int) -> tuple[int, np.ndarray]:
    """Where the `count` words that refer to the stand-ins begin, and the words."""
    places, at = [], 0
    for index in range(count):
        at = values.find(struct.pack("<Q", 1) + stand_in(index).astype("<f4").tobytes(), at)
        if at < 0:
            raise UnknownCrateError(f"stand-in {index} is not in the file")
        places.append(at)
    at = -1
    while (at := values.find(struct.pack("<Q", places[0])[:6], at + 1)) >= 0:
        words = np.frombuffer(bytes(values[at : at + 8 * count]), "<u8")
        if len(words) == count and ((words & np.uint64(_PLACE)) == places).all():
            return at, words
    raise UnknownCrateError("nothing refers to the stand-ins")
