"""Texture images as bytes: a JPEG stays that JPEG, everything else becomes a lossless PNG."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kin4d.errors import InputError

if TYPE_CHECKING:
    from PIL.Image import Image

_SOURCE = "kin4d source bytes"
_PNG_MODES = ("1", "L", "LA", "P", "RGB", "RGBA", "I;16")


@dataclass(frozen=True)
class EncodedImage:
    """A compressed image.

    Attributes:
        data: The bytes of a PNG or JPEG file.
        suffix: ``".png"`` or ``".jpg"``.
    """

    data: bytes
    suffix: str

    @property
    def mime(self) -> str:
        """Media type."""
        return "image/png" if self.suffix == ".png" else "image/jpeg"


def encode_image(image: Image) -> EncodedImage:
    """Compress `image`: one that was read from a JPEG as JPEG, everything else as PNG."""
    from PIL.JpegImagePlugin import JpegImageFile

    buffer = io.BytesIO()
    if isinstance(image, JpegImageFile) and image.mode in ("L", "RGB"):
        if _SOURCE in image.info:
            return EncodedImage(image.info[_SOURCE], ".jpg")
        image.save(buffer, "JPEG", quality="keep")
        return EncodedImage(buffer.getvalue(), ".jpg")
    if image.mode not in _PNG_MODES:
        image = image.convert("RGBA" if "A" in image.getbands() else "RGB")
    image.save(buffer, "PNG")
    return EncodedImage(buffer.getvalue(), ".png")


def decode_image(data: bytes, *, name: str = "texture") -> Image:
    """The image in the bytes of a file; `name` is for the error if they cannot be read.

    A JPEG remembers its bytes, so that writing it again loses nothing.
    """
    import PIL.Image

    try:
        image = PIL.Image.open(io.BytesIO(data))
        image.load()
    except (OSError, SyntaxError, ValueError, PIL.Image.DecompressionBombError) as error:
        raise InputError(f"{name} is not a readable image: {error}") from error
    if image.format == "JPEG":
        image.info[_SOURCE] = data
    return image
