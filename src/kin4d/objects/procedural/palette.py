"""Colours of materials, each a family with some spread; sRGB, 0 to 255."""

from __future__ import annotations

from dataclasses import dataclass

from kin4d.objects.procedural.builder import Builder
from kin4d.objects.procedural.parts import Color

_FAMILIES: dict[str, tuple[Color, ...]] = {
    "wood": ((181, 136, 92), (139, 94, 60), (206, 170, 125), (96, 64, 44), (222, 196, 158)),
    "paint": ((240, 238, 232), (214, 222, 226), (120, 140, 150), (62, 84, 102), (168, 182, 152)),
    "appliance": ((236, 236, 236), (196, 199, 203), (52, 54, 58), (178, 182, 188), (222, 216, 204)),
    "metal": ((170, 174, 180), (140, 143, 150), (198, 200, 204), (108, 110, 116), (190, 160, 104)),
    "dark": ((40, 40, 44), (58, 60, 66), (30, 32, 38), (72, 66, 62)),
    "plastic": (
        (196, 62, 52), (52, 104, 176), (66, 142, 88), (232, 186, 64), (238, 238, 236),
        (92, 92, 98), (226, 126, 54), (120, 78, 150), (80, 160, 170), (224, 160, 170),
    ),
    "glass": ((168, 198, 210), (150, 186, 190), (186, 206, 214)),
    "ceramic": ((244, 243, 238), (232, 228, 218), (214, 224, 226)),
    "fabric": ((70, 74, 84), (120, 60, 56), (62, 84, 70), (150, 140, 126), (46, 54, 80)),
}  # fmt: skip


def sample_color(make: Builder, *families: str) -> Color:
    """A colour of one of the `families`, varied a little."""
    red, green, blue = make.pick(*_FAMILIES[make.pick(*families)])
    shade = make.between(0.9, 1.06)
    return tuple(min(255, int(c * shade)) for c in (red, green, blue))  # pyright: ignore[reportReturnType]


def shaded(color: Color, factor: float = 0.8) -> Color:
    """The same hue with less light, or with more if `factor` > 1."""
    return tuple(min(255, int(c * factor)) for c in color)  # pyright: ignore[reportReturnType]


@dataclass(frozen=True, slots=True)
class ColorScheme:
    """The colours one piece of furniture or appliance is made in."""

    body: Color
    front: Color
    accent: Color
    inside: Color


def sample_color_scheme(make: Builder, *families: str) -> ColorScheme:
    """Body of one of the `families`; fronts alike or in contrast; metal or dark fittings."""
    body = sample_color(make, *families)
    front = body if make.chance(0.6) else sample_color(make, *families)
    inside = shaded(body, 0.85) if make.chance(0.6) else sample_color(make, "appliance", "paint")
    return ColorScheme(body, front, sample_color(make, "metal", "dark"), inside)
