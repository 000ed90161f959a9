"""TextureFolder: a mesh's texture images as files in one folder, for formats that point at them."""

from __future__ import annotations

import re
from pathlib import Path

from kin4d.geometry.io.texture import EncodedImage, encode_image
from kin4d.geometry.material import SurfaceMaterial
from kin4d.geometry.mesh import Mesh


class TextureFolder:
    """The image files of a mesh's used materials; an image used by several is one file.

    Args:
        mesh: Without texture coordinates it has no use for textures, and there are none.
        name: The folder's name.

    Attributes:
        files: Encoded images by file name.
    """

    def __init__(self, mesh: Mesh, name: str) -> None:
        self.name = name
        self.files: dict[str, EncodedImage] = {}
        self._names: dict[int, str] = {}
        for material in mesh.materials if mesh.uv is not None else ():
            for slot, image in material.textures.items():
                if id(image) not in self._names:
                    encoded = encode_image(image)
                    label = re.sub(r"[^A-Za-z0-9_-]+", "_", f"{material.name}_{slot}")
                    file = f"{len(self.files):02d}_{label}{encoded.suffix}"
                    self.files[file], self._names[id(image)] = encoded, file

    def path(self, material: SurfaceMaterial, slot: str) -> str | None:
        """Where the image of a material's slot is, relative to the folder's parent; or None."""
        image = material.textures.get(slot)
        file = None if image is None else self._names.get(id(image))
        return None if file is None else f"{self.name}/{file}"

    def write(self, folder: Path) -> None:
        """Write all files into `folder`, which is made."""
        folder.mkdir(parents=True)
        for name, encoded in self.files.items():
            (folder / name).write_bytes(encoded.data)
