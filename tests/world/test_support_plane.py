"""The plane that objects rest on: found in depth, guessed from the robot, or given."""

from dataclasses import replace

import numpy as np
import pytest

from kin4d.episodes.store import shipped_episodes
from kin4d.errors import InputError
from kin4d.geometry.camera import Camera
from kin4d.world.episode_observation import episode_observation
from kin4d.world.support_plane import (
    SupportPlane,
    choose_support,
    find_support,
    find_support_planes,
    guess_support,
    with_support,
)

CAMERA = Camera.look_at((1.0, -0.8, 0.9), (0.4, 0.0, 0.0), width=96, height=64)


def plane_image(normal: np.ndarray, height: float, below: float = -0.8) -> np.ndarray:
    """[H, W, 3] m: a tabletop 0.8 m wide, and a floor."""
    rays = CAMERA.rays() @ CAMERA.pose[:3, :3].T
    eye = CAMERA.pose[:3, 3]
    table = eye + rays * ((height - normal @ eye) / (rays @ normal))[..., None]
    floor = eye + rays * ((below - eye[2]) / rays[..., 2])[..., None]
    on_table = (np.abs(table[..., :2] - (0.4, 0.0)) < 0.4).all(-1)
    return np.where(on_table[..., None], table, floor)


@pytest.mark.parametrize("height", [-0.3, -0.112, 0.0, 0.3])
def test_tables_of_any_height_are_found_among_others_with_noise_and_holes(height: float):
    rng = np.random.default_rng(0)
    up = np.array([0.0, 0.0, 1.0])
    xyz = plane_image(up, height)
    xyz += rng.normal(0, 0.002, xyz.shape)
    xyz[rng.random(xyz.shape[:2]) < 0.1] = np.nan
    visible = np.ones(xyz.shape[:2], bool)
    planes = find_support_planes(xyz, visible)
    assert {round(plane.height, 1) for plane in planes} == {round(height, 1), -0.8}
    path = np.array([[0.4, 0.1, height + 0.2], [0.4, 0.0, height + 0.01]])
    chosen = choose_support(planes, xyz, path)
    assert chosen is not None
    assert chosen.height == pytest.approx(height, abs=0.003)
    assert chosen.source == "depth"


def test_a_tilted_table_keeps_its_tilt():
    normal = np.array([0.08, 0.0, 1.0]) / np.hypot(0.08, 1.0)
    xyz = plane_image(normal, -0.05)
    chosen = choose_support(
        find_support_planes(xyz, np.ones(xyz.shape[:2], bool)), xyz, np.array([[0.4, 0.0, 0.05]])
    )
    assert chosen is not None
    np.testing.assert_allclose(chosen.normal, normal, atol=0.01)
    on_it = np.array([0.4, 0.1, 0.0])
    on_it[2] = (chosen.height - chosen.normal[:2] @ on_it[:2]) / chosen.normal[2]
    assert (np.linalg.inv(chosen.frame) @ [*on_it, 1.0])[2] == pytest.approx(0.0, abs=1e-9)


def test_without_a_surface_below_the_hand_there_is_none():
    xyz = plane_image(np.array([0.0, 0.0, 1.0]), 0.0)
    planes = find_support_planes(xyz, np.ones(xyz.shape[:2], bool))
    assert choose_support(planes, xyz, np.array([[0.4, 0.0, -1.2]])) is None
    assert find_support_planes(np.full_like(xyz, np.nan), np.ones(xyz.shape[:2], bool)) == []


@pytest.mark.parametrize(
    ("lowest", "source", "height"), [(0.01, "base", 0.0), (-0.1, "robot", -0.11)]
)
def test_without_depth_the_hand_tells(lowest: float, source: str, height: float):
    plane = guess_support(np.array([[0.4, 0.0, 0.3], [0.4, 0.0, lowest]]))
    assert (plane.source, plane.height) == (source, pytest.approx(height))


@pytest.mark.parametrize("number", range(4))
def test_in_episodes_it_is_the_table_whatever_the_base(number: int):
    observation = episode_observation(shipped_episodes().episode(number))
    found = find_support(observation)
    assert found is not None
    assert found.height == pytest.approx(0.0, abs=0.004)
    lowered = np.eye(4)
    lowered[2, 3] = 0.2
    raised = replace(observation, base_in_camera=observation.base_in_camera @ lowered)
    again = find_support(raised)
    assert again is not None
    assert again.height == pytest.approx(-0.2, abs=0.004)
    np.testing.assert_allclose(
        with_support(raised, again).support_in_camera[:3, 2],
        observation.support_in_camera[:3, 2],
        atol=0.03,
    )


def test_given_planes_are_read_and_checked(tmp_path):
    file = tmp_path / "plane.json"
    file.write_text('{"normal": [0, 0, 2], "point": [1, 2, -0.1]}')
    assert SupportPlane.load(file).height == pytest.approx(-0.1)
    np.testing.assert_allclose(SupportPlane.load(file).frame[:3, 3], [0, 0, -0.1], atol=1e-12)
    for text, message in (
        ('{"normal": [1, 0, 0], "point": [0, 0, 0]}', "about horizontal"),
        ('{"normal": [0, 0, 0], "point": [0, 0, 0]}', "not zero"),
        ('{"point": [0, 0, 0]}', "normal"),
    ):
        file.write_text(text)
        with pytest.raises(InputError, match=message):
            SupportPlane.load(file)
    with pytest.raises(InputError, match="height of the table"):
        SupportPlane.at_height(-112.0)
