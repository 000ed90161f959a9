"""Ranges of the numbers that options take, and the one place where they are checked."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass
from typing import Annotated, Any, get_args, get_type_hints

from kin4d.errors import InputError


@dataclass(frozen=True)
class Range:
    """Numbers that an option takes, both ends included; NaN is in no range."""

    low: float
    high: float

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def __str__(self) -> str:
        return f"{self.low:.10g} to {self.high:.10g}"


AnyInt = Annotated[int, Range(-(10**15), 10**15)]
Natural = Annotated[int, Range(0, 10**15)]
Pixels = Annotated[int, Range(1, 10**15)]
"""Of a side of an image; whether it fits is checked against memory."""
Count = Annotated[int, Range(1, 10**7)]
SurfacePoints = Annotated[int, Range(32, 10**6)]
"""Of a shape; a network cannot tell a rotation from fewer."""
Seed = Annotated[int, Range(0, 2**31 - 1)]
Workers = Annotated[int, Range(0, 1024)]
Threads = Annotated[int, Range(1, 1024)]
Port = Annotated[int, Range(0, 2**16 - 1)]
Fps = Annotated[float, Range(0.01, 1000)]
"""Frames per second."""
Seconds = Annotated[float, Range(0, 1e6)]
Timeout = Annotated[float, Range(1e-3, 1e6)]
"""s."""
Step = Annotated[float, Range(1e-6, 1)]
"""Of a simulation, s."""
Share = Annotated[float, Range(0, 1)]
LearningRate = Annotated[float, Range(1e-12, 100)]
Metres = Annotated[float, Range(1e-6, 1e6)]
Height = Annotated[float, Range(0, 1e6)]
"""Above a floor, m."""
Elevation = Annotated[float, Range(-5, 5)]
"""Of a table, above or below a robot's base, m."""
Speed = Annotated[float, Range(-1e3, 1e3)]
"""Along an axis, m/s."""
FocalLength = Annotated[float, Range(1e-3, 1e9)]
"""Pixels."""
Reading = Annotated[float, Range(-1e9, 1e9)]
"""Of a sensor, in any unit."""


def with_checked_ranges(command: Callable[..., None]) -> Callable[..., None]:
    """A command that refuses numbers beyond the ranges its signature states."""

    @functools.wraps(command)
    def checked(*positional: Any, **options: Any) -> None:
        hints = get_type_hints(command, include_extras=True)
        for name, value in {**dict(zip(hints, positional, strict=False)), **options}.items():
            _check(name, value, hints[name])
        command(*positional, **options)

    return checked


def ranges_of(hint: Any) -> list[Range]:
    """Ranges in a type hint, however deep."""
    if isinstance(hint, Range):
        return [hint]
    return [found for argument in get_args(hint) for found in ranges_of(argument)]


def _check(name: str, value: Any, hint: Any) -> None:
    if is_dataclass(value):
        for field, inner in get_type_hints(type(value), include_extras=True).items():
            _check(field, getattr(value, field), inner)
        return
    for allowed in ranges_of(hint):
        for number in value if isinstance(value, tuple) else (value,):
            if number is not None and number not in allowed:
                flag = "--" + name.replace("_", "-")
                raise InputError(f"{flag} is out of range", value=number, allowed=str(allowed))
