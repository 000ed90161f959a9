"""Materials and textures in a glTF document."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from kin4d.export.glb import GlbBuilder
from kin4d.geometry.io.texture import encode_image
from kin4d.geometry.material import TEXTURE_SLOTS, SurfaceMaterial

if TYPE_CHECKING:
    from PIL.Image import Image


class MaterialTable:
    """Adds materials to a document; an image used by several is stored once.

    Args:
        builder: The document.
        textured: Whether the mesh has texture coordinates; without, textures are left out.
    """

    def __init__(self, builder: GlbBuilder, *, textured: bool) -> None:
        self._builder = builder
        self._textured = textured
        self._textures: dict[int, int] = {}

    def add(self, material: SurfaceMaterial) -> int:
        """Add `material`; returns its index."""
        textures = material.textures if self._textured else {}
        surface: dict[str, Any] = {
            "baseColorFactor": _unit(material.base_color),
            "metallicFactor": _unit([material.metallic])[0],
            "roughnessFactor": _unit([material.roughness])[0],
        }
        entry: dict[str, Any] = {
            "name": material.name,
            "pbrMetallicRoughness": surface,
            "emissiveFactor": _unit(material.emissive),
            "doubleSided": material.double_sided,
            "alphaMode": material.alpha_mode,
        }
        if material.alpha_mode == "MASK":
            entry["alphaCutoff"] = material.alpha_cutoff
        for slot, image in textures.items():
            where = surface if slot in ("base_color", "metallic_roughness") else entry
            where[TEXTURE_SLOTS[slot]] = {"index": self._texture(image)}
        return self._builder.add("materials", entry)

    def _texture(self, image: Image) -> int:
        if id(image) not in self._textures:
            encoded = encode_image(image)
            if not self._builder.document.get("samplers"):
                linear, linear_mipmap_linear, repeat = 9729, 9987, 10497
                self._builder.add(
                    "samplers",
                    {
                        "magFilter": linear,
                        "minFilter": linear_mipmap_linear,
                        "wrapS": repeat,
                        "wrapT": repeat,
                    },
                )
            view = self._builder.blob(encoded.data)
            source = self._builder.add("images", {"bufferView": view, "mimeType": encoded.mime})
            texture = self._builder.add("textures", {"sampler": 0, "source": source})
            self._textures[id(image)] = texture
        return self._textures[id(image)]


def _unit(values: Iterable[float]) -> list[float]:
    """Factors clipped to the range glTF allows."""
    return np.clip(np.asarray(list(values), float), 0.0, 1.0).tolist()
