"""Messages of the openpi protocol: msgpack, with numpy arrays as maps of bytes keys.

An array is `{b"__ndarray__": True, b"data": bytes, b"dtype": "<f4", b"shape": [...]}`, a numpy
scalar `{b"__npgeneric__": True, b"data": number, b"dtype": "<f4"}`. Objects, structures and complex
numbers are refused; nothing is ever pickled.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kin4d.errors import InputError
from kin4d.extras import require

_REFUSED = "VOc"  # kinds of dtypes


def pack_message(message: Any) -> bytes:
    """A message as bytes: dicts, lists, text, numbers and numpy arrays."""
    try:
        return _msgpack().packb(message, default=_pack_array)
    except TypeError as error:
        raise InputError(
            f"a message cannot hold this: {error}", allowed="dicts, lists, text, numbers, arrays"
        ) from None


def unpack_message(data: bytes) -> Any:
    """The message of bytes; arrays are read-only views of them."""
    msgpack = _msgpack()
    try:
        return msgpack.unpackb(data, object_hook=_unpack_array)
    except (ValueError, TypeError, KeyError, msgpack.exceptions.UnpackException) as error:
        raise InputError(f"these bytes are not a message of the openpi protocol: {error}") from None


def _msgpack() -> Any:
    return require("msgpack", extra="policies", purpose="speaking with policy servers")


def _pack_array(value: Any) -> Any:
    if not isinstance(value, np.ndarray | np.generic):
        raise TypeError(type(value).__name__)
    if value.dtype.kind in _REFUSED:
        raise TypeError(f"an array of dtype {value.dtype}")
    if isinstance(value, np.ndarray):
        return {
            b"__ndarray__": True,
            b"data": value.tobytes(),
            b"dtype": value.dtype.str,
            b"shape": value.shape,
        }
    return {b"__npgeneric__": True, b"data": value.item(), b"dtype": value.dtype.str}


def _unpack_array(message: dict) -> Any:
    if b"__ndarray__" not in message and b"__npgeneric__" not in message:
        return message
    dtype = np.dtype(message[b"dtype"])
    if dtype.kind in _REFUSED:
        raise TypeError(f"an array of dtype {dtype}")
    if b"__npgeneric__" in message:
        return dtype.type(message[b"data"])
    shape, data = tuple(message[b"shape"]), message[b"data"]
    if any(size < 0 for size in shape) or math.prod(shape) * dtype.itemsize != len(data):
        raise ValueError(f"{len(data)} bytes for an array {shape} of {dtype}")
    return np.frombuffer(data, dtype).reshape(shape)
