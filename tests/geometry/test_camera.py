"""Camera: one convention, consistent between projecting, casting rays and resizing."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kin4d.errors import InputError
from kin4d.geometry.camera import Camera

ANY = st.tuples(*[st.floats(-5, 5)] * 3)
BOX = st.tuples(*[st.floats(0, 4)] * 3)
SIDE = st.integers(1, 40)


@settings(deadline=None)
@given(eye=ANY, target=ANY, fov=st.floats(5, 120), width=SIDE, height=SIDE)
def test_rays_and_projection_are_inverse(eye, target, fov, width, height):
    if np.linalg.norm(np.subtract(eye, target)) < 1e-3:
        return
    camera = Camera.look_at(eye, target, fov=fov, width=width, height=height)
    rays = camera.rays()
    assert rays.shape == (height, width, 3)
    depth = np.linspace(0.5, 3, height * width).reshape(height, width)
    pixels, seen = camera.project(camera.to_world(rays * depth[..., None]))
    u, v = np.meshgrid(np.arange(width), np.arange(height))
    np.testing.assert_allclose(pixels, np.stack([u, v], -1), atol=1e-6)
    np.testing.assert_allclose(seen, depth, rtol=1e-9)
    middle, distance = camera.project(np.array(target))
    np.testing.assert_allclose(middle, [(width - 1) / 2, (height - 1) / 2], atol=1e-6)
    assert distance == pytest.approx(np.linalg.norm(np.subtract(eye, target)))


def test_axes_are_opencv():
    camera = Camera.look_at((0, -5, 0), (0, 0, 0), width=101, height=101)
    right, _ = camera.project(np.array([1.0, 0, 0]))
    above, _ = camera.project(np.array([0, 0, 1.0]))
    assert right[0] > 50
    assert above[1] < 50
    np.testing.assert_allclose(camera.world_to_camera @ camera.pose, np.eye(4), atol=1e-12)


@pytest.mark.parametrize("up", [(0, 0, 1), (0, 0, -1), (0, 1, 0)])
def test_looking_along_up(up):
    camera = Camera.look_at(np.array(up) * 3.0, (0, 0, 0), up=up)
    assert np.linalg.det(camera.pose[:3, :3]) == pytest.approx(1)


@settings(deadline=None)
@given(factor=st.integers(1, 5), point=ANY)
def test_resized_sees_the_same(factor, point):
    camera = Camera.look_at((0, -9, 9), (0, 0, 0), width=12, height=8)
    large = camera.resized(12 * factor, 8 * factor)
    small, z = camera.project(np.array(point))
    big, z_again = large.project(np.array(point))
    # Pixel edges scale, pixel centres follow.
    np.testing.assert_allclose(big + 0.5, (small + 0.5) * factor, rtol=1e-9, atol=1e-9)
    assert z == z_again
    back = large.resized(12, 8)
    np.testing.assert_allclose(back.K, camera.K, atol=1e-9)


def test_behind_is_nan():
    camera = Camera.look_at((0, -5, 0), (0, 0, 0))
    pixels, depth = camera.project(np.array([[0, -6.0, 0], [0, 0, 0]]))
    assert np.isnan(pixels[0]).all()
    assert depth[0] < 0
    assert np.isfinite(pixels[1]).all()


@settings(deadline=None)
@given(low=ANY, size=BOX, width=st.integers(20, 90), fov=st.floats(10, 90))
def test_framing_sees_the_whole_box(low, size, width, fov):
    bounds = np.array([low, np.add(low, size)])
    camera = Camera.framing(bounds, width=width, height=50, fov=fov)
    corners = np.array(np.meshgrid(*bounds.T)).reshape(3, -1).T
    pixels, depth = camera.project(corners)
    assert (depth > 0).all()
    assert (pixels >= -0.5 - 1e-6).all()
    assert (pixels <= np.array([width, 50]) - 0.5 + 1e-6).all()


def test_round_trip_on_disk(tmp_path):
    camera = Camera.look_at((1, 2, 3), (0.1, 0.2, 0.3), fov=33, width=33, height=22)
    again = Camera.load(camera.save(tmp_path / "sub" / "camera.json"))
    np.testing.assert_array_equal(again.K, camera.K)
    np.testing.assert_array_equal(again.pose, camera.pose)
    assert (again.width, again.height) == (33, 22)
    assert "opencv" in json.loads((tmp_path / "sub" / "camera.json").read_text())["convention"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("not json", "not a readable JSON"),
        ("{}", "lacks K"),
        ("[]", "lacks K"),
        ('{"K": 1, "pose_camera_to_world": 2, "width": 3, "height": 4}', "3x3"),
        ('{"K": "x", "pose_camera_to_world": 2, "width": 3, "height": 4}', "not a readable camera"),
    ],
)
def test_bad_files_name_themselves(tmp_path, text, message):
    (tmp_path / "c.json").write_text(text)
    with pytest.raises(InputError, match=message) as error:
        Camera.load(tmp_path / "c.json")
    assert str(error.value).count("c.json") == 1


K = np.array([[10.0, 0, 5], [0, 10, 5], [0, 0, 1]])


@pytest.mark.parametrize(
    ("K", "pose", "size", "message"),
    [
        (np.eye(2), np.eye(4), (4, 4), "3x3"),
        (K * np.nan, np.eye(4), (4, 4), "finite"),
        (K * [[-1], [1], [1]], np.eye(4), (4, 4), "focal"),
        (K.T, np.eye(4), (4, 4), "not an intrinsic"),
        (K, np.eye(3), (4, 4), "4x4"),
        (K, np.diag([2, 1, 1, 1.0]), (4, 4), "not a rigid"),
        (K, np.diag([-1, 1, 1, 1.0]), (4, 4), "not a rigid"),
        (K, np.eye(4), (0, 4), "size must be positive"),
        (K, np.eye(4), (4, 4.5), "whole numbers"),
        (K, np.eye(4), (np.inf, 4), "whole numbers"),
    ],
)
def test_bad_cameras(K, pose, size, message):
    with pytest.raises(InputError, match=message):
        Camera(K, pose, *size)


def test_bad_views():
    with pytest.raises(InputError, match="coincide"):
        Camera.look_at((1, 1, 1), (1, 1, 1))
    for fov in (0, 180, -5, float("nan")):
        with pytest.raises(InputError, match="field of view"):
            Camera.look_at((1, 1, 1), (0, 0, 0), fov=fov)
