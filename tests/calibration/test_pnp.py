from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kin4d.calibration.pnp import solve_camera
from kin4d.calibration.pnp_solver import perturbed, project_with_jacobian
from kin4d.errors import InputError
from kin4d.geometry.camera import Camera

WIDTH, HEIGHT = 320, 192


def view(
    seed: int, *, count: int = 12, noise: float = 0.0, aspect: float = 1.0
) -> tuple[Camera, np.ndarray, np.ndarray]:
    """A random camera, points in front of it, and their pixels."""
    rng = np.random.default_rng(seed)
    direction = rng.normal(size=3)
    eye = rng.uniform(1.3, 2.5) * direction / np.linalg.norm(direction)
    fov = rng.uniform(20, 55)
    camera = Camera.look_at(eye, rng.normal(size=3) * 0.1, fov=fov, width=WIDTH, height=HEIGHT)
    K = camera.K.copy()
    K[1, 1] = aspect * K[0, 0]
    camera = Camera(K, camera.pose, WIDTH, HEIGHT)
    points = rng.uniform(-0.4, 0.4, (count, 3))
    pixels = camera.project(points)[0] + noise * rng.normal(size=(count, 2))
    return camera, points, pixels


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10_000), st.booleans(), st.sampled_from([1.0, 1.0667]))
def test_exact_matches_give_the_camera(seed: int, known: bool, aspect: float) -> None:
    camera, points, pixels = view(seed, aspect=aspect)
    focal = float(camera.K[0, 0]) if known else None
    fit = solve_camera(points, pixels, WIDTH, HEIGHT, focal=focal, aspect=aspect, strict=False)
    assert fit.rms < 1e-6
    assert np.abs(fit.camera.pose - camera.pose).max() < 1e-6
    assert np.abs(fit.camera.K / np.where(camera.K == 0, 1, camera.K)).max() < 1 + 1e-6


def test_noisy_matches_stay_within_the_stated_deviations() -> None:
    misses = []
    for seed in range(12):
        camera, points, pixels = view(seed, noise=1.0)
        fit = solve_camera(points, pixels, WIDTH, HEIGHT, strict=False)
        position = (fit.camera.pose[:3, 3] - camera.pose[:3, 3]) / fit.position_std
        focal = (fit.camera.K[0, 0] - camera.K[0, 0]) / fit.focal_std
        misses += [*position, focal]
    misses = np.abs(misses)
    assert 0.5 < np.sqrt(np.mean(misses**2)) < 1.5
    assert misses.max() < 4.5


def test_one_wrong_click_among_many_is_outvoted_and_named() -> None:
    camera, points, pixels = view(3, count=20, noise=0.3)
    pixels[7] += (12.0, -9.0)
    fit = solve_camera(points, pixels, WIDTH, HEIGHT)
    assert fit.determined
    assert fit.distances.argmax() == 7
    assert np.linalg.norm(fit.camera.pose[:3, 3] - camera.pose[:3, 3]) < 0.1


def test_three_matches_are_refused() -> None:
    _, points, pixels = view(0, count=3)
    with pytest.raises(InputError, match=r"too few matches \(got 3\)"):
        solve_camera(points, pixels, WIDTH, HEIGHT)
    with pytest.raises(InputError, match="at least 5"):
        solve_camera(points, pixels, WIDTH, HEIGHT, focal=300.0)


def test_points_on_a_line_are_refused() -> None:
    camera, _, _ = view(0)
    points = np.linspace(-0.3, 0.3, 9)[:, None] * [1.0, 0.4, -0.2]
    with pytest.raises(InputError, match="on one line"):
        solve_camera(points, camera.project(points)[0], WIDTH, HEIGHT, focal=300.0)


def test_points_on_a_plane_need_the_focal_length() -> None:
    camera = Camera.look_at((0.8, -1.0, 1.1), (0, 0, 0), width=WIDTH, height=HEIGHT)
    points = np.random.default_rng(1).uniform(-0.4, 0.4, (10, 3)) * [1, 1, 0]
    pixels = camera.project(points)[0]
    with pytest.raises(InputError, match=r"one plane.*give the focal length"):
        solve_camera(points, pixels, WIDTH, HEIGHT)
    doubtful = solve_camera(points, pixels, WIDTH, HEIGHT, strict=False)
    assert not doubtful.determined
    fit = solve_camera(points, pixels, WIDTH, HEIGHT, focal=float(camera.K[0, 0]))
    assert np.abs(fit.camera.pose - camera.pose).max() < 1e-6


def test_wrong_matches_are_refused() -> None:
    _, points, pixels = view(5)
    shuffled = pixels[np.random.default_rng(0).permutation(len(pixels))]
    with pytest.raises(InputError, match=r"not determined: the matches disagree by .* px"):
        solve_camera(points, shuffled, WIDTH, HEIGHT)


def test_points_far_away_do_not_hold_the_position() -> None:
    camera = Camera.look_at((0, -30.0, 0), (0, 0, 0), fov=60, width=WIDTH, height=HEIGHT)
    points = np.random.default_rng(2).uniform(-0.3, 0.3, (8, 3))
    pixels = camera.project(points)[0]
    with pytest.raises(InputError, match=r"leave the .* open|different cameras"):
        solve_camera(points, pixels, WIDTH, HEIGHT)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"points": np.full((8, 3), np.nan)}, "NaN"),
        ({"pixels": np.zeros((7, 2))}, "as many points as pixels"),
        ({"focal": -1.0}, "focal length must be positive"),
        ({"aspect": 0.0}, "aspect must be positive"),
    ],
)
def test_bad_numbers_are_refused(change: dict, message: str) -> None:
    _, points, pixels = view(0, count=8)
    given = {"points": points, "pixels": pixels, **change}
    with pytest.raises(InputError, match=message):
        solve_camera(given.pop("points"), given.pop("pixels"), WIDTH, HEIGHT, **given)


def test_jacobian_is_that_of_small_steps() -> None:
    camera, points, _ = view(4, aspect=1.1)
    _, jacobian = project_with_jacobian(camera, points)
    for i, step in enumerate(np.eye(7) * 1e-6):
        ahead, behind = (perturbed(camera, sign * step).project(points)[0] for sign in (1, -1))
        assert np.abs((ahead - behind) / 2e-6 - jacobian[:, :, i]).max() < 1e-4
