"""Material: how a surface looks, in glTF's metallic-roughness terms, carried through untouched."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from kin4d.errors import InputError

if TYPE_CHECKING:
    from PIL.Image import Image

# What glTF calls the texture of each slot.
TEXTURE_SLOTS = {
    "base_color": "baseColorTexture",
    "metallic_roughness": "metallicRoughnessTexture",
    "normal": "normalTexture",
    "occlusion": "occlusionTexture",
    "emissive": "emissiveTexture",
}


@dataclass(frozen=True, eq=False)
class SurfaceMaterial:
    """A surface's appearance.

    Attributes:
        name: The source's name for it.
        base_color: Linear RGBA factors in [0, 1], multiplied with the base colour texture.
        metallic: 0 (dielectric) to 1 (metal).
        roughness: 0 (mirror) to 1 (matt).
        emissive: Linear RGB emitted, in [0, 1].
        double_sided: Whether back faces are drawn.
        alpha_mode: ``"OPAQUE"``, ``"MASK"`` or ``"BLEND"``.
        alpha_cutoff: Threshold of ``"MASK"``.
        textures: Images by slot; slots are the keys of `TEXTURE_SLOTS`.
    """

    name: str = "material"
    base_color: tuple[float, float, float, float] = (0.8, 0.8, 0.8, 1.0)
    metallic: float = 0.0
    roughness: float = 0.8
    emissive: tuple[float, float, float] = (0.0, 0.0, 0.0)
    double_sided: bool = True
    alpha_mode: str = "OPAQUE"
    alpha_cutoff: float = 0.5
    textures: Mapping[str, Image] = field(default_factory=lambda: MappingProxyType({}))


def srgb_to_linear(value: np.ndarray | float) -> np.ndarray:
    """Channels as screens and image files encode them, in [0, 1], to linear light."""
    curve = ((np.maximum(value, 0.04045) + 0.055) / 1.055) ** 2.4
    return np.where(np.less_equal(value, 0.04045), value / 12.92, curve)[()]


def linear_to_srgb(value: np.ndarray | float) -> np.ndarray:
    """Inverse of `srgb_to_linear`."""
    curve = 1.055 * np.maximum(value, 0.0031308) ** (1 / 2.4) - 0.055
    return np.where(np.less_equal(value, 0.0031308), value * 12.92, curve)[()]


def linear_colors(colors: np.ndarray) -> np.ndarray:
    """Vertex colours [V, 4] uint8 (sRGB and alpha) to linear [V, 4] float64 in [0, 1]."""
    levels = np.arange(256) / 255
    return np.concatenate([srgb_to_linear(levels)[colors[:, :3]], levels[colors[:, 3:]]], axis=1)


def srgb_colors(linear: np.ndarray) -> np.ndarray:
    """Inverse of `linear_colors`; values outside [0, 1] are clipped."""
    linear = np.clip(linear, 0, 1)
    encoded = np.concatenate([linear_to_srgb(linear[:, :3]), linear[:, 3:]], axis=1)
    return np.rint(255 * encoded).astype(np.uint8)


def linear_color(rgba: Iterable[float]) -> tuple[float, float, float, float]:
    """sRGB (or sRGB and alpha) in [0, 1] to linear RGBA factors."""
    values = [float(min(max(value, 0.0), 1.0)) for value in rgba]
    red, green, blue = (float(srgb_to_linear(value)) for value in values[:3])
    return (red, green, blue, values[3] if len(values) > 3 else 1.0)


def hex_color(color: str) -> tuple[float, float, float, float]:
    """``"#rrggbb"`` (sRGB) to linear RGBA factors."""
    if not re.fullmatch("#[0-9a-fA-F]{6}", color):
        raise InputError("not a colour", value=color, allowed="#rrggbb")
    return linear_color(int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))
