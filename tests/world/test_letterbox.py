"""Letterbox: any image at the size of a model, its camera with it."""

import numpy as np
import pytest

from kin4d.errors import InputError
from kin4d.geometry.camera import Camera
from kin4d.geometry.pointmap import PointmapVideo
from kin4d.world.letterbox import Letterbox

CAMERA = Camera.look_at((1.0, -0.6, 0.7), (0, 0, 0.1), width=640, height=360)


def test_points_keep_their_position_in_the_image():
    box = Letterbox.of(CAMERA, height=64, width=96)
    assert (box.height, box.width, box.top) == (54, 96, 5)
    assert not box.fills
    pixel, _ = CAMERA.project(np.array([0.05, 0.1, 0.0]))
    inside, _ = box.camera.project(np.array([0.05, 0.1, 0.0]))
    np.testing.assert_allclose((pixel + 0.5) * 96 / 640 + [0, 5], inside + 0.5, atol=1e-9)


def test_images_keep_their_colours_and_margins_repeat_the_edge():
    image = np.full((360, 640, 3), (10, 200, 90), np.uint8)
    put = Letterbox.of(CAMERA, height=64, width=96).put(image)
    assert put.shape == (64, 96, 3)
    assert (put == [10, 200, 90]).all()
    with pytest.raises(InputError, match="uint8"):
        Letterbox.of(CAMERA, height=64, width=96).put(image[..., 0])


def test_cropping_removes_the_margins():
    box = Letterbox.of(CAMERA, height=64, width=96)
    depth = np.full((360, 640), 1.5)
    depth[:9] = 0.0
    xyz = box.put_depth(depth)
    assert np.isnan(xyz[0]).all()
    video = PointmapVideo(
        rgb=np.zeros((2, 64, 96, 3), np.uint8),
        xyz=np.stack([xyz, xyz]),
        mask=np.zeros((2, 64, 96), np.uint8),
        camera=box.camera,
        fps=10.0,
    )
    cropped = box.crop(video)
    assert cropped.rgb.shape == (2, 54, 96, 3)
    np.testing.assert_allclose(cropped.xyz[0, 5], 1.5 * cropped.camera.rays()[5], rtol=1e-5)
