"""Colours: what files mean by their numbers."""

from __future__ import annotations

import numpy as np

from kin4d.geometry.material import linear_colors, linear_to_srgb, srgb_colors, srgb_to_linear


def test_every_byte_comes_back() -> None:
    colors = np.repeat(np.arange(256, dtype=np.uint8)[:, None], 4, axis=1)
    linear = linear_colors(colors)
    np.testing.assert_array_equal(srgb_colors(linear), colors)
    np.testing.assert_allclose(linear[:, 3], np.arange(256) / 255)
    assert (np.diff(linear[:, 0]) > 0).all()


def test_sixteen_bits_are_enough() -> None:
    colors = np.repeat(np.arange(256, dtype=np.uint8)[:, None], 4, axis=1)
    stored = np.rint(65535 * linear_colors(colors)) / 65535
    np.testing.assert_array_equal(srgb_colors(stored), colors)


def test_curve_of_the_standard() -> None:
    # IEC 61966-2-1: mid grey 0.5 is 0.2140 of the light.
    assert abs(srgb_to_linear(0.5) - 0.21404) < 1e-5
    assert abs(linear_to_srgb(srgb_to_linear(0.01)) - 0.01) < 1e-12
