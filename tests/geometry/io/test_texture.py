"""Texture bytes: lossless where they can be, and errors that name the texture."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from kin4d.errors import InputError
from kin4d.geometry.io.texture import decode_image, encode_image

NOISE = Image.fromarray(np.random.default_rng(0).integers(0, 256, (9, 7, 4), np.uint8))


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "YCbCr", "HSV"])
def test_pngs_are_lossless(mode):
    image = NOISE.convert(mode)
    encoded = encode_image(image)
    assert (encoded.suffix, encoded.mime) == (".png", "image/png")
    again = decode_image(encoded.data)
    if mode in ("CMYK", "YCbCr", "HSV"):
        image = image.convert("RGB")
    assert (again.mode, again.convert("RGBA").tobytes()) == (
        image.mode,
        image.convert("RGBA").tobytes(),
    )


def test_jpegs_stay_as_they_are():
    buffer = io.BytesIO()
    NOISE.convert("RGB").save(buffer, "JPEG", quality=70)
    photo = decode_image(buffer.getvalue())
    encoded = encode_image(photo)
    assert (encoded.suffix, encoded.mime) == (".jpg", "image/jpeg")
    assert encoded.data == buffer.getvalue()
    # A changed image is no longer that file.
    turned = photo.rotate(90)
    assert decode_image(encode_image(turned).data).tobytes() == turned.tobytes()


def test_jpegs_opened_elsewhere_stay_jpegs():
    shade = np.linspace(0, 255, 64 * 64 * 3).reshape(64, 64, 3).astype(np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(shade).save(buffer, "JPEG", quality=90)
    photo = Image.open(buffer)
    encoded = encode_image(photo)
    assert encoded.suffix == ".jpg"
    difference = np.asarray(decode_image(encoded.data)).astype(int) - np.asarray(photo)
    assert np.abs(difference).max() <= 3


@pytest.mark.parametrize("damage", [b"", b"text", encode_image(NOISE).data[:60]])
def test_damage_is_named(damage):
    with pytest.raises(InputError, match="door_normal"):
        decode_image(damage, name="door_normal")
