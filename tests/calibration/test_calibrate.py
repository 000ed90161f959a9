from __future__ import annotations

import numpy as np
import pytest

from kin4d.bodies.robot.registry import load_robot
from kin4d.bodies.robot.robot_body import RobotBody
from kin4d.calibration.calibrate import calibrate, refine_camera
from kin4d.calibration.correspondences import Correspondence, CorrespondenceSet
from kin4d.calibration.overlay import overlay, overlay_sheet
from kin4d.calibration.pnp_solver import perturbed
from kin4d.calibration.silhouette import SilhouetteVideo
from kin4d.errors import InputError
from kin4d.geometry.camera import Camera
from kin4d.render.pointmaps import render_bodies

WIDTH, HEIGHT, FRAMES = 320, 192, 16
TRUTH = Camera.look_at((0.5, -0.5, 0.4), (0.1, 0, 0.2), fov=60, width=WIDTH, height=HEIGHT)


@pytest.fixture(scope="module")
def robot() -> RobotBody:
    return load_robot("kin4d_arm")


@pytest.fixture(scope="module")
def motion(robot: RobotBody) -> np.ndarray:
    """[T, k]: the arm swings about its rest pose."""
    time = np.linspace(0, 2 * np.pi, FRAMES)[:, None]
    swing = 0.7 * np.sin(time + np.arange(len(robot.coordinates)))
    swing[:, -1] = 0.0
    limits = robot.limits.numpy()
    return (robot.q0.numpy() + swing).clip(limits[:, 0], limits[:, 1])


@pytest.fixture(scope="module")
def film(robot: RobotBody, motion: np.ndarray) -> np.ndarray:
    """[T, H, W, 3]: the arm before a patterned wall, with grain."""
    rng = np.random.default_rng(0)
    wall = rng.integers(0, 90, (HEIGHT // 16, WIDTH // 16, 3)).repeat(16, 0).repeat(16, 1)
    rgb = render_bodies([robot], [motion], TRUTH, background=wall.astype(np.uint8), antialias=2).rgb
    return (rgb + rng.normal(0, 3, rgb.shape)).clip(0, 255).astype(np.uint8)


def clicks(robot: RobotBody, motion: np.ndarray, *, noise: float) -> CorrespondenceSet:
    """What a careful person clicks: origins of links in a few frames."""
    rng = np.random.default_rng(1)
    found = []
    for frame in (0, 3, 6, 9, 12, 15):
        for link in ("shoulder", "forearm", "hand", "tcp"):
            blank = CorrespondenceSet((Correspondence(frame, (0, 0), link),), WIDTH, HEIGHT)
            pixel = TRUTH.project(blank.points(robot, motion))[0][0] + noise * rng.normal(size=2)
            found.append(Correspondence(frame, (float(pixel[0]), float(pixel[1])), link))
    return CorrespondenceSet(tuple(found), WIDTH, HEIGHT)


def test_exact_clicks_give_the_camera(robot: RobotBody, motion: np.ndarray) -> None:
    fit = calibrate(robot, motion, clicks(robot, motion, noise=0.0))
    assert np.abs(fit.camera.pose - TRUTH.pose).max() < 1e-6
    assert abs(fit.camera.K[0, 0] - TRUTH.K[0, 0]) < 1e-4


def off(camera: Camera, robot: RobotBody, motion: np.ndarray) -> float:
    """Root mean square distance (px) of the robot's vertices from where the truth puts them."""
    import torch

    points = robot.vertices(torch.from_numpy(motion[::5]))[:, ::50].reshape(-1, 3).numpy()
    miss = camera.project(points)[0] - TRUTH.project(points)[0]
    return float(np.sqrt((miss**2).sum(1).mean()))


def test_outlines_improve_a_camera(robot: RobotBody, motion: np.ndarray, film: np.ndarray) -> None:
    matches = clicks(robot, motion, noise=1.5)
    start = calibrate(robot, motion, matches).camera
    assert off(start, robot, motion) > 0.5
    found = refine_camera(robot, motion, film, start, matches=matches, use=6)
    assert found.accepted
    assert not set(found.frames) & set(found.held_out)
    assert found.after.edge_px < found.before.edge_px
    assert found.after.motion_iou > 0.8
    assert off(found.camera, robot, motion) < 0.5 * off(start, robot, motion)


def test_outlines_alone_improve_a_camera_that_is_a_little_off(
    robot: RobotBody, motion: np.ndarray, film: np.ndarray
) -> None:
    start = perturbed(TRUTH, np.array([0.01, -0.008, 0.02, 0.006, 0.012, -0.008, 0.0]))
    found = refine_camera(robot, motion, film, start, free_focal=False, use=6)
    assert found.accepted
    assert found.camera.K[0, 0] == TRUTH.K[0, 0]
    assert off(found.camera, robot, motion) < 0.35 * off(start, robot, motion)


def test_a_camera_that_cannot_be_improved_is_left_alone(
    robot: RobotBody, motion: np.ndarray, film: np.ndarray
) -> None:
    noise = np.random.default_rng(0).integers(0, 255, film.shape).astype(np.uint8)
    found = refine_camera(robot, motion, noise, TRUTH, use=4)
    assert not found.accepted
    assert found.camera is TRUTH
    again = refine_camera(robot, motion, film, TRUTH, use=4)
    assert off(again.camera, robot, motion) < 0.2


def test_refining_refuses_what_it_cannot_use(
    robot: RobotBody, motion: np.ndarray, film: np.ndarray
) -> None:
    away = Camera.look_at((1, 0, 0), (2, 0, 0), width=WIDTH, height=HEIGHT)
    with pytest.raises(InputError, match="does not see the robot"):
        refine_camera(robot, motion, film, away)
    with pytest.raises(InputError, match="another size"):
        refine_camera(robot, motion, film, TRUTH.resized(80, 48))
    with pytest.raises(InputError, match="every frame needs"):
        refine_camera(robot, motion[:-1], film, TRUTH)
    with pytest.raises(InputError, match="needs a clip"):
        refine_camera(robot, motion[:2], film[:2], TRUTH)


def test_overlay_tints_and_outlines() -> None:
    picture = np.full((6, 8, 3), 100, np.uint8)
    mask = np.zeros((6, 8), np.uint8)
    mask[2:5, 3:7] = 1
    drawn = overlay(picture, mask, line=(1, 2, 3))
    assert (drawn[0] == 100).all()
    assert (drawn[3, 3] == (1, 2, 3)).all()
    assert (drawn[3, 4] != 100).any()
    with pytest.raises(InputError, match="differ in size"):
        overlay(picture, mask[:3])


def test_sheet_shows_the_frames_side_by_side(
    robot: RobotBody, motion: np.ndarray, film: np.ndarray
) -> None:
    video = SilhouetteVideo(robot, motion, film)
    sheet = overlay_sheet(video, TRUTH, frames=[0, 4, 8], columns=2, scale=2)
    assert sheet.shape == (2 * 2 * HEIGHT, 2 * 2 * WIDTH, 3)
    assert (sheet[-2 * HEIGHT :, -2 * WIDTH :] == 0).all()
