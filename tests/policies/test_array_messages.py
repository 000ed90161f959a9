"""The codec, byte for byte as openpi's client and server write it."""

import numpy as np
import pytest

from kin4d.errors import InputError
from kin4d.policies.array_messages import pack_message, unpack_message

ARRAY = (
    b"\x81\xa1a"  # {"a":
    b"\x84\xc4\x0b__ndarray__\xc3"  # four bytes keys
    b"\xc4\x04data\xc4\x08\x00\x00\x80?\x00\x00\x00@"
    b"\xc4\x05dtype\xa3<f4"
    b"\xc4\x05shape\x92\x01\x02"
)
SCALAR = (
    b"\x83\xc4\x0d__npgeneric__\xc3"
    b"\xc4\x04data\xcb?\xf8\x00\x00\x00\x00\x00\x00"
    b"\xc4\x05dtype\xa3<f4"
)


def test_an_array_is_these_bytes() -> None:
    message = {"a": np.array([[1.0, 2.0]], np.float32)}
    assert pack_message(message) == ARRAY
    found = unpack_message(ARRAY)["a"]
    assert found.dtype == np.float32
    assert np.array_equal(found, message["a"])


def test_a_scalar_is_these_bytes() -> None:
    assert pack_message(np.float32(1.5)) == SCALAR
    found = unpack_message(SCALAR)
    assert isinstance(found, np.float32)
    assert found == 1.5


@pytest.mark.parametrize("dtype", ["u1", "<i8", "<f2", "?", ">f4"])
def test_round_trip_keeps_dtype_shape_and_nan(dtype: str) -> None:
    values = np.arange(12).reshape(2, 3, 2).astype(dtype)[:, ::-1]
    if values.dtype.kind == "f":
        values[0, 0, 0] = np.nan
    message = {"x": [values, {"deep": values[0]}], "prompt": "lift", "n": 3, "none": None}
    found = unpack_message(pack_message(message))
    assert found["x"][0].dtype == values.dtype
    np.testing.assert_array_equal(found["x"][0], values)
    np.testing.assert_array_equal(found["x"][1]["deep"], values[0])
    assert (found["prompt"], found["n"], found["none"]) == ("lift", 3, None)
    assert unpack_message(pack_message(np.zeros((0, 8)))).shape == (0, 8)


@pytest.mark.parametrize("value", [np.array([object()]), np.array([1j]), {1, 2}])
def test_what_cannot_be_sent_is_refused(value: object) -> None:
    with pytest.raises(InputError, match="cannot hold"):
        pack_message({"a": value})


@pytest.mark.parametrize(
    "data",
    [
        b"",
        ARRAY[:-3],
        ARRAY[:-1] + b"\x03",  # more numbers than there are bytes
        ARRAY.replace(b"<f4", b"|O8"),
        ARRAY.replace(b"<f4", b"zzz"),
    ],
)
def test_broken_messages_are_errors(data: bytes) -> None:
    with pytest.raises(InputError, match="not a message"):
        unpack_message(data)
