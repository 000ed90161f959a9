"""MTL: the materials of an OBJ, read and written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from kin4d.files import write_bytes
from kin4d.geometry.io.asset_paths import open_image, optional_path, warn_asset
from kin4d.geometry.io.texture import encode_image
from kin4d.geometry.material import SurfaceMaterial, linear_color, linear_to_srgb

if TYPE_CHECKING:
    from PIL.Image import Image

_MAPS = {"map_kd": "base_color", "map_ke": "emissive", "norm": "normal"}


def read_mtl(path: Path) -> dict[str, SurfaceMaterial]:
    """Materials by name.

    `Kd` and `Ke` are taken as screen colours (sRGB), as most programs write them, and a texture
    replaces `Kd`, which many exporters leave black beside one. `map_Kd`, `map_Ke` and `norm` are
    the maps that are kept; height maps (`bump`) have no place in metallic-roughness terms.
    """
    found: dict[str, dict[str, list[str]]] = {}
    current: dict[str, list[str]] = {}
    for line in path.read_bytes().decode("utf-8", "replace").splitlines():
        key, *values = line.partition("#")[0].split() or [""]
        if key == "newmtl":
            current = found.setdefault(" ".join(values), {})
        elif values:
            current[key.lower()] = values
    return {name: _material(path, name, spec) for name, spec in found.items()}


def _material(path: Path, name: str, spec: dict[str, list[str]]) -> SurfaceMaterial:
    def numbers(key: str, default: list[float]) -> list[float]:
        try:
            values = [float(value) for value in spec[key]]
        except (KeyError, ValueError):
            return default
        # One number stands for grey.
        return (values * 3)[:3] if len(default) == 3 and len(values) < 3 else values

    textures = {slot: _texture(path, spec[key]) for key, slot in _MAPS.items() if key in spec}
    textures = {slot: image for slot, image in textures.items() if image is not None}
    kd = [1.0] * 3 if "base_color" in textures else numbers("kd", [0.8] * 3)
    ke = [1.0] * 3 if "emissive" in textures else numbers("ke", [0.0] * 3)
    alpha = numbers("d", [1 - numbers("tr", [0.0])[0]])[0]
    shine = min(max(numbers("ns", [0.0])[0], 0.0), 1000.0)
    return SurfaceMaterial(
        name=name,
        base_color=linear_color([*kd[:3], alpha]),
        metallic=numbers("pm", [0.0])[0],
        # Blinn-Phong's exponent as roughness, the way Blender writes it.
        roughness=numbers("pr", [1 - (shine / 1000) ** 0.5 if "ns" in spec else 0.8])[0],
        emissive=linear_color(ke[:3])[:3],
        alpha_mode="BLEND" if alpha < 1 else "OPAQUE",
        textures=MappingProxyType(textures),
    )


def _texture(path: Path, words: list[str]) -> Image | None:
    """The image a map statement names; options such as ``-s 1 1 1`` come before the name."""
    # Without options the whole rest is the name, which may hold blanks.
    name = words[-1] if words[0].startswith("-") else " ".join(words)
    image_file = optional_path(path, "texture", name)
    return None if image_file is None else open_image(path, f"texture '{name}'", image_file)


def write_mtl(materials: Sequence[SurfaceMaterial], names: Iterable[str], path: Path) -> None:
    """Write an MTL and, beside it, its textures.

    Maps for which MTL has no agreed key (metallic-roughness, occlusion) are left out with a
    warning.
    """
    lines = []
    for index, (material, name) in enumerate(zip(materials, names, strict=True)):
        diffuse = [linear_to_srgb(channel) for channel in material.base_color[:3]]
        emissive = [linear_to_srgb(channel) for channel in material.emissive]
        lines += [
            f"newmtl {name}",
            "Kd " + " ".join(f"{channel:.9g}" for channel in diffuse),
            "Ke " + " ".join(f"{channel:.9g}" for channel in emissive),
            f"d {material.base_color[3]:.9g}",
            f"Pm {material.metallic:.9g}",
            f"Pr {material.roughness:.9g}",
        ]
        keys = {slot: key for key, slot in _MAPS.items()}
        for slot, image in material.textures.items():
            if slot not in keys:
                warn_asset(path, f"MTL cannot hold the {slot} texture of material {name}")
                continue
            encoded = encode_image(image)
            file = path.with_name(f"{path.stem}_{index}_{slot}{encoded.suffix}")
            write_bytes(file, encoded.data)
            lines.append(f"{keys[slot].replace('k', 'K')} {file.name}")
    write_bytes(path, ("\n".join(lines) + "\n").encode())
