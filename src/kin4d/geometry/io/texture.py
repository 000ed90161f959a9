"""Texture images as bytes: a JPEG stays that JPEG, everything else becomes a lossless PNG."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kin4d.reading import Budget, check_pixels, reading

if TYPE_CHECKING:
    import numpy as np
    from PIL.Image import Image

_SOURCE = "kin4d source bytes"
# Not EPS and the like, which Pillow hands to other programs.
_READS = ("PNG", "JPEG", "WEBP", "TIFF", "BMP", "TGA", "GIF", "PPM", "DDS")
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


def decode_stack(encoded: Sequence[bytes], *, name: str, rgb: bool = False) -> np.ndarray:
    """[T, H, W] or [T, H, W, C]: images of one size, from the bytes of their files.

    `name` is for the error if they cannot be read; `rgb` converts them to three channels.
    """
    import numpy as np

    budget = Budget(name, size=sum(map(len, encoded)))
    images = []
    with reading(name, "row of images"):
        for one in encoded:
            image = decode_image(one, name=name)
            images.append(np.asarray(image.convert("RGB") if rgb else image))
            budget.spend(2 * images[-1].nbytes, "all of it")
        return np.stack(images)


def decode_image(data: bytes, *, name: str = "texture") -> Image:
    """The image in the bytes of a file; `name` is for the error if they cannot be read.

    A JPEG remembers its bytes, so that writing it again loses nothing.
    """
    import PIL.Image

    with reading(name, "image"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PIL.Image.DecompressionBombWarning)
            image = PIL.Image.open(io.BytesIO(data), formats=_READS)
        check_pixels(*image.size)
        image.load()
    if image.format == "JPEG":
        image.info[_SOURCE] = data
    return image
