"""Clips to write."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from kin4d.bodies import hinge, play, sweep
from kin4d.geometry.clip import Clip
from kin4d.geometry.material import Material
from kin4d.geometry.mesh import Mesh


def picture(seed: int, mode: str = "RGB", size: tuple[int, int] = (8, 4)) -> Image.Image:
    """Random pixels: nothing about them survives by luck."""
    channels = len(Image.new(mode, (1, 1)).getbands())
    pixels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], channels), np.uint8)
    return Image.fromarray(pixels[..., 0] if channels == 1 else pixels)


@pytest.fixture
def door() -> Clip:
    """A skinned clip: a door that opens and closes in its frame."""
    body = hinge()
    return play(body, sweep(body, frames=12), fps=30.0)


@pytest.fixture
def cloth() -> Clip:
    """A deforming clip: two textured, coloured quads with two materials of all slots."""
    vertices = np.array(
        [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [2, 0, 0], [2, 1, 0.5]], np.float64
    )
    faces = np.array([[0, 1, 2], [0, 2, 3], [1, 4, 5], [1, 5, 2]])
    random = np.random.default_rng(5)
    shared = picture(1)
    full = Material(
        name="all slots",
        base_color=(0.9, 0.5, 0.25, 1.0),
        metallic=0.25,
        roughness=0.75,
        emissive=(0.1, 0.2, 0.3),
        textures={
            "base_color": shared,
            "metallic_roughness": picture(2),
            "normal": picture(3),
            "occlusion": picture(4, "L"),
            "emissive": picture(5),
        },
    )
    glass = Material(
        name="glass",
        base_color=(1, 1, 1, 0.5),
        double_sided=False,
        alpha_mode="MASK",
        alpha_cutoff=0.4,
        textures={"base_color": picture(6, "RGBA"), "emissive": shared},
    )
    mesh = Mesh(
        vertices=vertices,
        faces=faces,
        uv=random.random((6, 2)),
        colors=random.integers(0, 256, (6, 4)),
        materials=(full, glass),
        face_material=np.array([0, 0, 1, 1]),
        parts=("left", "right"),
        face_part=np.array([0, 0, 1, 1]),
        name="my cloth",
    )
    moving = vertices + random.normal(size=(5, 6, 3)) * 0.1
    return Clip(mesh=mesh, vertices=moving, fps=12.5, diagnostics={"energy": np.arange(5.0)})
