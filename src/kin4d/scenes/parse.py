"""From the plain data of a file to frozen dataclasses: keys, types and ranges are checked here."""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from kin4d.errors import InputError
from kin4d.scenes.schema import Interval

T = TypeVar("T")


def parse(kind: type[T], data: Any, where: str) -> T:
    """`data` as a dataclass of type `kind`, or an `InputError` that says where it is wrong.

    Args:
        kind: A dataclass whose fields are numbers, text, tuples, mappings and dataclasses.
        data: Mappings, lists, numbers, text and None, as YAML and JSON give them.
        where: The place in the file, for people.
    """
    if not isinstance(data, Mapping):
        raise InputError(f"{where} is not a mapping", value=data, allowed="keys with values")
    hints = get_type_hints(kind, include_extras=True)
    for key in data:
        if key not in hints:
            near = get_close_matches(str(key), hints, n=1)
            raise InputError(
                f"{where} has an unknown key",
                value=key,
                allowed=", ".join(hints),
                hint=f"did you mean '{near[0]}'?" if near else None,
            )
    for item in dataclasses.fields(kind):  # pyright: ignore[reportArgumentType]
        required = item.default is dataclasses.MISSING
        if required and item.default_factory is dataclasses.MISSING and item.name not in data:
            raise InputError(f"{where} has no '{item.name}'", hint=f"add the key '{item.name}'")
    return kind(**{key: _value(hints[key], data[key], f"{where}.{key}") for key in data})


def _value(kind: Any, data: Any, where: str) -> Any:
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        if data is None and type(None) in inner:
            return None
        return _value(next(one for one in inner if one is not type(None)), data, where)
    if origin is Annotated:
        return _in_range(_value(inner[0], data, where), inner[1], where)
    if origin is Literal:
        if data not in inner:
            raise InputError(where, value=data, allowed=", ".join(map(str, inner)))
        return data
    if origin is tuple:
        return _items(inner, data, where)
    if origin is dict:
        if not isinstance(data, Mapping):
            raise InputError(f"{where} is not a mapping", value=data, allowed="names with values")
        return {str(name): _value(inner[1], one, f"{where}.{name}") for name, one in data.items()}
    if dataclasses.is_dataclass(kind):
        return parse(kind, data, where)  # pyright: ignore[reportArgumentType]
    return _plain(kind, data, where)


def _items(inner: tuple[Any, ...], data: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(data, list | tuple):
        raise InputError(f"{where} is not a list", value=data)
    if inner[-1] is Ellipsis:
        return tuple(_value(inner[0], one, f"{where}[{i}]") for i, one in enumerate(data))
    if len(data) != len(inner):
        raise InputError(where, value=data, allowed=f"a list of {len(inner)}")
    pairs = zip(inner, data, strict=True)
    return tuple(_value(one, item, f"{where}[{i}]") for i, (one, item) in enumerate(pairs))


def _plain(kind: type, data: Any, where: str) -> Any:
    """A bool, int, float or str; true is not a number and a number is not text."""
    if kind is float and isinstance(data, int | float) and not isinstance(data, bool):
        if not math.isfinite(data):
            raise InputError(where, value=data, allowed="a finite number")
        return float(data)
    if type(data) is not kind:
        names = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
        raise InputError(where, value=data, allowed=names[kind])
    return data


def _in_range(value: Any, allowed: Interval, where: str) -> Any:
    below = value <= allowed.low if allowed.open else value < allowed.low
    if below or value > allowed.high:
        text = f"> {allowed.low:g}" if allowed.open else f">= {allowed.low:g}"
        text += "" if math.isinf(allowed.high) else f" and <= {allowed.high:g}"
        raise InputError(where, value=value, allowed=text)
    return value
