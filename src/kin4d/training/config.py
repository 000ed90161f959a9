"""Configs: frozen dataclasses of sizes and forms, back from the JSON that is kept with weights."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, TypeVar

from kin4d.errors import InputError

_Config = TypeVar("_Config")


def config_of(kind: type[_Config], values: dict[str, Any]) -> _Config:
    """A config of a dataclass from its JSON values; an unknown key means a newer version wrote it.

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
