from __future__ import annotations

import struct

import numpy as np
import pytest
from tfrecord_writer import example, write_records

from kin4d.episodes.formats.tfrecord import checksum, read_examples, read_records
from kin4d.errors import InputError


def test_checksum_of_the_standard_string() -> None:
    # CRC-32C("123456789") is 0xE3069283 (RFC 3720 and others).
    crc = 0xE3069283
    masked = ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
    assert checksum(b"123456789") == struct.pack("<I", masked)


def test_features_of_all_kinds_are_read(tmp_path) -> None:
    features = {
        "numbers": np.array([1.5, -2.0], np.float32),
        "counts": np.array([0, 300, -7]),
        "words": [b"push", b"", b"x" * 300],
    }
    path = write_records(tmp_path / "a.tfrecord", [example(features), example({})])
    first, second = read_examples(path)
    np.testing.assert_array_equal(first["numbers"], features["numbers"])
    np.testing.assert_array_equal(first["counts"], features["counts"])
    assert first["words"] == features["words"]
    assert second == {}


def test_damage_is_noticed(tmp_path) -> None:
    whole = write_records(tmp_path / "a", [b"first", b"second record"]).read_bytes()
    assert list(read_records(tmp_path / "a")) == [b"first", b"second record"]
    for at, words in (
        (3, "record 0 .*broken header"),
        (14, "record 0 .*damaged"),
        (40, "record 1"),
    ):
        bad = bytearray(whole)
        bad[at] ^= 1
        (tmp_path / "b").write_bytes(bytes(bad))
        with pytest.raises(InputError, match=words):
            list(read_records(tmp_path / "b"))
    (tmp_path / "b").write_bytes(whole[:-6])
    with pytest.raises(InputError, match=r"record 1 .*cut short"):
        list(read_records(tmp_path / "b"))
    (tmp_path / "b").write_bytes(b"not a record file at all")
    with pytest.raises(InputError, match="TFRecord"):
        list(read_records(tmp_path / "b"))
    with pytest.raises(InputError, match=r"not a readable tf\.train\.Example"):
        list(read_examples(write_records(tmp_path / "c", [b"\xff\xff\xff"])))
