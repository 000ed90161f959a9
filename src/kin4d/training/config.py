"""Configs: frozen dataclasses, read from the JSON in weights, or made from a preset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar

from kin4d.errors import InputError

_Config = TypeVar("_Config")


def config_of(kind: type[_Config], values: dict[str, Any]) -> _Config:
    """A config from its JSON values; unknown keys, which newer versions write, are refused.

    Args:
        kind: The dataclass. JSON's lists become tuples, as frozen dataclasses have them.
        values: By name.
    """
    known = {field.name for field in fields(kind)}  # pyright: ignore[reportArgumentType]
    unknown = sorted(set(values) - known)
    if unknown:
        raise InputError(
            "model config has keys this version does not know",
            value=unknown,
            allowed=", ".join(sorted(known)),
            hint="upgrade kin4d",
        )
    return kind(**{key: tuple(v) if isinstance(v, list) else v for key, v in values.items()})


def config_of_preset(presets: Mapping[str, _Config], name: str, **changes: Any) -> _Config:
    """The config of a preset, with the changes that are not None."""
    if name not in presets:
        raise InputError("there is no such preset", value=name, allowed=", ".join(presets))
    given = {key: value for key, value in changes.items() if value is not None}
    return replace(presets[name], **given)  # pyright: ignore[reportArgumentType]
